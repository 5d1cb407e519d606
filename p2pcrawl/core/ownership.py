"""Who owns which bucket, as one master sees it.

The theory. The living members and their weights are the view; the ring says, the same for all that share
the view, which R of them hold each bucket, the first being its owner. A bucket that comes to us is first *syncing*:
we take in what is discovered in it but grant nothing, until everyone who may have owned it has let go and handed
over what it knew; then we *serve* it, under an epoch greater than any that was heard of. A bucket that leaves us is not
served from the moment our view changes.

Views differ for a while, after a false alarm or beyond a partition: then somebody else may have owned what is ours
all along in our own view. Who loses a bucket that nobody claims offers it to its owner, which claims it then, and goes
on serving it.

Invariants: a bucket is served only by the one that its own view calls owner; the epoch of a bucket only grows.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from p2pcrawl.core.ring import BUCKETS, Rendezvous
from p2pcrawl.model.node import Member, NodeId

COUNTER_MAX = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Change:
    """What a new view means for this master."""

    gained: frozenset[int] = frozenset()
    lost: frozenset[int] = frozenset()
    ask: tuple[NodeId, ...] = ()
    """The others that have to let go of something of ours, and hand over what they know of it."""


class Router(Protocol):
    """Whom a bucket's links go to."""

    def owner(self, bucket: int) -> NodeId | None:
        """None: this master itself."""
        ...

    def serves(self, bucket: int) -> bool: ...


class Alone:
    """A master without an overlay owns everything."""

    def owner(self, bucket: int) -> NodeId | None:
        return None

    def serves(self, bucket: int) -> bool:
        return True


@dataclass(slots=True)
class Ownership:
    """See the module. A Router."""

    me: NodeId
    copies: int = 2
    table: Sequence[tuple[NodeId, ...]] = ()
    view: int = 0
    """The digest of the view that the table was made from."""
    counters: array[int] = field(default_factory=lambda: array("I", bytes(4 * BUCKETS)))
    _serving: bytearray = field(default_factory=lambda: bytearray(BUCKETS))
    _owners: list[NodeId | None] = field(default_factory=list)
    _asked: dict[NodeId, set[int]] = field(default_factory=dict)
    """Whose release of which buckets is still awaited."""

    def owner(self, bucket: int) -> NodeId | None:
        return self._owners[bucket] if self._owners else None

    def owner_id(self, bucket: int) -> NodeId:
        return self.owner(bucket) or self.me

    def holders(self, bucket: int) -> tuple[NodeId, ...]:
        """All that hold the bucket by the ring, its owner first."""
        return self.table[bucket] if self.table else (self.me,)

    def serves(self, bucket: int) -> bool:
        return bool(self._serving[bucket])

    def change(self, members: Iterable[Member], view: int) -> Change:
        """A new view. What is gained is served after ``released`` by all in ``ask``."""
        living = [m for m in members if not m.drained] or list(members)
        weights = {m.id: m.weight for m in living}
        if self.me not in weights and not weights:
            weights = {self.me: 1}
        before = self._owners
        self.table = Rendezvous(weights).table(min(self.copies, len(weights)))
        self._owners = [None if row[0] == self.me else row[0] for row in self.table]
        self.view = view
        mine = {b for b, owner in enumerate(self._owners) if owner is None}
        had = {b for b, owner in enumerate(before) if owner is None} if before else set()
        gained, lost = mine - had, had - mine
        if had and not any(before) and len(weights) > 1:
            # Whoever was alone may be the one that joins: what it keeps has been another's until now.
            gained = mine
            for bucket in mine:
                self._serving[bucket] = 0
        for bucket in lost:
            self._serving[bucket] = 0
        others = tuple(sorted({m.id for m in members} - {self.me}))
        known = set(others)
        for node in list(self._asked):
            if node not in known:
                del self._asked[node]
            else:
                self._asked[node] &= mine
        for node in others:
            self._asked.setdefault(node, set()).update(gained)
        self._settle(mine)
        return Change(frozenset(gained), frozenset(lost), tuple(node for node in others if self._asked[node]))

    def offered(self, node: NodeId, buckets: Iterable[int]) -> bool:
        """``node`` holds something of these; whether some are ours, so that it has to let go of them."""
        ours = {bucket for bucket in buckets if self._owners and self._owners[bucket] is None}
        if not ours or node not in self._asked:
            return False
        self._asked[node] |= ours
        return True

    def awaited(self, node: NodeId) -> frozenset[int]:
        """The buckets that ``node`` has not yet let go of."""
        return frozenset(self._asked.get(node, ()))

    def released(self, node: NodeId, buckets: Iterable[int], counters: Sequence[int] = ()) -> frozenset[int]:
        """``node`` has let go of these and handed over; which of them are served from now on."""
        waiting = self._asked.get(node, set())
        asked = set(buckets) & waiting
        for bucket in asked:
            if counters:
                self.counters[bucket] = max(self.counters[bucket], min(counters[bucket], COUNTER_MAX))
        waiting -= asked
        return self._settle(asked)

    @property
    def complete(self) -> bool:
        """Everybody has let go of everything that is ours."""
        return not any(self._asked.values())

    @property
    def syncing(self) -> int:
        """How many buckets of ours are not served yet."""
        return sum(1 for b, owner in enumerate(self._owners) if owner is None and not self._serving[b])

    @property
    def owned(self) -> int:
        return sum(1 for owner in self._owners if owner is None)

    def _settle(self, buckets: Iterable[int]) -> frozenset[int]:
        """Serves what nobody has to let go of any more."""
        waited: set[int] = set().union(*self._asked.values()) if self._asked else set()
        now_served = set()
        for bucket in buckets:
            if not self._serving[bucket] and bucket not in waited and self._owners[bucket] is None:
                self._serving[bucket] = 1
                self.counters[bucket] = min(self.counters[bucket] + 1, COUNTER_MAX)
                now_served.add(bucket)
        return frozenset(now_served)
