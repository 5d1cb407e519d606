"""The loading from the store to the workbench: queues that run low, queues that the bench does not know, and what is
known of their hosts.

A *sweep* goes over all queues on disk, in the order of their keys. It is made after a start, when buckets have come
over, and whenever there are more hosts than seats and some seats have come free.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from time import monotonic

from p2pcrawl.core.bench.candidate import Candidate, Want
from p2pcrawl.core.bench.seat import Seat
from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.hosts.politeness import RobotsEntry
from p2pcrawl.frontier.records.batch import HostRow
from p2pcrawl.frontier.records.recorder import Recorder
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.jobs.job import KnownJobs
from p2pcrawl.model.timings import TIMINGS

LOADS_MAX = 256
ACTIVATE = 512
ROOM_EVERY_S = 0.01
ROOM_SEATS_PER_S = 100_000
"""How often, and over how many seats, hosts that are through are looked for when others wait for a seat."""


class Loading:
    """The cycle asks for :meth:`wants` before its commit and gives the answers to :meth:`take` after it."""

    def __init__(self, jobs: KnownJobs, workbench: Workbench, recorder: Recorder, wake: Callable[[], None]) -> None:
        self._jobs = jobs
        self._bench = workbench
        self._seating = workbench.seating
        self._recorder = recorder
        self._wake = wake
        self._sweeping = False
        self._cursor: tuple[int, int, str] | None = None
        self._room_at = 0.0

    def sweep_all(self) -> None:
        """Begins a sweep: there may be queues on disk that the bench does not know."""
        self._seating.dormant = self._sweeping = True
        self._seating.sweeping()
        self._cursor = None

    def buckets_changed(self, gained: Collection[int], lost: Collection[int]) -> None:
        """Takes what was lost off the bench, and serves what was gained, as far as the ownership says so."""
        if lost:
            self._bench.remove(lost)
        self.serve_buckets(gained)

    def serve_buckets(self, buckets: Collection[int]) -> None:
        """Has these granted from now on, as far as the ownership says so."""
        self._bench.wake_unserved()
        if buckets:
            self.sweep_all()
            self._bench.came_over(buckets, monotonic())
        self._wake()

    async def wants(self) -> list[Want]:
        """Returns what is to be loaded with this turn's commit."""
        wants = self._bench.wants(LOADS_MAX)
        if self._sweeping:
            wants += await self._sweep()
        return wants

    def take(self, loaded: list[tuple[Want, list[Candidate]]], hosts: Mapping[int, list[HostRow]]) -> None:
        """Puts what was loaded on the bench, with what the store knows of hosts that have just got a seat."""
        for want, candidates in loaded:
            self._bench.loaded(want, candidates)
            seat = self._bench.seats.get(want.host)
            if seat is not None:
                self._recall(seat, want.job, hosts.get(want.host, ()))

    def due_at(self, now: float) -> float | None:
        """Returns when there is something to load, as far as that is known."""
        if (self._sweeping and self._seating.room) or self._bench.hot.wanting:
            return now
        return self._room_at if self._seating.dormant else None

    def seat_more(self, now: float) -> None:
        """Seats hosts that have no seat: those that are through give up theirs, and a sweep looks for the others."""
        seating = self._seating
        if seating.dormant and now >= self._room_at:
            self._room_at = now + max(ROOM_EVERY_S, seating.hosts_max / ROOM_SEATS_PER_S)
            if seating.make_room() and not self._sweeping:
                self._sweeping = True
                seating.sweeping()

    async def _sweep(self) -> list[Want]:
        seating = self._seating
        if not seating.room:
            return []
        found = await self._recorder.run(Store.queues_after, self._cursor, min(ACTIVATE, seating.room))
        if not found:
            self._cursor = None
            self._sweeping = False
            seating.swept()
            return []
        self._cursor = found[-1]
        active = {job.id for job in self._jobs.running}
        return [self._bench.hot.want_all(*key) for key in found if key[0] in active and not seating.knows(*key)]

    def _recall(self, seat: Seat, job: int, rows: Iterable[HostRow]) -> None:
        host, now = seat.host, monotonic()
        for row in rows:
            if host.robots is None:
                host.robots = {}
            known = RobotsEntry(row.verdict, row.body, row.reason, row.crawl_delay_s, now + TIMINGS.robots_ttl_s)
            host.robots.setdefault((row.origin, row.agent), known)
        self._bench.known.wait_from_start(host, job)
