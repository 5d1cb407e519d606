"""A schedule for tests."""

from __future__ import annotations

from typing import Any

from p2pcrawl.model.cluster.schedule import Missed, Overlap, RunOutcome, Schedule, ScheduledRun, ScheduleState

MINUTE = 60_000


def schedule(**changes: Any) -> Schedule:
    """Returns a schedule of each minute, made in minute 100, with what is changed of it."""
    plain: dict[str, Any] = {
        "name": "news",
        "generation": 1,
        "version": 1,
        "state": ScheduleState.ACTIVE,
        "since": 100 * MINUTE,
        "cron": "* * * * *",
        "zone": "UTC",
        "overlap": Overlap.SKIP,
        "missed": Missed.ONCE,
        "summary": "news",
        "digest": b"d" * 16,
    }
    return Schedule(**{**plain, **changes})


def run(minute: float, outcome: RunOutcome = RunOutcome.STARTED, **more: Any) -> ScheduledRun:
    """Returns a run of a minute."""
    return ScheduledRun(int(minute * MINUTE), outcome, **more)
