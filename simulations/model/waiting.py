"""The rule of hosts that wait: one that answers, and of which pages are queued, is asked again soon while all is calm.

That a job ends some day says little: whatever changes a view has queues read anew, so what was forgotten shows for a
while only. Who is there and in touch asks a host as soon as its delay is over (docs/guarantees.md).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from .acknowledged import Sight, Tell
from .stores import Key, Stores, host_in

WAIT_S: Final = 20.0
"""So long after its delay is over a host may be left alone."""
IN_LINE_S: Final = 45.0
"""The same where masters borrow hosts from each other, or have few seats for them: who is not served waits in line."""


@dataclass(slots=True)
class Waiting:
    """Judges how long hosts wait."""

    stores: Stores
    sight: Sight
    tell: Tell

    def look(
        self, job: int, masters: Collection[str], hosts: Mapping[str, float], calm_s: float, wait_s: float = WAIT_S
    ) -> None:
        """Judges those that are there at this moment, in a calm that began at ``calm_s``. ``hosts`` are those that
        answer in order, and nothing keeps anybody from asking: from when on each may be asked.
        """
        in_hand: set[str] = set()
        queued: dict[str, tuple[float, str]] = {}
        for store in (self.stores.of[master] for master in masters if master in self.stores.of):
            leased = {store.numbers.get(record) for record in store.leases}
            in_hand.update(self._host(key) for key in leased if key is not None)
            for key, stamp in store.records.items():
                # What was tried before may have to wait for its next try.
                if stamp == 0 and key[2] == job and key not in leased:
                    host, since = self._host(key), (store.came.get(key, 0.0), self.sight.name(key))
                    queued[host] = min(queued.get(host, since), since)
        for host, (since_s, url) in queued.items():
            if host in hosts and host not in in_hand:
                waits_s = self.sight.now_s - max(hosts[host], since_s, calm_s)
                if waits_s > wait_s:
                    text = f"at {self.sight.now_s:.3f} s nobody has asked {host} for {waits_s:.1f} s"
                    self.tell(f"{text}, though {url} was queued, and nothing was in the way")

    def _host(self, key: Key) -> str:
        return host_in(self.sight.name(key))
