"""Overhears the views in which masters act, as each comes to one: whom it counts then, and what is its own; and reads
on disks of whom each knows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from p2pcrawl.core.buckets.ownership import Change, Ownership
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.model.cluster.node import Member

from ..kernel.life import LIFE

FILE: Final = "members.json"
Acts = Callable[[str, frozenset[int], Collection[str]], None]
"""Is told of a master that comes to a view: which buckets are its own in that, and who else takes part in it."""
Serves = Callable[[str, frozenset[int], bool], None]
"""Is told of a master that serves buckets from now on, and whether that is under new epochs."""


class Acquaintances:
    """Reads on disks whom their masters would miss. ``is_safe`` tells whether a file outlives a loss of power."""

    def __init__(
        self, folder: Callable[[str], Path], is_safe: Callable[[str, str], bool], names: Mapping[str, str]
    ) -> None:
        self._folder = folder
        self._is_safe = is_safe
        self._names = names
        self._read: dict[str, tuple[tuple[int, int], frozenset[str]]] = {}
        """What was read last of each disk, and which writing that was of."""

    def __call__(self, node: str) -> frozenset[str]:
        """Returns the names of those whom a disk names; nobody where it may say nothing after a loss of power."""
        try:
            status = (path := self._folder(node) / FILE).stat()
            if not self._is_safe(node, FILE):
                return frozenset()
            stamp = status.st_mtime_ns, status.st_ino
            if node not in self._read or self._read[node][0] != stamp:
                rows = json.loads(path.read_text())
                known = frozenset(self._names[row["id"]] for row in rows if row["id"] in self._names)
                self._read[node] = stamp, known
        except (FileNotFoundError, ValueError):
            return frozenset()
        return self._read[node][1]


@contextmanager
def views_overheard(acts: Acts, serves: Serves, names: Mapping[str, str]) -> Iterator[None]:
    """Has models told of all views, and of what is served, for the block. ``names`` has the masters' by their ids."""
    here: Any = Ownership
    real: Any = (Ownership.change, Ownership.serve, Ownership.resume)

    def change(self: Ownership, members: Iterable[Member], view: int) -> Change:
        changed: Change = real[0](self, members, view)
        if is_there(self):
            mine = frozenset(bucket for bucket in range(BUCKETS) if self.owner(bucket) is None)
            others = [names[node] for node in self.weights if node != self.me and node in names]
            acts(names[self.me], mine, others)
        return changed

    def serve(self: Ownership, epochs: Mapping[int, int]) -> frozenset[int]:
        return served(self, real[1](self, epochs), anew=True)

    def resume(self: Ownership, buckets: Iterable[int]) -> frozenset[int]:
        return served(self, real[2](self, buckets), anew=False)

    def served(ownership: Ownership, buckets: frozenset[int], *, anew: bool) -> frozenset[int]:
        if is_there(ownership):
            serves(names[ownership.me], buckets, anew)
        return buckets

    def is_there(ownership: Ownership) -> bool:
        life = LIFE.get()
        return life is not None and not life.dead and life.node.name == names.get(ownership.me)

    here.change, here.serve, here.resume = change, serve, resume
    try:
        yield
    finally:
        here.change, here.serve, here.resume = real
