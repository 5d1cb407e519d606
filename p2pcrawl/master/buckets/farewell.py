"""The condition under which a master that leaves says that it has handed everything over: when the others have
confirmed it, not before.

That nothing is ours any more is no proof that others have it: whoever took a bucket has the only copy of it until it
has made others, and may die meanwhile. So what is taken from us stays here as a copy, until the owner of each bucket
says in this very view that as many as there should be have it (``DropCopies``); where fewer live, that all who live
have it: then we keep ours, too, though nobody needs to wait for us. A change of the view makes all that void: others
own the buckets now, and say it again.

Links that we found and that have too few copies wait here (the spool); when all owners live and have taken them, they
are where the rest is. What there is of jobs is told to as many as keep copies.
"""

from __future__ import annotations

from collections.abc import Collection
from time import monotonic

from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.master.buckets.handover import Handover
from p2pcrawl.master.buckets.takeover import Takeover
from p2pcrawl.master.company.neighbours import Neighbours
from p2pcrawl.master.jobs.mirroring import Mirroring
from p2pcrawl.model.cluster.node import Member, NodeId

SAY_S = 1.0
"""Between two attempts to bring links that are provisional to their owners."""


class Farewell:
    """Collects what the others confirm, until nothing is here that they lack."""

    def __init__(self, neighbours: Neighbours, handover: Handover, takeover: Takeover, mirroring: Mirroring) -> None:
        self._ownership = neighbours.ownership
        self._holdings = neighbours.holdings
        self._spool = neighbours.spool
        self._handover = handover
        self._takeover = takeover
        self._mirroring = mirroring
        self._say_at = 0.0
        self._view = 0
        self._safe: set[int] = set()
        """The buckets of which, in this view, others have what they should."""
        self._kept: set[int] = set()
        """Of these: those that all who live have, though fewer than there should be."""

    def confirmed(self, buckets: Collection[int], by: NodeId, *, few: bool) -> None:
        """Takes in that the owner of these buckets says, in the view in which we act, that others have them."""
        if self._view != self._ownership.view:
            self._view = self._ownership.view
            self._safe.clear()
            self._kept.clear()
        theirs = {bucket for bucket in buckets if self._ownership.owner(bucket) == by}
        self._safe |= theirs
        if few:
            self._kept |= theirs
        else:
            self._kept -= theirs

    def void_confirmed(self, buckets: Collection[int]) -> None:
        """Voids what was confirmed of these buckets: more has been taken from us, and that its owner has it is one
        copy.
        """
        self._safe.difference_update(buckets)

    async def complete(self, heirs: Collection[Member]) -> bool:
        """Tells whether those that stay have everything. What was found true still is when this returns."""
        if not self._all_confirmed():
            return False
        if not await self._mirroring.assured(heirs, self._ownership.copies):
            return False
        if not await self._spooled_is_safe():
            return False
        return await self._handover.empty_handed() and self._all_confirmed()

    async def _spooled_is_safe(self) -> bool:
        now = monotonic()
        if self._spool.size and now < self._say_at:
            return False
        self._say_at = now + SAY_S
        taken = await self._spool.send_once_more()
        return not self._spool.size or (taken and bool(self._kept))

    def _all_confirmed(self) -> bool:
        if self._view != self._ownership.view or len(self._safe) < BUCKETS or self._takeover.unclaimed:
            return False
        return bool(self._kept) or not self._holdings.count
