"""A host's place at the workbench, as data: its politeness, its queues, its state, and how that looks to people."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import IntEnum

from p2pcrawl.core.bench.candidate import Candidate, Rank
from p2pcrawl.core.hosts.politeness import Host


class SeatState(IntEnum):
    IDLE = 0
    READY = 1
    WAITING = 2
    BUSY = 3


class Queue:
    """One (job, host, kind)."""

    __slots__ = ("horizon", "hot", "job", "kind", "loading", "more")

    def __init__(self, job: int, kind: str) -> None:
        self.job = job
        self.kind = kind
        self.hot: list[tuple[int, int, Candidate]] = []
        """A heap by rank. No two candidates of a queue have the same."""
        self.horizon: Rank | None = None
        self.more = False
        self.loading = False


class Seat:
    """A host's place at the workbench: its politeness, its queues and its state."""

    __slots__ = ("doubted", "host", "next_queue", "queues", "robots_open", "state")

    def __init__(self, host: Host) -> None:
        self.host = host
        self.queues: list[Queue] = []
        self.next_queue = 0
        self.state = SeatState.IDLE
        self.robots_open = False
        self.doubted = 0
        """Its part of what is open at doubtful hosts (``core.lines``)."""

    @property
    def waiting(self) -> int:
        """The number of the seat's URLs in memory, to be asked for."""
        return sum([len(queue.hot) for queue in self.queues])

    @property
    def drained(self) -> bool:
        """True if nothing is open, or queued but for retries whose time has not come."""
        return not self.host.open and not any([queue.hot or queue.more for queue in self.queues])

    def rests(self, halted: Collection[int]) -> bool:
        """Tells whether nothing is open, or queued, but for retries whose time has not come and what is of these jobs,
        of which nothing is granted.
        """
        return not self.host.open and not any(
            [queue.loading or (queue.job not in halted and (queue.hot or queue.more)) for queue in self.queues]
        )

    def queue(self, job: int, kind: str) -> Queue:
        for queue in self.queues:
            if queue.job == job and queue.kind == kind:
                return queue
        queue = Queue(job, kind)
        self.queues.append(queue)
        return queue


@dataclass(frozen=True, slots=True)
class HostState:
    """A host as it stands now. ``waiting`` counts its URLs in memory; ``more``: there are others on disk."""

    name: str
    open: int
    waiting: int
    more: bool
    waits: str
    """What its next request waits for: "a person" (who has it paused), "robots.txt", "Retry-After", "delay", "answers",
    "a slave", "a sign of life" (it left too many requests without an answer), or nothing."""
    seconds: float
    """How much longer, where that is known."""


def busiest(seats: Iterable[Seat], count: int, now: float) -> list[HostState]:
    """Returns the hosts with most waiting and open. Costs a pass over all seats."""
    rows = ((seat.waiting, seat.host.open, seat) for seat in seats)
    best = heapq.nlargest(count, rows, key=lambda row: row[:2])
    return [host_state(seat, now) for waiting, open_, seat in best if waiting or open_]


def host_state(seat: Seat, now: float) -> HostState:
    host = seat.host
    waits, seconds = "", 0.0
    if host.halted:
        waits = "a person"
    elif seat.robots_open:
        waits = "robots.txt"
    elif now < host.paused_until:
        waits, seconds = "Retry-After", host.paused_until - now
    elif now < host.next_at and host.rest_s:
        waits, seconds = "a sign of life", host.next_at - now
    elif now < host.next_at:
        waits, seconds = "delay", host.next_at - now
    elif seat.state is SeatState.BUSY:
        waits = "answers"
    elif seat.state is SeatState.READY:
        waits = "a slave"
    return HostState(host.name, host.open, seat.waiting, any(q.more for q in seat.queues), waits, seconds)
