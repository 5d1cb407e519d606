"""Checks who grants in which part of the network: with ``--partition majority`` only one part may.

A part is what is in touch both ways, be it through others. For as long as consent lasts after the parts have become
what they are, two of them may go on with what each of their masters had all along; after that one of them grants, or
none. And at no time, in touch or not, may two masters grant from the same bucket, whatever their views.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations

from p2pcrawl.model.timings import TIMINGS

from ..kernel.network import Network
from ..world.machines import Machine

LOOK_S = 0.1
LASTS_S = TIMINGS.grant_s / (1 - TIMINGS.drift) + LOOK_S


@lru_cache(8)
def together(served: tuple[frozenset[int], ...]) -> frozenset[int]:
    """Returns the buckets that any of these serve. They are the same for most of a run."""
    return frozenset().union(*served)


@dataclass(slots=True)
class Parts:
    """Watches the parts of the network, and who grants in each. Give it the same masters each time."""

    network: Network
    found: list[str] = field(default_factory=list)
    granted_s: float = 0.0
    """For how long anybody granted; of ``looked_s``."""
    looked_s: float = 0.0
    _part: dict[str, frozenset[str]] = field(default_factory=dict)
    _since_s: dict[str, float] = field(default_factory=dict)
    """Since when the part of each has been what it is."""

    def look(self, now_s: float, machines: Sequence[Machine], up: Sequence[Machine]) -> None:
        """Looks who grants in which part now. ``up`` are those that run, of all ``machines``."""
        part = self._parts(machines)
        self._since_s |= {name: now_s for name, of in part.items() if of != self._part.get(name)}
        self._part = part
        granting = [(machine, served) for machine in up if (served := machine.served()[1])]
        self.looked_s += LOOK_S
        self.granted_s += LOOK_S if granting else 0.0
        for (one, left), (other, right) in combinations(granting, 2):
            apart_s = now_s - max(self._since_s[one.name], self._since_s[other.name])
            if part[one.name] != part[other.name] and apart_s > LASTS_S:
                self.found.append(f"at {now_s:.2f} s {one.name} and {other.name} both grant, apart for {apart_s:.1f} s")
            elif both := left & right:
                self.found.append(f"at {now_s:.2f} s {one.name} and {other.name} both grant from {len(both)} buckets")

    def _parts(self, machines: Sequence[Machine]) -> dict[str, frozenset[str]]:
        """Returns the names of all that are in each one's part."""
        part = {machine.name: frozenset({machine.name}) for machine in machines}
        for one, other in combinations(machines, 2):
            both_ways = self.network.path(one.node, other.node), self.network.path(other.node, one.node)
            if not any(path.cut for path in both_ways):
                both = part[one.name] | part[other.name]
                part |= dict.fromkeys(both, both)
        return part
