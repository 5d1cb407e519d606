"""The rule of hosts that wait: one that answers, and of which pages are queued, is asked again soon while all is calm.

That a job ends some day says little: whatever changes a view has queues read anew, so what was forgotten shows for a
while only. Who is there and in touch asks a host as soon as its delay is over (docs/guarantees.md).

A master has seats for so many hosts at a time. One that has none waits till another one has nothing queued any more,
and no time is promised for that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple

from .acknowledged import Sight, Tell
from .stores import Key, Store, Stores, host_in, phase_of

WAIT_S: Final = 20.0
"""So long after its delay is over a host may be left alone."""
IN_LINE_S: Final = 30.0
"""The same where masters borrow hosts from each other, or limits are small: who is not served waits in line."""
FEW_SLOTS_S: Final = 120.0
"""The same where slaves ask for one page at a time, or two: a silent host keeps one of them busy for half a minute."""


class Bounds(NamedTuple):
    """The patience that a run has with its masters."""

    wait_s: float = WAIT_S
    seats: float = inf
    """Of each master."""
    borrowed: bool = False
    """A host may have a seat at its owner for the sake of others."""


USUAL: Final = Bounds()


@dataclass(slots=True)
class Waiting:
    """Judges how long hosts wait."""

    stores: Stores
    sight: Sight
    tell: Tell
    _crowded_s: dict[str, float] = field(default_factory=dict)
    """When a master last had pages of more hosts queued than it has seats for."""

    def look(
        self,
        job: int,
        masters: Collection[str],
        hosts: Mapping[str, float],
        calm_s: float,
        bounds: Bounds = USUAL,
    ) -> None:
        """Judges those that are there at this moment, in a calm that began at ``calm_s``. ``hosts`` are those that
        answer in order, and nothing keeps anybody from asking: from when on each may be asked.
        """
        stores = {master: self.stores.of[master] for master in masters if master in self.stores.of}
        self._count_seats(stores, bounds)
        in_hand: set[str] = set()
        queued: dict[str, tuple[float, str]] = {}
        for master, store in stores.items():
            leased = {store.numbers.get(record) for record in store.leases}
            in_hand.update(self._host(key) for key in leased if key is not None)
            seated_s = self._crowded_s.get(master, 0.0)
            for key, stamp in store.records.items():
                # What was tried before may have to wait for its next try.
                if stamp >> 1 == 0 and key[2] == job and key not in leased:
                    since = max(seated_s, store.came.get(key, 0.0)), self.sight.name(key)
                    host = self._host(key)
                    queued[host] = min(queued.get(host, since), since)
        for host, (since_s, url) in queued.items():
            if host in hosts and host not in in_hand:
                waits_s = self.sight.now_s - max(hosts[host], since_s, calm_s)
                if waits_s > bounds.wait_s:
                    text = f"at {self.sight.now_s:.3f} s nobody has asked {host} for {waits_s:.1f} s"
                    self.tell(f"{text}, though {url} was queued, and nothing was in the way")

    def _count_seats(self, stores: Mapping[str, Store], bounds: Bounds) -> None:
        """Takes down who has pages of more hosts queued than it has seats for."""
        if bounds.seats == inf:
            return
        hosts = {
            master: {self._host(key) for key, stamp in store.records.items() if not phase_of(stamp)}
            for master, store in stores.items()
        }
        everywhere = set().union(*hosts.values())
        for master, here in hosts.items():
            if len(everywhere if bounds.borrowed else here) > bounds.seats:
                self._crowded_s[master] = self.sight.now_s

    def _host(self, key: Key) -> str:
        return host_in(self.sight.name(key))
