"""The decision which runs of a schedule are due, and what is done with one while an earlier one is not over.

A run is *late* when its moment has passed a short while ago: somebody may have died with the task of beginning it, so
it is begun all the same, each of them. It is *missed* when that is longer ago: then nobody was there, and how many of
them there were does not matter any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from p2pcrawl.core.scheduling.calendar import Calendar
from p2pcrawl.model.cluster.schedule import WAITING_MAX, Missed, Overlap, RunOutcome, Schedule, ScheduledRun

LATE_MS: Final = 120_000
"""For so long a run is late, and not missed: longer than another master takes to follow one that died."""
DUE_MAX: Final = 20
"""Runs that are begun in one go."""


@dataclass(frozen=True, slots=True)
class DueRuns:
    """The runs that are due: the moments at which a run is to begin, and those that only get a mark."""

    begin: tuple[int, ...] = ()
    passed: ScheduledRun | None = None


def due_runs(schedule: Schedule, calendar: Calendar, now: int) -> DueRuns:
    """Returns what is due at this moment, of what is not settled yet. A clock that was ahead may have settled what is
    to come: that counts when its time is there, and hides nothing until then.
    """
    settled = (run.tick for run in schedule.runs if not run.by_hand and run.tick <= now)
    last = max(settled, default=schedule.since)
    last, horizon = max(last, schedule.since), now - LATE_MS
    late = calendar.between(max(last, horizon), now, DUE_MAX)
    missed = calendar.last(horizon) if last < horizon else None
    if missed is None or missed <= last:
        return DueRuns(tuple(late))
    if not late and schedule.missed is Missed.ONCE:
        return DueRuns((missed,))
    return DueRuns(tuple(late), ScheduledRun(missed, RunOutcome.MISSED))


def turn_of(schedule: Schedule, *, busy: bool) -> RunOutcome:
    """Returns what becomes of a run whose moment has come. ``busy``: an earlier one is not over."""
    waiting = waiting_runs(schedule)
    if schedule.overlap is Overlap.ALLOW or not (busy or waiting):
        return RunOutcome.STARTED
    if schedule.overlap is Overlap.QUEUE and len(waiting) < WAITING_MAX:
        return RunOutcome.WAITING
    return RunOutcome.SKIPPED


def waiting_runs(schedule: Schedule) -> list[ScheduledRun]:
    """Returns the runs that wait for those before them, in their order."""
    return [run for run in schedule.runs if run.outcome is RunOutcome.WAITING]
