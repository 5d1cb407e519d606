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
    """What decides which master owns a URL; a job's setting."""

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
