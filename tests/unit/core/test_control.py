"""Which state of a job counts: the laws of the merge, and what each verb makes of each state."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.core.control import (
    CANCELLED,
    DELETED,
    FINAL,
    FINISHED,
    INCOMPLETE,
    PAUSED,
    RUNNING,
    VERBS,
    Control,
    merged,
    refusal,
    steered,
)

STATES = (RUNNING, PAUSED, INCOMPLETE, FINISHED, CANCELLED, DELETED)

controls = st.builds(
    Control, st.integers(0, 3), st.sampled_from(STATES), st.sampled_from(["", "a", "b"]), st.sampled_from([b"", b"x"])
)


@given(controls, controls)
def test_merge_is_commutative(one: Control, other: Control) -> None:
    assert merged(one, other) == merged(other, one)


@given(controls, controls, controls)
def test_merge_is_associative(one: Control, two: Control, three: Control) -> None:
    assert merged(merged(one, two), three) == merged(one, merged(two, three))


@given(controls, controls)
def test_merge_is_idempotent_and_keeps_one_of_the_two(one: Control, other: Control) -> None:
    kept = merged(one, other)

    assert merged(kept, one) == merged(kept, other) == kept
    assert kept in (one, other)


@given(st.lists(controls, min_size=1), st.randoms(use_true_random=False))
def test_masters_that_heard_the_same_in_any_order_and_number_hold_the_same(
    heard: list[Control], dice: st.DataObject
) -> None:
    again = heard + heard
    dice.shuffle(again)  # type: ignore[attr-defined]

    assert reduce(merged, again) == reduce(merged, heard)


@given(controls, st.sampled_from(STATES))
def test_next_one_counts_more_than_all_that_were_not_final(now: Control, state: str) -> None:
    after = now.then(state)

    assert merged(now, after) == after
    assert after.valid


@given(controls, st.lists(st.sampled_from([PAUSED, RUNNING, FINISHED, INCOMPLETE]), max_size=30))
def test_cancelling_wins_over_whatever_was_done_elsewhere_in_ignorance_of_it(now: Control, states: list[str]) -> None:
    cancelled = now.then(CANCELLED)
    elsewhere = reduce(lambda control, state: control.then(state), states, now)

    assert merged(cancelled, elsewhere).state == CANCELLED


def test_at_one_version_cancelled_wins_over_finished_over_incomplete_over_paused_over_running() -> None:
    same = [Control(7, state) for state in STATES]

    for weaker, stronger in pairwise(same):
        assert merged(weaker, stronger) == stronger


@pytest.mark.parametrize(
    ("state", "verb", "becomes"),
    [
        (RUNNING, "pause", PAUSED), (RUNNING, "cancel", CANCELLED), (PAUSED, "resume", RUNNING),
        (PAUSED, "cancel", CANCELLED), (FINISHED, "retry", RUNNING), (INCOMPLETE, "retry", RUNNING),
        (INCOMPLETE, "pause", PAUSED), (INCOMPLETE, "cancel", CANCELLED),
    ],
)  # fmt: skip
def test_verb_changes_the_state_under_a_new_version(state: str, verb: str, becomes: str) -> None:
    after = steered(Control(4, state, "why", b"old"), verb)

    assert after is not None
    assert (after.state, after.reason, after.certificate) == (becomes, "", b"")
    assert after.version == (FINAL if becomes == CANCELLED else 5)


@pytest.mark.parametrize(
    ("state", "verb"), [(RUNNING, "resume"), (RUNNING, "retry"), (PAUSED, "pause"), (PAUSED, "retry"),
                        (CANCELLED, "cancel"), (INCOMPLETE, "resume")],
)  # fmt: skip
def test_verb_that_finds_it_so_already_makes_no_new_version(state: str, verb: str) -> None:
    now = Control(4, state, "why")

    assert steered(now, verb) == now


@pytest.mark.parametrize(
    ("state", "verb", "because"),
    [(FINISHED, "resume", "retry"), (FINISHED, "pause", "finished"), (FINISHED, "cancel", "finished"),
     (CANCELLED, "resume", "final"), (CANCELLED, "pause", "final"), (CANCELLED, "retry", "final")],
)  # fmt: skip
def test_verb_that_cannot_be_is_refused_and_says_why(state: str, verb: str, because: str) -> None:
    now = Control(4, state)

    assert steered(now, verb) is None
    assert because in refusal(now, verb)


def test_every_verb_knows_every_state() -> None:
    for verb in VERBS:
        for state in STATES:
            after = steered(Control(1, state), verb)
            assert after is None or after.state in STATES


@pytest.mark.parametrize("control", [Control(1, "flying"), Control(-1), Control(FINAL + 1, PAUSED)])
def test_what_is_no_control_is_known_as_such(control: Control) -> None:
    assert not control.valid
