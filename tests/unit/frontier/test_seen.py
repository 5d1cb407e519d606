"""The filter in front of the table of fingerprints: what it calls new is new."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.frontier.records.seen import SeenFilter


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 400), max_size=600), st.sampled_from([2, 10, 50]))
def test_nothing_known_is_ever_called_surely_new(keys: list[int], capacity: int) -> None:
    seen, known = SeenFilter(capacity, capacity * 100), set()
    seen.complete = True

    for key in keys:
        assert not (seen.add(str(key)) and key in known)
        known.add(key)


def test_known_keys_take_no_room_in_a_later_filter() -> None:
    seen = SeenFilter(100, 1000)
    seen.complete = True

    for key in range(100):
        seen.add(f"first {key}")
    for key in range(750):
        seen.add(f"later {key}")
        seen.add(f"first {key % 100}")

    assert not seen.add("first 1")


def test_filter_that_is_not_complete_says_nothing_is_new() -> None:
    assert not SeenFilter(10).add("a")


def test_filter_past_its_largest_size_leaves_it_to_the_table() -> None:
    seen = SeenFilter(10, 100)
    seen.complete = True

    answers = [seen.add(str(n)) for n in range(1000)]

    assert any(answers[:10])
    assert not any(answers[-100:])
