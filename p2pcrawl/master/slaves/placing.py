"""The placing of hosts: which slave of the group a host belongs to, from its first page until it has nothing left."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Protocol, assert_never

from p2pcrawl.core.bench.seat import Seat
from p2pcrawl.core.group.bounded_load import WEIGHT_MEAN, Bounded
from p2pcrawl.core.group.host_bucket import HostBucket
from p2pcrawl.core.group.throughput import Throughput, WorkDone, weights_of
from p2pcrawl.core.ring.rendezvous import key_hash
from p2pcrawl.master.slaves.session import Session
from p2pcrawl.model.cluster.placement import GroupPlacement

log = logging.getLogger(__name__)


class Placing(Protocol):
    """Slaves are known by the numbers of their sessions."""

    def follow(self, slaves: Collection[int]) -> None:
        """Takes in which slaves take work now. The hosts of those that left are placed anew."""
        ...

    def measure(self, now: float, slaves: Mapping[int, Session]) -> None:
        """Takes in what the slaves have in hand from now until the next turn, and what they have done."""
        ...

    def place(self, seat: Seat) -> int:
        """Places a host that is due, and returns its slave; 0: there is none at all."""
        ...

    def drained(self, seat: Seat) -> None:
        """Forgets the place of a host that has nothing queued or open any more."""
        ...

    def slave_for(self, host: str) -> int | None:
        """Returns the slave where the host is, or would be if it came now; None: the group has no slaves."""
        ...


def placing_of(name: GroupPlacement) -> Placing:
    match name:
        case GroupPlacement.BOUNDED:
            return BoundedPlacing()
        case GroupPlacement.HOST_BUCKET:
            return HostBucketPlacing()
        case _:
            assert_never(name)


class BoundedPlacing:
    """Consistent hashing with bounded load, by weights that follow measured throughput."""

    def __init__(self) -> None:
        self._group = Bounded()
        self._weights: dict[int, int] = {}
        self._throughput = Throughput()

    def follow(self, slaves: Collection[int]) -> None:
        for number in self._weights.keys() - slaves:
            del self._weights[number]
            self._group.leave(number)
        for number in slaves:
            if number not in self._weights:
                self._weigh(number, WEIGHT_MEAN)

    def measure(self, now: float, slaves: Mapping[int, Session]) -> None:
        rates = self._throughput.look(now, {n: WorkDone(slaves[n].ended, not slaves[n].idle) for n in self._weights})
        for number, weight in weights_of(rates, self._weights).items():
            log.info("slave %d: %.1f pages/s, weight %d", slaves[number].pid, rates[number].pages_per_s, weight)
            self._weigh(number, weight)

    def place(self, seat: Seat) -> int:
        key = seat.host.key
        return self._group.slave_of(key) or self._group.place(key) or 0

    def drained(self, seat: Seat) -> None:
        self._group.drain(seat.host.key)

    def slave_for(self, host: str) -> int | None:
        key = key_hash(host)
        return self._group.slave_of(key) or self._group.first_with_room(key)

    def _weigh(self, number: int, weight: int) -> None:
        self._weights[number] = weight
        self._group.weigh(number, weight)


class HostBucketPlacing:
    """A bucket for each slave. A bucket's load is what its hosts had in memory at their last turns."""

    def __init__(self) -> None:
        self._slaves: list[int] = []
        self._buckets = HostBucket(1)

    def follow(self, slaves: Collection[int]) -> None:
        if sorted(slaves) != self._slaves:
            self._slaves = sorted(slaves)
            self._buckets = HostBucket(max(1, len(slaves)))

    def measure(self, now: float, slaves: Mapping[int, Session]) -> None:
        """Does nothing: this placing knows no weights."""

    def place(self, seat: Seat) -> int:
        if not self._slaves:
            return 0
        name, known = seat.host.name, self._buckets.urls_of(seat.host.name)
        urls = max(1, seat.waiting + seat.host.open)
        if urls < known:
            self._buckets.drain(name, known - urls)
        return self._slaves[self._buckets.place(name, max(0, urls - known))]

    def drained(self, seat: Seat) -> None:
        self._buckets.drain(seat.host.name, self._buckets.urls_of(seat.host.name))

    def slave_for(self, host: str) -> int | None:
        if not self._slaves:
            return None
        bucket = self._buckets.bucket_of(host)
        return self._slaves[self._buckets.home(host) if bucket is None else bucket]
