"""A slave's standing with its master: what it holds, what it has been told."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from p2pcrawl.core.workbench import LOSSES_SUSPECT, Candidate, Seat
from p2pcrawl.master.dispatch import Hold
from p2pcrawl.overlay.link import Link
from p2pcrawl.wire.messages import Report, Returned

RULES_MAX = 20_000
"""Origins whose robots.txt a slave keeps."""


@dataclass(slots=True)
class Lease:
    """A page in a slave's hands. ``staged``: items that came in parts ahead of its end."""

    number: int
    candidate: Candidate
    seat: Seat
    staged: int = 0
    hold: Hold | None = None
    """What of its links is still on the way to other masters."""


@dataclass(slots=True)
class RobotsLease:
    """A robots.txt in a slave's hands."""

    number: int
    job: int
    origin: str
    agent: str
    seat: Seat


@dataclass(slots=True)
class Session:
    """One slave, from Hello to the end of its link."""

    id: int
    link: Link
    window: int
    heard_at: float
    pid: int = 0
    process: int = 0
    """The process, if this master started it; known before the slave says Hello."""
    leases: dict[int, Lease] = field(default_factory=dict)
    """By record."""
    robots: dict[int, RobotsLease] = field(default_factory=dict)
    """By lease number."""
    inbox: deque[Report | Returned] = field(default_factory=deque)
    jobs: dict[int, int] = field(default_factory=dict)
    """The version of each job that it was told."""
    rules: set[str] = field(default_factory=set)
    """The origins whose robots.txt it was told."""
    ready: bool = False
    stopping: bool = False
    lost: bool = False
    rss_bytes: int = 0

    def knows_rules(self, origin: str) -> None:
        """The slave was told the origin's robots.txt."""
        if len(self.rules) >= RULES_MAX:
            # The slave has dropped some by now; those that it misses it asks for.
            self.rules.clear()
        self.rules.add(origin)

    @property
    def room(self) -> int:
        if not self.ready or self.stopping or self.lost:
            return 0
        return self.window - len(self.leases) - len(self.robots)

    @property
    def slots(self) -> int:
        """How many of its window it works on at once; the rest waits there, so that it never runs dry."""
        return self.window - self.window // 3 if self.ready and not self.stopping and not self.lost else 0

    @property
    def has_suspect(self) -> bool:
        return any(lease.candidate.losses >= LOSSES_SUSPECT for lease in self.leases.values())
