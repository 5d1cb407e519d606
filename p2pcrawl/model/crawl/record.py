"""One URL's state in the frontier."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class Phase(IntEnum):
    """A record's phase within a visit. A merge keeps the greater one."""

    QUEUED = 0
    DROPPED = 1
    FAILED = 2
    DONE = 3


class ShardKey(StrEnum):
    """The part of a URL that decides which master owns it; a job's setting."""

    HOST = "host"
    DOMAIN = "domain"
    """The registrable domain: all hosts of a company's site are one master's."""
    URL = "url"
    """Each page by itself: one huge site is spread over all masters."""


class Order(StrEnum):
    """In which order a host's queue is served; a job's setting."""

    PRIORITY = "priority"
    """Highest priority first, then breadth-first."""
    FIFO = "fifo"
    LIFO = "lifo"


COUNT_MAX = (1 << 15) - 1
"""More attempts or losses than this count as so many."""
VISIT_MAX = (1 << 30) - 1
PAGE_TYPE_MAX = 200
"""In characters."""
GIVEN_UP = 20_000
"""So many attempts say that nobody is to be asked for a file any more: the item that waits for it is to go on without.
No page is tried so often.
"""


def stamp_of(visit: int, phase: int, attempts: int, losses: int) -> int:
    """Packs how far a record is into one number of 62 bits: of two, the greater one is what a merge keeps.

    Ordered by visit, then phase, then attempts, then losses.
    """
    visit = min(max(visit, 0), VISIT_MAX)
    return visit << 32 | phase << 30 | min(max(attempts, 0), COUNT_MAX) << 15 | min(max(losses, 0), COUNT_MAX)


def visit_of(stamp: int) -> int:
    """Returns the visit that a stamp holds."""
    return stamp >> 32


def phase_of(stamp: int) -> Phase:
    """Returns the phase that a stamp holds: how far the record's visit is."""
    return Phase(stamp >> 30 & 3)
