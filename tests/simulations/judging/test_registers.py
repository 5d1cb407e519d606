"""The model of what people ask of masters: who must know of a change, and what may not be told any more."""

from __future__ import annotations

from math import inf

import pytest

from simulations.model.hearsay import HEARD_S, Calm, Loss, heard, knows
from simulations.model.registers import (
    CANCELLED,
    DELETED,
    FINISHED,
    PAUSED,
    RUNNING,
    UNKNOWN,
    Deed,
    Heard,
    judged,
    told,
)

ALL = frozenset({"m0", "m1"})
LATER_S = 20.0 + HEARD_S
NOBODY = Heard([], [])
CALM = Heard([Calm(20.0, 100.0, ALL)], [])
"""Nothing is in anybody's way from 20 s on."""


def deed(
    who: str, at_s: float, found: str | None = None, makes: str | None = None, *, life: int = 1, ended_s: float = 0.0
) -> Deed:
    finds = frozenset({found}) if found is not None else None
    return Deed(who, life, f"{makes or found} at {who}", at_s, ended_s or at_s + 0.1, finds, makes)


SUBMITTED = deed("m0", 1.0, makes=RUNNING)
PAUSES = deed("m0", 10.0, RUNNING, PAUSED)
RESUMES = deed("m0", 50.0, PAUSED, RUNNING)
CANCELS = deed("m0", 10.0, RUNNING, CANCELLED)

CAN = {
    "who was told of it elsewhere lags a while": [deed("m1", 12.0, RUNNING)],
    "who knows it says so": [deed("m0", 12.0, PAUSED), deed("m1", 90.0, PAUSED)],
    "a later word wins": [RESUMES, deed("m1", 90.0, RUNNING)],
    "who was not answered may be obeyed": [
        deed("m1", 40.0, PAUSED, RUNNING, ended_s=inf), deed("m0", 90.0, RUNNING),
    ],
    "two who change it at once find the same": [deed("m1", 11.0, RUNNING, CANCELLED), deed("m0", 90.0, CANCELLED)],
}  # fmt: skip
CANNOT = {
    "who was asked for it has not heard of it": [deed("m0", 12.0, RUNNING)],
    "who was asked for it has forgotten it in its next life": [deed("m0", 12.0, RUNNING, life=2)],
    "who has heard of it says something else": [deed("m1", 90.0, RUNNING)],
    "it ends though it rests": [deed("m0", 40.0, RUNNING, FINISHED), deed("m0", 45.0, FINISHED)],
    "a later word loses": [RESUMES, deed("m0", 90.0, PAUSED)],
    "one master hears of older changes after newer ones": [
        deed("m1", 12.0, PAUSED), deed("m1", 13.0, RUNNING),
    ],
}  # fmt: skip


@pytest.mark.parametrize("more", CAN.values(), ids=CAN)
def test_what_is_promised_no_more_may_be_told(more: list[Deed]) -> None:
    assert judged([SUBMITTED, PAUSES, *more], CALM, UNKNOWN, of_job=True).explained


@pytest.mark.parametrize("more", CANNOT.values(), ids=CANNOT)
def test_what_contradicts_an_answer_may_not_be_told(more: list[Deed]) -> None:
    deeds = [SUBMITTED, PAUSES, *more]

    verdict = judged(deeds, CALM, UNKNOWN, of_job=True)

    assert not verdict.explained
    assert more[-1].what in told(deeds, CALM, verdict) or more[0].what in told(deeds, CALM, verdict)


def test_without_a_calm_nobody_else_has_to_know() -> None:
    assert judged([SUBMITTED, PAUSES, deed("m1", 90.0, RUNNING)], NOBODY, UNKNOWN, of_job=True).explained


def test_what_is_lost_with_the_only_disk_need_not_be_known() -> None:
    lost = Heard([Calm(20.0, 100.0, ALL)], [Loss(11.0, "m0")])

    assert judged([SUBMITTED, PAUSES, deed("m0", 90.0, RUNNING, life=2)], lost, UNKNOWN, of_job=True).explained


@pytest.mark.parametrize(("then", "may"), [(RUNNING, False), (CANCELLED, True), (DELETED, False)])
def test_cancelled_job_stays_so_whatever_is_written(then: str, *, may: bool) -> None:
    stale = deed("m1", 12.0, RUNNING, PAUSED)

    verdict = judged([SUBMITTED, CANCELS, stale, deed("m1", 90.0, then)], CALM, UNKNOWN, of_job=True)

    assert verdict.explained is may


def test_plain_value_may_be_changed_at_any_time() -> None:
    deeds = [deed("m0", 1.0, "null", "2.0"), deed("m1", 60.0, "2.0", "null"), deed("m0", 99.0, "null")]

    assert judged(deeds, CALM, "null", of_job=False).explained


def test_all_that_are_there_have_heard_of_it_a_while_into_a_calm() -> None:
    spells = heard("m0", 30.0, [Calm(20.0, 100.0, ALL)], [])

    assert knows(spells, "m0", 30.0)
    assert not knows(spells, "m1", 30.0 + HEARD_S - 0.1)
    assert knows(spells, "m1", 30.0 + HEARD_S)


def test_calm_that_is_too_short_proves_nothing() -> None:
    spells = heard("m0", 1.0, [Calm(20.0, 20.0 + HEARD_S - 0.1, ALL)], [])

    assert not knows(spells, "m1", 1000.0)


def test_who_loses_its_disk_hears_of_it_anew_from_whoever_is_left() -> None:
    calms = [Calm(20.0, 40.0, ALL), Calm(60.0, 90.0, ALL)]

    spells = heard("m0", 1.0, calms, [Loss(50.0, "m0")])

    assert not knows(spells, "m0", 55.0)
    assert knows(spells, "m1", 55.0)
    assert knows(spells, "m0", 60.0 + HEARD_S)


def test_what_nobody_knows_any_more_comes_back_to_nobody() -> None:
    calms = [Calm(60.0, 90.0, ALL)]

    spells = heard("m0", 1.0, calms, [Loss(50.0, "m0")])

    assert not any(knows(spells, who, LATER_S + 60.0) for who in ALL)
