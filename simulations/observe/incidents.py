"""Incidents: what a scenario did to the machines, and which fetches that excuses.

A page may be fetched once more for each time that a lease on it ended without a report. Whether one did is judged from
outside: the web knows who had asked for a page by then, and the disks of the others whether they had heard of its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from ..world.web import Visit
from .folders import Print, print_of

LEAVE = "leave"
"""One goes in order: it hands over first, so this excuses nothing, as long as there are heirs."""
PAUSE = "pause"
"""One stands still."""
STALL = "stall"
"""What goes between a slave and its master is held up."""
FULL_DISK = "full disk"
IO_ERROR = "I/O error"
SET_BACK = "set back"
"""One dies, and its disk is as it was at an earlier time."""


@dataclass(frozen=True, slots=True)
class Deed:
    """A thing that was done to machines, by the word of a plan; or undone: ``start``, ``thaw`` or ``join``."""

    at_s: float
    do: str
    who: tuple[str, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()


class Stall(NamedTuple):
    """A message, or a call to a disk, that is held up: nothing else of those concerned stands still."""

    began_s: float
    ended_s: float
    what: str
    """The kind of the message, or the method that stores something."""
    nodes: frozenset[str]
    """Those at both ends of the message's way; the one whose disk it is."""

    def is_of_disk(self, node: str) -> bool:
        """Tells whether it is a call to the disk of this one that is held up."""
        return self.nodes == {node}


@dataclass(slots=True)
class Incident:
    """An incident that befell ``nodes`` from ``began_s`` to ``ended_s``."""

    what: str
    nodes: frozenset[str]
    began_s: float
    ended_s: float
    through: frozenset[Print]
    """The URLs of which others than ``nodes`` knew that they were through when it began, if these were up, awake and in
    touch with them."""
    alone: frozenset[Print] = frozenset()
    """The URLs of which only ``nodes`` knew that, whoever had fetched them."""
    everywhere: bool = False
    """Those that were not hit may also have lost leases: they were cut off from some of each other."""
    heirs: bool = True
    """Whether somebody was there to take over from those that left in order."""
    agreed_s: float = inf
    """When all that were up acted in one view again."""
    settled_s: float = inf
    """When all that were up agreed again on who they are and on who has what."""

    @property
    def open(self) -> bool:
        return self.ended_s == inf

    def covers(self, visit: Visit) -> bool:
        """Tells whether this request may have been made in vain."""
        if self._in_order or visit.began_s > self.settled_s:
            return False
        return self.everywhere or self.hit(visit) or print_of(visit.url) in self.alone

    def hit(self, visit: Visit) -> bool:
        """Tells whether the incident befell the slave that made this request, or the master that had it made."""
        return not self._in_order and (visit.node in self.nodes or visit.master in self.nodes)

    @property
    def _in_order(self) -> bool:
        return self.what == LEAVE and self.heirs


def excused(incidents: Iterable[Incident], visits: Iterable[Visit], *, again: bool = False) -> Counter[str]:
    """Counts how many more fetches than one each URL may have had. ``again``: pages are visited several times, so that
    one which was through may have been in hand.
    """
    allowance: Counter[str] = Counter()
    by_url: dict[str, list[Visit]] = {}
    for visit in visits:
        by_url.setdefault(visit.url, []).append(visit)
    for incident in incidents:
        for url, those in by_url.items():
            if (again or print_of(url) not in incident.through) and any(incident.covers(visit) for visit in those):
                allowance[url] += 1
    return allowance
