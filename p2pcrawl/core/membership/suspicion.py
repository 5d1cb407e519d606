"""The time that a silent member is given to speak up.

The theory (Lifeguard). One accuser may itself be the sick one, so a suspicion starts with a long time-out
and shortens as independent members accuse too: with c confirmations of the k that are wanted it is
``max - (max - min) * log(c + 1) / log(k + 1)``. The least time is above the longest stall that shall be
forgiven, with room for the refutation to travel; it grows with the logarithm of the cluster, as gossip does.

Before the time is up the suspect is asked itself, several times and with the accusation in the question: who lives
and can be reached answers with its refutation, even if all gossip about it was lost. So no confirmation ends a
suspicion at once; there is always time for these *hearings*.

A process that was stopped must not blame others for what it did not hear: what was due meanwhile is put
off by as long as the stall, and by at least the hearings, in which the packets that waited are read.

Invariants: one suspicion per member, bound to one incarnation; its deadline only ever comes closer, but
for :meth:`Suspicions.put_off`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from p2pcrawl.model.cluster.node import NodeId


@dataclass(slots=True)
class Suspicion:
    """One member that did not answer."""

    id: NodeId
    incarnation: int
    started_at: float
    wanted: int
    min_s: float
    max_s: float
    deadline: float
    accusers: set[NodeId] = field(default_factory=set)
    hearings: int = 0
    """How often the suspect was asked for its last word."""

    def accuse(self, by: NodeId, not_before: float) -> bool:
        """Adds an accuser; True if it is one more of those that are wanted."""
        if by in self.accusers or len(self.accusers) > self.wanted:
            return False
        self.accusers.add(by)
        closer = self.started_at + timeout_s(len(self.accusers) - 1, self.wanted, self.min_s, self.max_s)
        self.deadline = min(self.deadline, max(closer, not_before))
        return True


class Suspicions:
    """All running suspicions."""

    def __init__(self, min_s: float, max_factor: float, confirmations: int, hearings: int, hearing_s: float) -> None:
        self._min_s = min_s
        self._hearings = hearings
        self._hearing_s = hearing_s
        self._max_factor = max_factor
        self._confirmations = confirmations
        self._running: dict[NodeId, Suspicion] = {}

    def accuse(self, id: NodeId, incarnation: int, by: NodeId, now: float, members: int) -> bool:
        """Starts or confirms one; True if the accusation counts and is worth passing on."""
        suspicion = self.watch(id, incarnation, now, members)
        return suspicion.incarnation == incarnation and suspicion.accuse(by, now + self._hearings * self._hearing_s)

    def watch(self, id: NodeId, incarnation: int, now: float, members: int) -> Suspicion:
        """Returns the suspicion of a member, started without an accuser if there is none yet."""
        suspicion = self._running.get(id)
        if suspicion is None or suspicion.incarnation < incarnation:
            min_s = self._min_s * max(1.0, math.log10(max(members, 1)))
            wanted = max(0, min(self._confirmations, members - 2))
            max_s = min_s * self._max_factor
            deadline = now + timeout_s(0, wanted, min_s, max_s)
            suspicion = Suspicion(id, incarnation, now, wanted, min_s, max_s, deadline)
            self._running[id] = suspicion
        return suspicion

    def end(self, id: NodeId) -> None:
        self._running.pop(id, None)

    def due(self, now: float) -> list[Suspicion]:
        """Returns the suspicions that nobody refuted in time."""
        return [suspicion for suspicion in self._running.values() if suspicion.deadline <= now]

    def to_hear(self, now: float) -> list[tuple[NodeId, bool]]:
        """Returns whom to ask for a last word now; and whether others should ask too, which is for the later
        hearings.
        """
        found = []
        for suspicion in self._running.values():
            if self._hearing_at(suspicion) <= now:
                suspicion.hearings += 1
                found.append((suspicion.id, 2 * suspicion.hearings > self._hearings))
        return found

    def next_at(self) -> float:
        return min(
            (min(suspicion.deadline, self._hearing_at(suspicion)) for suspicion in self._running.values()),
            default=math.inf,
        )

    def put_off(self, now: float, stalled_s: float) -> None:
        """Moves all deadlines, because this process was stopped for ``stalled_s`` until ``now``."""
        for suspicion in self._running.values():
            suspicion.started_at += stalled_s
            suspicion.deadline = max(suspicion.deadline + stalled_s, now + self._hearings * self._hearing_s)
            suspicion.hearings = 0

    def _hearing_at(self, suspicion: Suspicion) -> float:
        left = self._hearings - suspicion.hearings
        return suspicion.deadline - left * self._hearing_s if left > 0 else math.inf


def timeout_s(confirmations: int, wanted: int, min_s: float, max_s: float) -> float:
    if wanted < 1:
        return min_s
    share = math.log(confirmations + 1) / math.log(wanted + 1)
    return max(min_s, max_s - share * (max_s - min_s))
