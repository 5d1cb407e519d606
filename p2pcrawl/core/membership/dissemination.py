"""News on its way: each update is sent a few times by each member that hears it, then rests.

The theory. When every member that learns something sends it ``factor * ceil(log10(n + 1))`` times to members
drawn at random, it reaches all with overwhelming probability, whatever single messages are lost; push/pull
catches the rest. What was sent least goes first, so that fresh news overtakes old. A newer update about a
member replaces the older one: the queue holds one per member, which bounds it.

Invariant: what :meth:`News.fill` returns never takes more than the bytes it was given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from p2pcrawl.model.cluster.gossip import UPDATES_MAX, Left, Update
from p2pcrawl.model.cluster.node import NodeId


@dataclass(slots=True)
class _Spreading:
    update: Update
    sent: int


class News:
    """The queue of updates to pass on."""

    def __init__(self, factor: int) -> None:
        self._factor = factor
        self._items: dict[NodeId, _Spreading] = {}

    def __len__(self) -> int:
        return len(self._items)

    def spread(self, update: Update) -> None:
        """Passes on what was just learned; it replaces older news of the same member."""
        self._items.pop(update.id, None)
        self._items[update.id] = _Spreading(update, 0)

    def clear(self) -> None:
        self._items.clear()

    def drop(self, id: NodeId) -> None:
        self._items.pop(id, None)

    def about(self, id: NodeId) -> bool:
        """Tells whether there is news of this member."""
        return id in self._items

    def fill(
        self, budget: int, members: int, first: Sequence[Update] = (), *, farewells: bool = True
    ) -> tuple[Update, ...]:
        """Chooses what goes on one message of ``budget`` bytes: ``first``, which is not counted, then the freshest
        news.

        ``farewells``: also who has left in order.
        """
        chosen: list[Update] = []
        for update in first:
            if update.size_max <= budget:
                budget -= update.size_max
                chosen.append(update)
        if not self._items:
            return tuple(chosen)
        sent_max = self._factor * max(1, math.ceil(math.log10(members + 1)))
        spent = []
        for item in sorted(self._items.values(), key=lambda item: item.sent):
            if len(chosen) >= UPDATES_MAX:
                break
            if item.update.size_max > budget or item.update in first:
                continue
            if isinstance(item.update, Left) and not farewells:
                continue
            budget -= item.update.size_max
            chosen.append(item.update)
            item.sent += 1
            if item.sent >= sent_max:
                spent.append(item.update.id)
        for id in spent:
            del self._items[id]
        return tuple(chosen)
