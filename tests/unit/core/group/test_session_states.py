"""The table of a session's states: what leads where, and what can never happen."""

from __future__ import annotations

from math import inf

import pytest

from p2pcrawl.core.group.session_states import (
    GONE,
    LASTING,
    TRANSITIONS,
    NoSuchTurn,
    SessionEvent,
    SessionOutput,
    SessionState,
    SessionTerm,
)

SAID = {SessionEvent.GREETED, SessionEvent.STOPPED, SessionEvent.SAID_BYE}
"""What a slave can bring about by a word."""
LAST = {SessionState.OVER, SessionState.LEFT}


def test_every_state_is_reached_from_the_first() -> None:
    reached = {SessionState.OPENED}
    while more := {after for state in reached for after, _ in TRANSITIONS[state].values()} - reached:
        reached |= more

    assert reached == set(SessionState) == set(TRANSITIONS)


@pytest.mark.parametrize("state", [each for each in SessionState if each is not SessionState.SEVERED])
def test_whatever_a_slave_says_has_its_row_while_it_can_be_heard(state: SessionState) -> None:
    assert TRANSITIONS[state].keys() >= SAID


def test_what_is_over_stays_over() -> None:
    for state in LAST:
        assert {after for after, _ in TRANSITIONS[state].values()} == {state}
        assert not any(outputs for _, outputs in TRANSITIONS[state].values())


def test_what_was_in_hand_goes_back_once_on_each_way_to_the_end() -> None:
    def ways(state: SessionState, returned: int, been: frozenset[SessionState]) -> None:
        for after, outputs in TRANSITIONS[state].values():
            now = returned + outputs.count(SessionOutput.RETURN)
            assert now <= 1
            # Nothing is left in hand where nobody would ever return it.
            assert now == (after in LAST | {SessionState.VOID})
            if after not in been:
                ways(after, now, been | {after})

    ways(SessionState.OPENED, 0, frozenset({SessionState.OPENED}))


def test_whoever_may_be_at_work_without_a_link_is_waited_for() -> None:
    ways = {
        (before, outputs)
        for before, steps in TRANSITIONS.items()
        for after, outputs in steps.values()
        if after is SessionState.SEVERED is not before
    }

    assert ways == {(state, (SessionOutput.WAIT,)) for state in (SessionState.AT_WORK, SessionState.LEAVING)}
    assert TRANSITIONS[SessionState.SEVERED][SessionEvent.RUN_OUT] == (SessionState.OVER, (SessionOutput.RETURN,))


def test_states_that_last_are_those_that_can_be_overdue() -> None:
    assert {state for state, steps in TRANSITIONS.items() if SessionEvent.OVERDUE in steps} == LASTING
    assert not LASTING & GONE


def test_event_that_cannot_come_is_an_error_and_changes_nothing() -> None:
    term = SessionTerm(5.0)

    with pytest.raises(NoSuchTurn, match="RUN_OUT came to a session that was OPENED"):
        term.take(SessionEvent.RUN_OUT)

    assert term.state is SessionState.OPENED


def test_renewal_counts_from_the_answer_and_never_brings_back_what_is_over() -> None:
    term = SessionTerm(5.0)
    assert not term.renew(1.0)
    term.greet(10.0)

    assert term.renew(14.0) and term.void_in_s(14.0) == 5.0
    assert not term.overdue(19.0) and term.overdue(19.1)
    assert not term.renew(19.1) and term.void_in_s(19.0) == 0.0


def test_without_a_fence_a_session_lasts_as_long_as_its_link() -> None:
    term = SessionTerm(0.0)
    term.greet(10.0)

    assert term.void_in_s(1e9) == inf and not term.overdue(1e9)
    assert term.end(1e9, elsewhere=True) == (SessionOutput.RETURN,)
    assert term.state is SessionState.OVER


@pytest.mark.parametrize(
    ("said", "now", "elsewhere", "state"),
    [
        ((), 12.0, True, SessionState.SEVERED),
        ((SessionEvent.STOPPED,), 12.0, True, SessionState.SEVERED),
        ((), 12.0, False, SessionState.OVER),
        ((), 15.5, True, SessionState.OVER),
        ((SessionEvent.SAID_BYE,), 12.0, True, SessionState.LEFT),
        ((SessionEvent.OVERDUE,), 16.0, True, SessionState.OVER),
    ],
    ids=["at work", "leaving", "its process has ended", "too long ago", "in order", "void"],
)
def test_end_of_a_link(said: tuple[SessionEvent, ...], now: float, elsewhere: bool, state: SessionState) -> None:
    term = SessionTerm(5.0)
    term.greet(10.0)
    for event in said:
        term.take(event)

    term.end(now, elsewhere=elsewhere)

    assert term.state is state
