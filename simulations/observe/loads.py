"""The most that any master ever had in hand, and sent in a while.

The masters' own counters say what lies in their queues; the rest is counted from outside: tasks, connections, packets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from ..kernel.tasks import pending
from ..world.machines import Machine

WINDOW_S = 10.0
"""Packets are counted over as long as this."""


class Peak(NamedTuple):
    """The most that there was of something, and where and when that was."""

    amount: int
    name: str
    now_s: float


@dataclass(slots=True)
class Loads:
    """Finds the greatest loads that any master ever had. Give it the same masters each time."""

    peaks: dict[str, Peak] = field(default_factory=dict)
    _sent: dict[str, int] = field(default_factory=dict)
    _pieces: dict[str, int] = field(default_factory=dict)
    _window_s: float = 0.0

    def look(self, now_s: float, machines: Iterable[Machine]) -> None:
        """Notes what each machine has in hand at this moment."""
        for machine in machines:
            lead = machine.lead
            if lead is None:
                continue
            cluster, sessions = lead.cluster, lead.master.sessions.values()
            self._peak("links under way", cluster.dispatch.under_way, machine, now_s)
            self._peak("copies under way", cluster.copier.under_way, machine, now_s)
            self._peak("spooled links", cluster.spool.size, machine, now_s)
            self._peak("leases of a session", max((len(s.leases) for s in sessions), default=0), machine, now_s)
            self._peak("connections", len(machine.node.ends), machine, now_s)

    def count(self, now_s: float, machines: list[Machine]) -> None:
        """Notes what takes longer to count; every ``WINDOW_S``."""
        if not machines or now_s < self._window_s + WINDOW_S:
            return
        lives = [task.life for task in pending(machines[0].world.loop)]
        tasks = Counter(life.node.name for life in lives if life is not None and not life.dead)
        for machine in machines:
            sent = machine.node.traffic.datagrams
            pieces = machine.node.traffic.segments
            self._peak("tasks", tasks[machine.name], machine, now_s)
            if self._window_s:
                per_s = (sent - self._sent.get(machine.name, 0)) / (now_s - self._window_s)
                self._peak("datagrams a second", round(per_s), machine, now_s)
                per_s = (pieces - self._pieces.get(machine.name, 0)) / (now_s - self._window_s)
                self._peak("pieces of streams a second", round(per_s), machine, now_s)
            self._sent[machine.name], self._pieces[machine.name] = sent, pieces
        self._window_s = now_s

    def _peak(self, what: str, amount: int, machine: Machine, now_s: float) -> None:
        known = self.peaks.get(what)
        if known is None or amount > known.amount:
            self.peaks[what] = Peak(amount, machine.name, now_s)
