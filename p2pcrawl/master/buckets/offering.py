"""Offers: whoever has something of buckets that are not its own says so to their owners, who claim it then.

An owner whose own view did not change does not know that there is something to claim. When it has served the buckets
all along, it learns from the offer which of their hosts are being asked here still, and what they have asked for.

Whoever has our word for a bucket is at work on it: it asks us, and all others, until it has everything. It asks anew
for what it is offered meanwhile. With a bucket that takes longer to come than the time between two offers, of two
masters or more, it would never be through. So what was let go of is offered again more and more seldom: for the case
that our word was given to a claim of which nobody knows any more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from time import monotonic

from p2pcrawl.core.buckets.bitmaps import bitmap_of
from p2pcrawl.core.ring.rendezvous import bucket_of_hash
from p2pcrawl.master.buckets.handover import Handover
from p2pcrawl.master.company.neighbours import Neighbours
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.overlay.peers import SOON_S
from p2pcrawl.overlay.tasks import Tasks
from p2pcrawl.wire.messages.peer_messages import OPEN_MAX, Offer, WireHostNote

log = logging.getLogger(__name__)

OFFER_S = 2.0
"""After a change of the view, before what nobody claimed of us is offered; and between offers."""


class Offering:
    """Offers buckets, as long as they are left over."""

    def __init__(self, neighbours: Neighbours, handover: Handover) -> None:
        self._peers = neighbours.peers
        self._ownership = neighbours.ownership
        self._host_notes = neighbours.host_notes
        self._handover = handover
        self._due_at = 0.0
        self._repeated_at = 0.0
        """When what was let go of is offered again,"""
        self._patience_s = OFFER_S
        """and how long after that once more."""
        self._told: dict[NodeId, frozenset[int]] = {}
        """The hosts that each owner was told of, which has heard us in this view."""
        self._begun = Tasks()

    def view_changed(self) -> None:
        """Waits for the owners of this view to claim first."""
        self._due_at = monotonic() + OFFER_S
        self._be_patient(OFFER_S)
        self._told.clear()

    def offer_now(self, buckets: Collection[int]) -> None:
        """Offers these without waiting for anything."""
        self._begun.start(self._offer(buckets))

    async def offer_due(self, buckets: Collection[int], let_go: Collection[int]) -> None:
        """Offers these if it is time; those of them that were ``let_go`` of only if nobody has taken them for long."""
        if not let_go:
            self._be_patient(OFFER_S)
        if buckets and monotonic() >= self._due_at:
            self._due_at = monotonic() + OFFER_S
            if monotonic() >= self._repeated_at:
                self._be_patient(2 * self._patience_s)
            else:
                buckets = frozenset(buckets).difference(let_go)
            await self._offer(buckets)

    def _be_patient(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._repeated_at = monotonic() + patience_s

    async def close(self) -> None:
        await self._begun.close()

    async def _offer(self, buckets: Collection[int]) -> None:
        by_owner: dict[NodeId, set[int]] = {}
        for bucket in buckets:
            by_owner.setdefault(self._ownership.owner_id(bucket), set()).add(bucket)
        there = [n for n in sorted(by_owner) if n != self._peers.me and self._peers.living(n) is not None]
        await asyncio.gather(*(self._offer_to(node, by_owner[node]) for node in there))

    async def _offer_to(self, node: NodeId, buckets: set[int]) -> None:
        view, before = self._ownership.view, self._told.get(node)
        open_ = [key for key in self._handover.asked() if bucket_of_hash(key) in buckets][:OPEN_MAX]
        offer = Offer(0, bitmap_of(buckets), open_, self._notes(buckets, before))
        try:
            answer = await self._peers.ask(node, offer, SOON_S)
        except P2PCrawlError as error:
            log.debug("what is left over is offered to %s again: %s", node[:8], error)
            return
        if view != self._ownership.view:
            return
        if answer.heard:
            self._told[node] = frozenset(open_)
        else:
            # It acts in another view yet.
            self._due_at = monotonic()

    def _notes(self, buckets: set[int], told: frozenset[int] | None) -> list[WireHostNote]:
        """Returns what hosts have asked for: all, for whoever was told nothing yet; else those that were open then."""
        if told is None:
            notes = self._host_notes.of_buckets(buckets)
        else:
            notes = {key: note for key in told if (note := self._host_notes.of_host(key)) is not None}
        return [
            WireHostNote(key, bucket_of_hash(key), note.delay_s, note.penalty_s, note.pause_s)
            for key, note in notes.items()
            if note
        ]
