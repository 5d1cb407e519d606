"""The hosts of this master as they stand: what is queued and leased, how slowly they are asked, and why."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import nlargest
from time import monotonic
from typing import TypedDict

from p2pcrawl.core.bench.seat import Seat
from p2pcrawl.core.bench.slowness import Slowness, slowness_of
from p2pcrawl.core.hosts.politeness import Host, Pace
from p2pcrawl.core.ring.rendezvous import bucket_of_hash, key_hash
from p2pcrawl.frontier.reading.queue_depths import QueueDepths
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.jobs.job import RUNNING
from p2pcrawl.model.cluster.host_order import HostOrder
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.peer.figures.depths import Depths

LATE_AMONG = 2_000
"""Hosts of which the latest are chosen, when they are sorted so: those that have most queued."""
PIECE = 200
"""Hosts that are described before others have their turn: about three milliseconds."""
ROBOTS_MAX = 50
FOUND_MAX = 500
"""Hosts whose names match what is looked for."""


class HostShown(TypedDict):
    """A host as people are told of it. ``next_at``: seconds since 1970, or None where nothing is queued."""

    host: str
    queued: int
    leased: int
    done: int
    failed: int
    """Pages that masters have fetched, and those that failed; of masters that live."""
    owner: NodeId
    delay_s: float
    delay_from: str
    next_at: float | None
    through_s: float | None
    """In how many seconds all that is queued has been asked for, if it stays so; None where no delay is in the way."""
    unanswered: int
    silent_s: float
    """For how long it has left them all without an answer."""
    ordered_s: float | None
    """The delay that a person has set; None: what its jobs have counts."""
    paused: bool
    why_slow: str


class HostAsked(HostShown):
    """A host as a master tells another one of it."""

    key: int


class HostsHere(TypedDict):
    """The hosts that a master tells of, and how many it has."""

    hosts: list[HostAsked]
    total: int


class RobotsTold(TypedDict):
    """The robots.txt of an origin of a host, as one agent obeys it."""

    origin: str
    agent: str
    verdict: str
    crawl_delay_s: float


class HostInDetail(TypedDict):
    """The word of a master on one host, in detail. ``queued``: by job, what is leased counted in."""

    asked: HostAsked | None
    queued: dict[str, int]
    robots: list[RobotsTold]


class StandingsOfHosts:
    """Describes hosts of this master."""

    def __init__(self, cluster: Cluster, depths: Depths) -> None:
        self._master = cluster.master
        self._seats = cluster.master.workbench.seats
        self._ownership = cluster.ownership
        self._orders = cluster.orders
        self._slices = cluster.master.ground.slices
        self._depths = depths

    async def here(self, job: int | None, limit: int, sort: str, find: str, *, changed: bool = False) -> HostsHere:
        """Describes the first of the hosts that have something to do, of a job or of all; or those whose name holds
        ``find``, or that a person has ``changed``, whether they have or not.
        """
        depths, leased = await self._depths.now(), self._leased(job)
        queued = depths.of(job)
        if find or changed:
            ordered = {key_hash(order.host): order.host for order in self._orders.known}
            keys = [key for key, name in ordered.items() if find in name] if changed else self._matching(find)
            total = len(keys)
        else:
            # What is leased to slaves is among what was counted.
            total = max(depths.total_of(job), len(leased))
            deepest = nlargest(max(limit, LATE_AMONG if sort == "late" else 0), queued.items(), key=lambda row: row[1])
            keys = list(dict.fromkeys([*(key for key, _ in deepest), *leased]))
        told = await self._told(job, keys, depths, leased)
        return HostsHere(hosts=self._with_work(first_hosts(told, limit, sort), job), total=total)

    async def these(self, job: int | None, keys: Sequence[int]) -> list[HostAsked]:
        """Describes hosts by their keys, as far as anything is known of them here."""
        return self._with_work(await self._told(job, keys, await self._depths.now(), self._leased(job)), job)

    async def one(self, key: int) -> HostInDetail:
        """Describes one host in detail."""
        depths, told = await self._depths.now(), await self.these(None, [key])
        seat = self._seats.get(key)
        rules = (seat.host.robots or {}).items() if seat is not None else ()
        return HostInDetail(
            asked=told[0] if told else None,
            queued={str(job): counted[key] for job, counted in depths.by_job.items() if key in counted},
            robots=[
                RobotsTold(origin=origin, agent=agent, verdict=entry.verdict, crawl_delay_s=entry.crawl_delay_s)
                for (origin, agent), entry in rules
            ][:ROBOTS_MAX],
        )

    async def _told(
        self, job: int | None, keys: Sequence[int], depths: QueueDepths, leased: Counter[int]
    ) -> list[HostAsked]:
        queued = depths.of(job)
        seatless = [key for key in keys if key not in self._seats]
        jobs = {key: number for number, counted in depths.by_job.items() for key in seatless if key in counted}
        names = await self._depths.names([(number, key) for key, number in jobs.items()])
        orders = {key_hash(order.host): order for order in self._orders.known}
        names |= {key: orders[key].host for key in keys if key in orders}
        told = []
        for number, key in enumerate(keys, 1):
            if number % PIECE == 0:
                # The crawl goes on in between.
                await asyncio.sleep(0)
            seat = self._seats.get(key)
            if seat is None and key in names:
                seat = Seat(Host(key, names[key]))
                seat.host.obey(orders.get(key, HostOrder(names[key])), ())
            if seat is not None:
                told.append(self._row(seat, job, max(0, queued[key] - leased[key]), leased[key]))
        return told

    def _row(self, seat: Seat, job: int | None, queued: int, leased: int) -> HostAsked:
        host, now = seat.host, monotonic()
        stands = slowness_of(seat, self._paces(seat, job), queued, now)
        return HostAsked(
            host=host.name,
            key=host.key,
            queued=queued,
            leased=leased,
            done=0,
            failed=0,
            owner=self._ownership.owner_id(bucket_of_hash(host.key)),
            delay_s=stands.delay.seconds,
            delay_from=str(stands.delay.source),
            next_at=round(time.time() + stands.seconds, 3) if queued else None,
            through_s=round(stands.through_s, 1) if stands.through_s is not None else None,
            unanswered=host.unanswered,
            silent_s=round(max(0.0, now - host.silent_since), 1) if host.unanswered else 0.0,
            ordered_s=host.ordered_s,
            paused=host.halted,
            why_slow=stands.why or self._resting(stands, job, queued),
        )

    def _with_work(self, rows: list[HostAsked], job: int | None) -> list[HostAsked]:
        """Adds what this master has done at these hosts, for a job or for all."""
        jobs = [job] if job is not None else [known.id for known in self._master.jobs.shown]
        for row in rows:
            for work in (self._slices.of_host(number, row["key"], row["host"]) for number in jobs):
                row["done"] += work.get("pages", 0)
                row["failed"] += work.get("failed", 0)
        return rows

    def _resting(self, stands: Slowness, job: int | None, queued: int) -> str:
        known = self._master.jobs.get(job) if job is not None else None
        return f"its job is {known.state}" if queued and known is not None and known.state != RUNNING else ""

    def _paces(self, seat: Seat, job: int | None) -> list[Pace]:
        """Returns the paces at which a host is asked: that of a job, or of all that have queues there."""
        numbers = [job] if job is not None else [queue.job for queue in seat.queues]
        known = [self._master.jobs[number] for number in numbers if number in self._master.jobs]
        return [each.pace for each in known or self._master.jobs.running]

    def _leased(self, job: int | None) -> Counter[int]:
        """Counts what is in slaves' hands, by host."""
        return Counter(
            lease.candidate.host
            for session in self._master.sessions.values()
            for lease in session.leases.values()
            if job is None or lease.candidate.job == job
        )

    def _matching(self, find: str) -> list[int]:
        found = [key for key, seat in self._seats.items() if find in seat.host.name]
        return list(dict.fromkeys([key_hash(find), *found]))[:FOUND_MAX]


def first_hosts(hosts: Iterable[HostAsked], limit: int, sort: str) -> list[HostAsked]:
    """Returns the first of these: the deepest, or those that are through last (``late``), or by name."""
    if sort == "name":
        return sorted(hosts, key=lambda row: row["host"])[:limit]
    if sort == "late":
        return sorted(hosts, key=lambda row: (-(row["through_s"] or 0.0), -row["queued"], row["host"]))[:limit]
    return sorted(hosts, key=lambda row: (-row["queued"], -row["leased"], row["host"]))[:limit]
