"""In which portions buckets come: the laws."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.core.buckets.portions import portions

sizes = st.dictionaries(st.integers(0, 200), st.integers(0, 30), max_size=40)


@given(sizes, st.integers(1, 60))
def test_each_bucket_comes_once_and_no_portion_is_larger_than_it_may_be(sizes: dict[int, int], rows_max: int) -> None:
    parts = list(portions(sizes, rows_max))

    assert sorted(bucket for part in parts for bucket in part) == sorted(sizes)
    assert all(len(part) == 1 or sum(sizes[b] for b in part) <= rows_max for part in parts)


@given(sizes, st.integers(1, 60))
def test_there_are_no_more_portions_than_the_rows_ask_for(sizes: dict[int, int], rows_max: int) -> None:
    parts = list(portions(sizes, rows_max))

    # Two neighbours have more rows than one portion may have, but for those of which there is nothing.
    assert len(parts) <= 2 + 2 * sum(sizes.values()) // rows_max


def test_what_there_is_little_of_comes_at_once() -> None:
    assert list(portions({1: 0, 2: 3, 3: 7}, 10)) == [{1, 2, 3}]
    assert list(portions({1: 0, 2: 0}, 10)) == [{1, 2}]


def test_buckets_with_nothing_come_first_and_large_ones_last() -> None:
    assert list(portions({1: 50, 2: 0, 3: 4, 4: 5, 5: 0, 6: 2}, 10)) == [{2, 5}, {6, 3}, {4}, {1}]
    assert list(portions({1: 6, 2: 6}, 10)) == [{1}, {2}]
