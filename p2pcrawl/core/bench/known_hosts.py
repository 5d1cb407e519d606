"""Knowledge of hosts beyond what they were asked here: what they told other masters, or an earlier run.

A host that has no seat yet is told of it when it gets one. What is known only ever makes a host wait longer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from p2pcrawl.core.bench.seat import Seat
from p2pcrawl.core.hosts.politeness import Host, HostNote, Pace
from p2pcrawl.core.ring.rendezvous import bucket_of_hash
from p2pcrawl.model.cluster.host_order import HostOrder


class KnownHosts:
    """Makes hosts wait as other masters, or an earlier run, knew that they have to. ``seats`` and ``paces``, by host
    and by job, are the workbench's; ``told_max`` bounds memory.
    """

    __slots__ = ("_orders", "_paces", "_pauses", "_seats", "_told", "_told_max", "resumed_at")

    def __init__(self, seats: Mapping[int, Seat], paces: Mapping[int, Pace], told_max: int) -> None:
        self._seats = seats
        self._paces = paces
        self._told_max = told_max
        self._told: dict[int, tuple[HostNote, float]] = {}
        """What others knew of hosts that have no seat, and when they said it."""
        self._pauses: dict[int, float] = {}
        self._orders: dict[int, HostOrder] = {}
        """What people have said of hosts."""
        self.resumed_at: float | None = None
        """When set, hosts without memory of their last visit wait their delay from here."""

    def introduce(self, host: Host, job: int) -> None:
        """Tells a host that gets a seat what is known of it."""
        if host.key in self._orders:
            host.obey(self._orders[host.key], ())
        if host.key in self._told:
            note, at = self._told.pop(host.key)
            host.learn(note, at, self._pause_max_s)
        self.wait_from_start(host, job)
        if host.key in self._pauses:
            host.paused_until = self._pauses[host.key]
            host.next_at = max(host.next_at, host.paused_until)

    def wait_from_start(self, host: Host, job: int) -> None:
        """Makes a host wait its delay from the moment at which this master went on with its buckets: nobody knows when
        it was last asked, but that was before.
        """
        if self.resumed_at is not None:
            host.space(self.resumed_at, host.delay_s(self._paces[job]))

    def order(self, key: int, order: HostOrder) -> Seat | None:
        """Lets a host obey what a person has said, now or when it gets a seat; returns the seat that it has."""
        self._orders[key] = order
        seat = self._seats.get(key)
        if seat is not None:
            seat.host.obey(order, self._paces_of(seat))
        return seat

    def pause(self, key: int, until: float) -> None:
        """Notes that a host asked to be left alone (Retry-After); told when it gets a seat."""
        self._pauses[key] = max(self._pauses.get(key, 0.0), until)

    def learn(self, key: int, note: HostNote, now: float) -> None:
        """Takes in what another master knew of a host, now or when the host gets a seat."""
        seat = self._seats.get(key)
        if seat is not None:
            seat.host.learn(note, now, self._pause_max_s)
        elif len(self._told) < self._told_max:
            self._told[key] = note, now

    def note(self, key: int, now: float) -> HostNote | None:
        """Returns what a host asks beyond the delays of its jobs; None if nothing is known of it."""
        seat = self._seats.get(key)
        if seat is not None:
            return seat.host.note(now, self._paces_of(seat))
        if key not in self._told:
            return None
        note, at = self._told[key]
        return replace(note, pause_s=max(0.0, at + note.pause_s - now))

    def notes(self, buckets: Collection[int], now: float) -> dict[int, HostNote]:
        """Collects what the hosts in these buckets ask, as far as they ask anything. Costs a pass."""
        keys = [*self._seats, *(key for key in self._told if key not in self._seats)]
        found = {key: self.note(key, now) for key in keys if bucket_of_hash(key) in buckets}
        return {key: note for key, note in found.items() if note}

    def came_over(self, buckets: Collection[int], now: float) -> None:
        """Makes the hosts of these buckets wait their delay from now: the buckets were another master's, who may have
        asked them a moment ago. Costs a pass.
        """
        # Who has just come back may have to wait for longer than that.
        self.resumed_at = now = max(now, self.resumed_at or now)
        self.rest((key for key in self._seats if bucket_of_hash(key) in buckets), now)

    def rest(self, keys: Iterable[int], now: float) -> None:
        """Makes these hosts wait their delay from now: another master asked them a moment ago."""
        for key in keys:
            if (seat := self._seats.get(key)) is not None:
                delays = [seat.host.delay_s(pace) for pace in self._paces_of(seat)]
                seat.host.space(now, max(delays, default=0.0))

    def _paces_of(self, seat: Seat) -> list[Pace]:
        """Returns the paces of the jobs that a seat has queues of; one that has none any more, or not yet, may be any
        job's.
        """
        return [self._paces[queue.job] for queue in seat.queues] or list(self._paces.values())

    @property
    def _pause_max_s(self) -> float:
        return max((pace.retry_after_max_s for pace in self._paces.values()), default=0.0)
