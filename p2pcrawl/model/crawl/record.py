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
"""More attempts than this count as so many."""
LOSSES_MAX = (1 << 14) - 1
"""More losses than this count as so many."""
VISIT_MAX = (1 << 30) - 1
PAGE_TYPE_MAX = 200
"""In characters."""
GIVEN_UP = 20_000
"""So many attempts say that nobody is to be asked for a file any more: the item that waits for it is to go on without.
No page is tried so often.
"""


def stamp_of(visit: int, phase: int, attempts: int, losses: int, *, entry: bool = False) -> int:
    """Packs how far a record is into one number of 62 bits, and in its last bit whether it is an entry of its job.

    Ordered by visit, then phase, then attempts, then losses: of two records that differ in these, a merge keeps the
    greater one. An entry is what any of them was: see ``merged_stamp``.
    """
    visit, attempts, losses = min(max(visit, 0), VISIT_MAX), min(max(attempts, 0), COUNT_MAX), max(losses, 0)
    return visit << 32 | phase << 30 | attempts << 15 | min(losses, LOSSES_MAX) << 1 | entry


def visit_of(stamp: int) -> int:
    """Returns the visit that a stamp holds."""
    return stamp >> 32


def phase_of(stamp: int) -> Phase:
    """Returns the phase that a stamp holds: how far the record's visit is."""
    return Phase(stamp >> 30 & 3)


def is_entry(stamp: int) -> bool:
    """Tells whether a stamp is of an entry."""
    return bool(stamp & 1)


def is_further(stamp: int, other: int) -> bool:
    """Tells whether a record is further than another one, by their stamps; -1 is that of none."""
    return stamp >> 1 > other >> 1


def merged_stamp(stamp: int, other: int) -> int:
    """Returns the stamp of two records that are merged: as far as the one that is further, and an entry if any is."""
    return max(stamp, other) | (stamp & 1) | (other & 1)


def adds(stamp: int, other: int) -> bool:
    """Tells whether a record would change another one that it is merged with, by their stamps; -1 is that of none."""
    return other < 0 or merged_stamp(stamp, other) != other
