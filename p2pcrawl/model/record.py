"""One URL's state in the frontier."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class Phase(IntEnum):
    """A record's phase within a visit. A merge keeps the greater one."""

    QUEUED = 0
    DROPPED = 1
    FAILED = 2
    DONE = 3


class Order(StrEnum):
    """In which order a host's queue is served; a job's setting."""

    PRIORITY = "priority"
    """Highest priority first, then breadth-first."""
    FIFO = "fifo"
    LIFO = "lifo"
