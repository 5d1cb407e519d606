"""The table of a bucket's states: what leads where, and what can never happen."""

from __future__ import annotations

import pytest

from p2pcrawl.core.buckets.bucket_states import (
    TRANSITIONS,
    BucketEvent,
    BucketOutput,
    BucketState,
    BucketStates,
    NoTransition,
)

OURS = {
    BucketState.RETURNING,
    BucketState.CLAIMED,
    BucketState.VOUCHED,
    BucketState.BEGINNING,
    BucketState.SERVED,
}
VIEWS = {True: {BucketEvent.KEPT, BucketEvent.LOST}, False: {BucketEvent.GAINED, BucketEvent.PASSED}}


def test_every_state_is_reached_from_the_first_and_none_is_the_last() -> None:
    reached = {BucketState.AWAY}
    while more := {after for state in reached for after, _ in TRANSITIONS[state].values()} - reached:
        reached |= more

    assert reached == set(BucketState) == set(TRANSITIONS)


def test_every_event_leads_somewhere_and_has_one_output_at_most() -> None:
    for event in BucketEvent:
        outputs = {steps[event][1] for steps in TRANSITIONS.values() if event in steps}

        assert outputs, event
        assert len(outputs - {None}) <= 1, event


@pytest.mark.parametrize("state", BucketState)
def test_each_state_is_ours_or_anothers_and_knows_what_a_view_makes_of_it(state: BucketState) -> None:
    steps = TRANSITIONS[state]
    ours = state in OURS

    assert steps.keys() & {event for events in VIEWS.values() for event in events} == VIEWS[ours]
    assert all((after in OURS) == ours for event, (after, _) in steps.items() if event not in VIEWS[ours])
    assert {steps[event][0] in OURS for event in VIEWS[ours]} == {True, False}


def test_only_what_everybody_knows_or_somebody_vouches_for_is_served() -> None:
    ways = {
        (before, event)
        for before, steps in TRANSITIONS.items()
        for event, (after, _) in steps.items()
        if after is BucketState.SERVED is not before
    }

    assert ways == {(BucketState.BEGINNING, BucketEvent.HEARD), (BucketState.VOUCHED, BucketEvent.RESUMED)}


def test_rows_are_given_up_only_where_the_owner_has_our_word() -> None:
    ways = {
        before
        for before, steps in TRANSITIONS.items()
        for _, output in steps.values()
        if output is BucketOutput.GIVE_UP
    }

    assert ways == {BucketState.AGREED, BucketState.LET_GO}


def test_event_moves_its_buckets_and_tells_those_of_which_something_is_to_be_done() -> None:
    states = BucketStates(4)
    states.take(BucketEvent.GAINED, {0, 1})

    states.take(BucketEvent.ASSURED, {1})
    due = states.take(BucketEvent.FREED, [0, 1])

    assert due == {0, 1}
    assert [states[bucket] for bucket in range(4)] == [BucketState.BEGINNING] * 2 + [BucketState.AWAY] * 2
    assert states.take(BucketEvent.PASSED, {2}) == frozenset()
    assert states.those(BucketState.AWAY) == {2, 3}


def test_event_that_cannot_come_is_an_error_and_moves_nothing() -> None:
    states = BucketStates(2)
    states.take(BucketEvent.GAINED, {0})

    with pytest.raises(NoTransition, match="FREED came to bucket 1, which was AWAY"):
        states.take(BucketEvent.FREED, [0, 1])

    assert states[0] is BucketState.CLAIMED
