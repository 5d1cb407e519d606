"""Which runs are due: late ones all, missed ones once or not at all; and whether one has to wait for another."""

from __future__ import annotations

import pytest

from p2pcrawl.core.scheduling.calendar import Calendar
from p2pcrawl.core.scheduling.due_runs import DueRuns, due_runs, turn_of
from p2pcrawl.model.cluster.schedule import WAITING_MAX, Missed, Overlap, RunOutcome, Schedule
from tests.unit.core.scheduling.schedules import MINUTE, run, schedule

EACH_MINUTE = Calendar("* * * * *", "UTC")
HOURLY = Calendar("0 * * * *", "UTC")


def due(known: Schedule, minute: float, calendar: Calendar = EACH_MINUTE) -> DueRuns:
    return due_runs(known, calendar, int(minute * MINUTE))


def minutes(found: DueRuns) -> list[int]:
    return [tick // MINUTE for tick in found.begin]


def test_run_is_due_from_its_moment_until_it_is_settled() -> None:
    assert minutes(due(schedule(), 100.99)) == []
    assert minutes(due(schedule(), 101.0)) == [101]
    assert minutes(due(schedule(runs=(run(101),)), 101.5)) == []


def test_each_run_that_is_late_is_begun() -> None:
    known = schedule(runs=(run(101),))

    assert minutes(due(known, 103.2)) == [102, 103]


@pytest.mark.parametrize(("missed", "begun"), [(Missed.ONCE, [120]), (Missed.SKIP, [])])
def test_of_what_was_missed_the_last_one_is_made_up_for_or_none(missed: Missed, begun: list[int]) -> None:
    found = due(schedule(missed=missed), 170.0, HOURLY)

    assert minutes(found) == begun
    assert (found.passed is None) == bool(begun)


def test_what_was_missed_is_not_made_up_for_where_a_late_run_begins_anyway() -> None:
    found = due(schedule(), 200.5)

    assert minutes(found) == [199, 200]
    assert found.passed == run(198, RunOutcome.MISSED)


def test_what_is_marked_as_missed_is_settled() -> None:
    known = schedule(missed=Missed.SKIP, runs=(run(120, RunOutcome.MISSED),))

    assert due(known, 170.0, HOURLY) == DueRuns()


def test_nothing_is_due_of_the_time_before_it_was_made_or_went_on() -> None:
    known = schedule(since=300 * MINUTE, runs=(run(120),))

    assert due(known, 300.9) == DueRuns()


def test_run_by_hand_settles_no_moment() -> None:
    known = schedule(runs=(run(101.5, by_hand=True),))

    assert minutes(due(known, 101.7)) == [101]


def test_what_a_clock_that_was_ahead_has_settled_hides_nothing_before() -> None:
    known = schedule(runs=(run(101), run(5_000)))

    assert minutes(due(known, 102.0)) == [102]
    assert due(known, 5_000.5) == DueRuns()


@pytest.mark.parametrize(
    ("overlap", "turn"),
    [
        (Overlap.SKIP, RunOutcome.SKIPPED),
        (Overlap.QUEUE, RunOutcome.WAITING),
        (Overlap.ALLOW, RunOutcome.STARTED),
    ],
)
def test_run_meets_an_earlier_one_as_the_schedule_says(overlap: Overlap, turn: RunOutcome) -> None:
    known = schedule(overlap=overlap)

    assert turn_of(known, busy=True) is turn
    assert turn_of(known, busy=False) is RunOutcome.STARTED


def test_run_waits_behind_those_that_wait_and_not_without_end() -> None:
    known = schedule(overlap=Overlap.QUEUE, runs=(run(101, RunOutcome.WAITING),))
    full = schedule(overlap=Overlap.QUEUE, runs=tuple(run(101 + n, RunOutcome.WAITING) for n in range(WAITING_MAX)))

    assert turn_of(known, busy=False) is RunOutcome.WAITING
    assert turn_of(full, busy=True) is RunOutcome.SKIPPED
