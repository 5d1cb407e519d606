"""The notes of what hosts ask for beyond the delays of jobs, as masters tell each other."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from time import monotonic

from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.hosts.politeness import HostNote
from p2pcrawl.master.neighbours.remarks import Remarks


class HostNotes:
    """Keeps them at the workbench, by the keys of hosts."""

    def __init__(self, workbench: Workbench, remarks: Remarks) -> None:
        self._bench = workbench
        self.remarked = remarks.for_copies
        """Those of which the holders of copies are to know."""

    def of_host(self, key: int) -> HostNote | None:
        """Returns what a host asks, or None if nothing is known of it."""
        return self._bench.note(key, monotonic())

    def of_buckets(self, buckets: Collection[int]) -> dict[int, HostNote]:
        """Returns what the hosts in these buckets ask, as far as they ask anything. Costs a pass."""
        return self._bench.notes(buckets, monotonic())

    def learn(self, notes: Mapping[int, HostNote]) -> None:
        """Takes in what another master knew of hosts, for now or for when they are asked next."""
        now = monotonic()
        for key, note in notes.items():
            if note.pause_s:
                self._bench.known.pause(key, now + note.pause_s)
            self._bench.learn(key, note, now)
