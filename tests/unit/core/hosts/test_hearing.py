"""Silence of a host, and silence all around."""

from __future__ import annotations

from p2pcrawl.core.hosts.hearing import GAP_S, OUTAGE_TIMES, Hearing
from p2pcrawl.core.hosts.politeness import Host
from tests.unit.core.bench.benches import pace_of

PACE = pace_of()
DOWN_S = PACE.down_after_s


def silent(hearing: Hearing, *, answered: bool, until: float, others: float = 0.0, ours: bool = False) -> Host:
    """A host that leaves a request unanswered every ten seconds; others answer every ``others`` seconds, if at all."""
    host = Host(1, "a.example")
    host.answered = answered
    at, heard = 0.0, 0.0
    while at <= until and not host.down:
        while others and heard <= at:
            hearing.heard(heard)
            heard += others
        host.begin()
        host.end(at, PACE, answered=False, deaf_s=hearing.deaf_s(at), ours=ours)
        at += 10.0
    return host


def hearing_since(at: float) -> Hearing:
    hearing = Hearing()
    hearing.heard(at)
    return hearing


def test_host_that_is_silent_alone_is_down_in_its_time() -> None:
    assert silent(hearing_since(0.0), answered=True, until=DOWN_S, others=5.0).down


def test_host_that_used_to_answer_is_not_down_because_nobody_answers() -> None:
    assert not silent(hearing_since(0.0), answered=True, until=2 * DOWN_S).down


def test_host_whose_name_cannot_be_looked_up_is_not_down_because_nobody_answers() -> None:
    assert not silent(hearing_since(0.0), answered=False, ours=True, until=2 * DOWN_S).down


def test_host_that_never_answered_is_down_in_its_time_whatever_others_do() -> None:
    assert silent(hearing_since(0.0), answered=False, until=DOWN_S).down


def test_silence_of_all_is_counted_in_the_end() -> None:
    assert silent(hearing_since(0.0), answered=True, until=OUTAGE_TIMES * DOWN_S + 20.0).down


def test_time_in_which_nobody_was_heard_adds_up_and_gaps_do_not() -> None:
    hearing = hearing_since(0.0)
    for at in (10.0, 20.0, 100.0, 110.0, 200.0):
        hearing.heard(at)

    assert hearing.deaf_s(200.0 + GAP_S) == (80.0 - GAP_S) + (90.0 - GAP_S)
    assert hearing.deaf_s(300.0) == (80.0 - GAP_S) + (90.0 - GAP_S) + (100.0 - GAP_S)


def test_who_never_heard_anybody_is_not_deaf() -> None:
    hearing = Hearing()

    assert hearing.deaf_s(1e6) == 0.0
    assert not hearing.deaf_since(10.0, 20.0, 900.0)


def test_deafness_is_believed_for_so_long_only() -> None:
    hearing = hearing_since(5.0)

    assert hearing.deaf_since(10.0, 20.0, 900.0)
    assert not hearing.deaf_since(4.0, 20.0, 900.0)
    assert not hearing.deaf_since(1000.0, 1010.0, 900.0)
