"""A schedule: when a crawl begins, or URLs are put into one, again and again; and the bounds of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

SCHEDULES_MAX: Final = 1_000
"""Names of schedules in one cluster, those of removed ones counted in."""
RUNS_KEPT: Final = 50
"""Runs of a schedule that are remembered, the last ones, whatever became of them."""
KEEP_MAX: Final = 50
"""Runs that began a job and are remembered besides, the last ones: so many jobs a schedule can keep."""
WAITING_MAX: Final = 16
"""Runs of a schedule that wait for those before them."""
CRON_CHARS_MAX: Final = 200
ZONE_CHARS_MAX: Final = 64
WHY_CHARS_MAX: Final = 500
TASK_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of what a schedule does each time, as JSON: as much as the API takes in one call."""


class ScheduleState(StrEnum):
    """The states of a schedule."""

    ACTIVE = "active"
    PAUSED = "paused"
    REMOVED = "removed"


class Overlap(StrEnum):
    """The ways to treat a run whose turn comes while an earlier one is not over."""

    SKIP = "skip"
    QUEUE = "queue"
    ALLOW = "allow"


class Missed(StrEnum):
    """The ways to treat runs whose moments have passed while nobody was there to begin them."""

    SKIP = "skip"
    ONCE = "once"


class RunOutcome(StrEnum):
    """The fates of a run, as far as the schedule knows; what is later here counts more."""

    WAITING = "waiting"
    MISSED = "missed"
    SKIPPED = "skipped"
    REFUSED = "refused"
    STARTED = "started"


class ScheduledRun(NamedTuple):
    """A run of a schedule. ``tick``: the moment that it stands for, in milliseconds since 1970, which with the schedule
    is its name.
    """

    tick: int
    outcome: RunOutcome
    job: int = 0
    why: str = ""
    by_hand: bool = False
    """Somebody asked for it, and no moment of the calendar."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as every master keeps it; see :mod:`p2pcrawl.core.scheduling.schedule_order`. What it does each time,
    its *task*, lies beside it, and has this ``digest``.
    """

    name: str
    generation: int
    """How often a schedule of this name was made."""
    version: int
    state: ScheduleState
    since: int
    """The moment, in milliseconds since 1970, up to which no run is due: when it was made, or went on."""
    cron: str
    zone: str
    overlap: Overlap
    missed: Missed
    summary: str
    """The task in a few words."""
    digest: bytes
    runs: tuple[ScheduledRun, ...] = ()
    """The last ones, by their moments."""
    keep: int = 0
    """Jobs of its last runs that stay; those of older ones are deleted when they are over. 0: all stay."""

    @property
    def removed(self) -> bool:
        """True if only the word is left that it was."""
        return self.state is ScheduleState.REMOVED
