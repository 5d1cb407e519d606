"""How long a silent member is given to speak up.

The theory (Lifeguard). One accuser may itself be the sick one, so a suspicion starts with a long time-out
and shortens as independent members accuse too: with c confirmations of the k that are wanted it is
``max - (max - min) * log(c + 1) / log(k + 1)``. The least time is above the longest stall that shall be
forgiven, with room for the refutation to travel; it grows with the logarithm of the cluster, as gossip does.

A process that was stopped must not blame others for what it did not hear: what was due meanwhile is put
off by as long as the stall, and by at least a grace in which the packets that waited are read.

Invariants: one suspicion per member, bound to one incarnation; its deadline only ever comes closer, but
for :meth:`Suspicions.put_off`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from p2pcrawl.model.node import NodeId


@dataclass(slots=True)
class Suspicion:
    """One member that did not answer."""

    id: NodeId
    incarnation: int
    started_at: float
    wanted: int
    min_s: float
    max_s: float
    deadline: float = 0.0
    accusers: set[NodeId] = field(default_factory=set)

    def accuse(self, by: NodeId) -> bool:
        """Adds an accuser; True if it is one more of those that are wanted."""
        if by in self.accusers or len(self.accusers) > self.wanted:
            return False
        self.accusers.add(by)
        self._shorten()
        return True

    def _shorten(self) -> None:
        closer = self.started_at + timeout_s(len(self.accusers) - 1, self.wanted, self.min_s, self.max_s)
        self.deadline = min(self.deadline, closer)


class Suspicions:
    """All running suspicions."""

    def __init__(self, min_s: float, max_factor: float, confirmations: int) -> None:
        self._min_s = min_s
        self._max_factor = max_factor
        self._confirmations = confirmations
        self._running: dict[NodeId, Suspicion] = {}

    def __len__(self) -> int:
        return len(self._running)

    def accuse(self, id: NodeId, incarnation: int, by: NodeId, now: float, members: int) -> bool:
        """Starts or confirms one; True if the accusation counts and is worth passing on."""
        suspicion = self.watch(id, incarnation, now, members)
        return suspicion.incarnation == incarnation and suspicion.accuse(by)

    def watch(self, id: NodeId, incarnation: int, now: float, members: int) -> Suspicion:
        """The suspicion of a member, started without an accuser if there is none yet."""
        suspicion = self._running.get(id)
        if suspicion is None or suspicion.incarnation < incarnation:
            min_s = self._min_s * max(1.0, math.log10(max(members, 1)))
            wanted = max(0, min(self._confirmations, members - 2))
            suspicion = Suspicion(id, incarnation, now, wanted, min_s, min_s * self._max_factor)
            suspicion.deadline = now + timeout_s(0, wanted, min_s, suspicion.max_s)
            self._running[id] = suspicion
        return suspicion

    def end(self, id: NodeId) -> None:
        self._running.pop(id, None)

    def due(self, now: float) -> list[Suspicion]:
        """Those that nobody refuted in time."""
        return [suspicion for suspicion in self._running.values() if suspicion.deadline <= now]

    def next_at(self) -> float:
        return min((suspicion.deadline for suspicion in self._running.values()), default=math.inf)

    def put_off(self, now: float, stalled_s: float, grace_s: float) -> None:
        """This process was stopped for ``stalled_s`` until ``now``."""
        for suspicion in self._running.values():
            suspicion.started_at += stalled_s
            suspicion.deadline = max(suspicion.deadline + stalled_s, now + grace_s)
            # A confirmation that waited in the socket must not undo the grace.
            suspicion.started_at = max(suspicion.started_at, now + grace_s - suspicion.min_s)


def timeout_s(confirmations: int, wanted: int, min_s: float, max_s: float) -> float:
    if wanted < 1:
        return min_s
    share = math.log(confirmations + 1) / math.log(wanted + 1)
    return max(min_s, max_s - share * (max_s - min_s))
