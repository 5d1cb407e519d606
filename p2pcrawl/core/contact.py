"""Who still answers, while there is doubt about anybody.

The theory. A death is declared late, so that few are declared by mistake; the smaller part of a divided cluster is the
last to know, because its members doubt themselves first, and probe ever more slowly. Who wants to know at once whether
it still reaches most of the others asks them all: as soon as anybody is suspect, everybody is pinged, and those that do
not answer again and again. Who has not answered for ``silence_s`` is *silent*, until it answers or does not count any
more. Silence condemns nobody, accuses nobody, and is not gossiped: it is what this member finds by itself.

An answer is evidence of both ways. Other messages are not: they may come from somebody who does not hear us.

Invariants: nobody is asked while nobody is suspect or silent; nobody is silent that was not asked several times since
it last answered; time in which this process was stopped is nobody's silence.
"""

from __future__ import annotations

import math

from p2pcrawl.core.membership_config import MembershipConfig
from p2pcrawl.core.membership_output import Event, EventKind, Output
from p2pcrawl.core.probing import Prober
from p2pcrawl.core.view import View
from p2pcrawl.model.node import NodeId, Status


class Contact:
    """The questions, and who is silent. With a ``silence_s`` of 0 it asks nobody."""

    def __init__(self, config: MembershipConfig, view: View, prober: Prober, me: NodeId) -> None:
        self._config = config
        self._view = view
        self._prober = prober
        self._me = me
        self._asks_at = math.inf
        self._heard_at: dict[NodeId, float] = {}
        """When each that is asked last answered, or the asking began."""
        self._silent: set[NodeId] = set()

    @property
    def reaches_most(self) -> bool:
        """Whether those that count and are not silent are more than half of all that have not left in order."""
        undrained = [m for m in self._view.members.values() if not m.leaving and m.status is not Status.LEFT]
        return 2 * sum(1 for m in undrained if m.living and m.id not in self._silent) > len(undrained)

    def next_at(self) -> float:
        return self._asks_at

    def wake(self, now: float, suspects: int) -> None:
        """After every change: whether there is anything to ask."""
        if self._config.silence_s and suspects and self._asks_at == math.inf:
            self._asks_at = now

    def stop(self) -> None:
        self._asks_at = math.inf
        self._heard_at.clear()
        self._silent.clear()

    def void(self, now: float) -> None:
        """This process was stopped: who did not answer meanwhile may have."""
        for id in self._heard_at:
            self._heard_at[id] = now

    def answered(self, id: NodeId, now: float, out: Output) -> None:
        if id in self._heard_at:
            self._heard_at[id] = now
        if id in self._silent:
            self._silent.discard(id)
            out.events.append(Event(EventKind.HEARD, self._view.members[id]))

    def tick(self, now: float, suspects: int, out: Output) -> None:
        """Asks whom it is time to ask, and tells who has become silent."""
        if now < self._asks_at:
            return
        others = {member.id: member for member in self._view.living() if member.id != self._me}
        self._silent &= others.keys()
        if not suspects and not self._silent:
            self.stop()
            return
        # Who answered is left alone for a while; who did not, only for as long as an answer takes.
        self._asks_at = now + self._config.probe_timeout_s
        before, self._heard_at = self._heard_at, {id: self._heard_at.get(id, now) for id in others}
        for id, heard_at in self._heard_at.items():
            if now - heard_at >= self._config.silence_s and id not in self._silent:
                self._silent.add(id)
                out.events.append(Event(EventKind.SILENT, others[id]))
            if id not in before or now - heard_at >= self._config.probe_s:
                self._prober.hear(id, False, out)
