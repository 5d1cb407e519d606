"""Ledgers: what masters had counted of their own work at each moment, as one who looks at all at once sees it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ..world.machines import Machine

LOOKED_S: Final = 1.1
"""Between two looks at one that is there, and awake, there is no more than this."""


class Ledger(NamedTuple):
    """A master's count of fetches, each time that there was more, with one disk."""

    machine: str
    moments: list[float]
    fetches: list[int]

    def by(self, now_s: float) -> int:
        """Returns what was counted by then."""
        place = bisect_right(self.moments, now_s)
        return self.fetches[place - 1] if place else 0

    def in_time(self, now_s: float, needed_s: float) -> int:
        """Returns what was counted, by a moment, so long before its master died, or stood still: it is there for that
        time at once, or tells nobody.
        """
        place = bisect_right(self.moments, now_s)
        since_s = until_s = now_s
        for number in range(place - 1, -1, -1):
            if self.moments[number] < since_s - LOOKED_S:
                until_s = self.moments[number]
            since_s = self.moments[number]
            if since_s <= until_s - needed_s:
                return self.fetches[number]
        return 0

    def at_death(self, now_s: float) -> int:
        """Returns what was counted by a death at most: what a disk that came back was first seen with, for nobody looks
        at the very moment."""
        place = bisect_right(self.moments, now_s)
        return self.fetches[place] if place < len(self.fetches) else self.by(now_s)


@dataclass(slots=True)
class Ledgers:
    """Keeps a ledger for each disk that a master ever had."""

    by_disk: dict[str, Ledger] = field(default_factory=dict)
    """The latest disk of each machine last."""

    def look(self, now_s: float, job: int, machines: Iterable[Machine]) -> None:
        """Notes what each of these has counted by now."""
        for machine in machines:
            if machine.lead is None or (known := machine.lead.master.jobs.get(job)) is None:
                continue
            store = machine.lead.master.recorder.life
            ledger = self.by_disk.setdefault(store, Ledger(machine.name, [], []))
            ledger.moments.append(now_s)
            ledger.fetches.append(known.counts["fetches"])

    def least(self, lost_s: float, there: Container[str]) -> int:
        """Returns how many fetches must be told of in the end: all, but what masters whose disks are gone counted in
        their last ``lost_s``, or never had so long to tell. ``there``: the machines that have their last disk.
        """
        last = {ledger.machine: store for store, ledger in self.by_disk.items() if ledger.machine in there}
        return sum(
            ledger.fetches[-1] if last.get(ledger.machine) == store else ledger.in_time(ledger.moments[-1], lost_s)
            for store, ledger in self.by_disk.items()
        )

    def least_of_slices(self, lost_s: float, deaths: Iterable[tuple[str, float]]) -> int:
        """Returns how many fetches the statistics must tell of in the end: all, but what masters counted in their last
        ``lost_s`` before a death, whether they came back with their disk or not. ``deaths``: of which machine, and
        when.
        """
        lost = sum(
            ledger.at_death(at_s) - ledger.in_time(at_s, lost_s)
            for machine, at_s in deaths
            for ledger in self.by_disk.values()
            if ledger.machine == machine and ledger.moments[-1] >= at_s - LOOKED_S
        )
        return sum(ledger.fetches[-1] for ledger in self.by_disk.values()) - lost
