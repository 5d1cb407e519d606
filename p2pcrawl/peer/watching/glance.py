"""A glance: what one master tells of itself to whoever shows the whole cluster, in one answer.

It is made only when somebody asks, from what is in memory, and says no more than is asked for: of these jobs, and of so
many hosts. Numbers of whole masters are there to be added up.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from p2pcrawl.peer.answers.counts import Stamp

JOBS_MAX = 200
"""Jobs that one glance tells of."""
HOSTS_MAX = 200

_Number = Annotated[float, Meta(ge=-1e18, le=1e18)]


class JobGlance(Struct):
    """The part of a job that is at one master. Speeds are per second: pages of the last moments; ends and discoveries
    of the last minutes."""

    job: int
    state: str
    pages: int = 0
    queued: int = 0
    leased: int = 0
    items: int = 0
    failed: int = 0
    dropped: int = 0
    pages_per_s: _Number = 0.0
    ended_per_s: _Number = 0.0
    found_per_s: _Number = 0.0


class HostGlance(Struct):
    """A host as its master asks it. ``queued`` are in memory; ``more``: there are others on disk. ``waits_s``: until it
    may be asked again."""

    host: str
    queued: int
    more: bool
    leased: int
    delay_s: _Number
    delay_from: str
    waits_s: _Number
    why_slow: str


class Glance(Struct):
    """One master at one moment. ``heard``: seconds since each other member was last heard there. ``cpu``: of a core, by
    the master and all of its slaves; ``rss_mb`` likewise."""

    master: str
    view: str
    stamp: Stamp
    queued: int
    leased: int
    slaves: int
    cpu: _Number
    rss_mb: int
    disk_free_mb: int
    not_whole: int
    pages_per_s: _Number
    items_per_s: _Number
    errors_per_s: _Number
    hosts_total: int
    heard: dict[str, float]
    jobs: Annotated[list[JobGlance], Meta(max_length=JOBS_MAX)]
    hosts: Annotated[list[HostGlance], Meta(max_length=HOSTS_MAX)]
