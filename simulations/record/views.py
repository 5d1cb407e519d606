"""Overhears the views in which masters act, as each comes to one: whom it counts then, and what is its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from p2pcrawl.core.buckets.ownership import Change, Ownership
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.model.cluster.node import Member

from ..kernel.life import LIFE
from ..model.members.doubts import Doubts


@contextmanager
def views_overheard(doubts: Doubts, names: Mapping[str, str]) -> Iterator[None]:
    """Lets a model hear of all views, for the block. ``names`` has the masters' by their ids."""
    here: Any = Ownership
    real: Any = Ownership.change

    def change(self: Ownership, members: Iterable[Member], view: int) -> Change:
        changed: Change = real(self, members, view)
        life = LIFE.get()
        if life is not None and not life.dead and life.node.name == names.get(self.me):
            mine = frozenset(bucket for bucket in range(BUCKETS) if self.owner(bucket) is None)
            others = [names[node] for node in self.weights if node != self.me and node in names]
            doubts.acts(life.node.name, mine, others)
        return changed

    here.change = change
    try:
        yield
    finally:
        here.change = real
