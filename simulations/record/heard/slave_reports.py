"""Reports of slaves, until these are told that they are durable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from p2pcrawl.wire.messages.slave_messages import Report

from ...model.stores import Key, Stores, host_in

Lease = tuple[int, int]
"""A record and its lease, as numbers of the master that granted it."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A host that is to be left alone, for how long, and the job whose page it said so of."""

    host: str
    asked_s: float
    job: int


@dataclass(frozen=True, slots=True)
class Due:
    """Ends and pauses that have to be on a master's disk when it says that reports are durable."""

    ended: list[Lease] = field(default_factory=list)
    pauses: list[Pause] = field(default_factory=list)


class SlaveReports:
    """Takes down the reports of sessions. ``name`` returns the URL of a fact."""

    def __init__(self, stores: Stores, name: Callable[[Key], str]) -> None:
        self._stores = stores
        self._name = name
        self._waiting: dict[tuple[str, str], list[tuple[int, Due]]] = {}
        """By master and slave: reports by their numbers."""
        self._in_parts: set[tuple[str, int, int]] = set()
        """The leases of pages of which parts with links came first: their ends wait for these."""

    def began(self, master: str, slave: str) -> None:
        """Takes in that a session begins: what was reported in the one before is acknowledged no more, whatever the
        numbers of its reports. Its pages are granted again, or told by the slave as orphans.
        """
        self._waiting.pop((master, slave), None)

    def came(self, master: str, slave: str, report: Report) -> None:
        """Takes in a report."""
        store, due = self._stores.store(master), Due()
        for page in report.pages:
            lease, outcome = (page.record, page.lease), page.outcome
            is_open = store.leases.get(page.record) == page.lease
            if outcome is not None and outcome.host_pause_s and is_open:
                key = store.numbers[page.record]
                due.pauses.append(Pause(host_in(self._name(key)), outcome.host_pause_s, key[2]))
            if page.links:
                self._in_parts.add((master, *lease))
            elif outcome is not None and outcome.phase and (master, *lease) not in self._in_parts and is_open:
                due.ended.append(lease)
        self._waiting.setdefault((master, slave), []).append((report.sequence, due))

    def durable(self, master: str, slave: str, sequence: int) -> Due:
        """Takes in that reports up to a number are said to be durable; returns what has to be on the disk by that."""
        waiting, due = self._waiting.pop((master, slave), []), Due()
        self._waiting[master, slave] = [each for each in waiting if each[0] > sequence]
        for number, what in waiting:
            if number <= sequence:
                due.ended.extend(what.ended)
                due.pauses.extend(what.pauses)
        return due
