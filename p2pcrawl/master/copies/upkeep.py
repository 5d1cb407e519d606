"""Keeping the copies of what is ours: who holds them, bringing those up to date, and telling others what they need not
hold any more.

Copies are made anew for whoever holds them by the view of the moment, but not while more than half of the masters have
vanished at once: most of them will be back before all could be copied.
"""

from __future__ import annotations

import asyncio
import logging
from time import monotonic

from p2pcrawl.core.buckets.bitmaps import buckets_of
from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.core.ring.rendezvous import bucket_of_hash
from p2pcrawl.master.copies.copier import Copier
from p2pcrawl.master.copies.excess import Excess
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.master.copies.syncing import PATROL_S, Syncing
from p2pcrawl.master.jobs.loading import Loading
from p2pcrawl.master.neighbours.host_notes import HostNotes
from p2pcrawl.model.cluster.node import Member, NodeId
from p2pcrawl.model.errors import LinkError, P2PCrawlError
from p2pcrawl.overlay.peers import Peers
from p2pcrawl.wire.messages.peer_messages import DropCopies, Dropped, Noted, Whole, WireHostNote

log = logging.getLogger(__name__)

STABLE_S = 60.0
"""How long fewer than half are waited for before all is copied anew."""


class Upkeep:
    """Keeps the copies of what is ours. ``copies``: how many are wanted, the owner's included."""

    def __init__(
        self,
        peers: Peers,
        ownership: Ownership,
        holdings: Holdings,
        copier: Copier,
        excess: Excess,
        syncing: Syncing,
        loading: Loading,
        host_notes: HostNotes,
    ) -> None:
        self._peers = peers
        self._ownership = ownership
        self._holdings = holdings
        self._copying = copier.copying
        self._copier = copier
        self._excess = excess
        self._syncing = syncing
        self._loading = loading
        self._host_notes = host_notes
        self._living: list[tuple[float, frozenset[NodeId]]] = []
        """The masters that there were lately."""
        self._leavers: frozenset[NodeId] = frozenset()
        """Of these: who goes, or has gone, in order, and will not be back soon."""
        self._copy_at = 0.0
        self._dropped: set[int] = set()
        """Buckets of which copies were dropped here in this view, as their owners said."""
        self._holders: tuple[int, int, list[tuple[bytes, bytes]]] = (0, 0, [])
        """What determines who holds copies of ours, as it was when they were last told apart."""

    async def close(self) -> None:
        await self._syncing.close()

    # -- views --------------------------------------------------------------------------------

    def members_changed(self, members: list[Member]) -> None:
        """Decides who holds copies of ours now."""
        table, me = self._ownership.table, self._peers.me
        known = sum(1 for m in members if not m.leaving) + len(self._peers.missing())
        holders = (self._ownership.view, known, [(m.boot, m.store) for m in members])
        if holders == self._holders:
            return
        self._holders = holders
        self._dropped.clear()
        owned = {b: row[1:] for b, row in enumerate(table) if row and row[0] == me}
        self._copier.gone(self._copying.change(members, owned, known))
        living = {m.id for m in members}
        self._excess.holders_changed(living)
        self.sync()

    def hold_back(self, members: list[Member]) -> None:
        """Waits with copying anew if more than half have vanished at once, unless they come back before. Who leaves in
        order waits for it to be copied, and does not count.
        """
        now, living = monotonic(), frozenset(m.id for m in members if not m.leaving)
        self._living = [(at, those) for at, those in self._living if now - at < STABLE_S] + [(now, living)]
        lately = frozenset().union(*(those for _, those in self._living))
        self._leavers = ((self._leavers & lately) | {m.id for m in members if m.leaving}) - living
        if 2 * len(living) < max(len(those - self._leavers) for _, those in self._living):
            log.warning("more than half of the masters are gone: nothing is copied anew for %.0f s", STABLE_S)
            self._copy_at = now + STABLE_S
        else:
            self._copy_at = 0.0

    async def served(self, buckets: frozenset[int]) -> None:
        """Has buckets granted and copied that are ours and complete, as far as anybody lives who knows of them."""
        # Who handed them over has made copies of them, and may have been told before.
        self._excess.moved()
        self._copying.doubt(buckets)
        # At once: from now on pages are granted, and their hosts may have been asked a moment ago.
        self._loading.serve_buckets(buckets)
        await self._holdings.note(self._ownership.standings(buckets))
        self.sync()

    # -- bringing holders up to date ----------------------------------------------------------

    def sync(self) -> None:
        """Brings holders up to date, where that is due."""
        if monotonic() < self._copy_at:
            return
        self._syncing.begin(self._copying.behind())

    async def patrol(self) -> None:
        """Makes the slow round over what is synced; for ever."""
        while True:
            await asyncio.sleep(PATROL_S)
            try:
                await self._syncing.patrol([m.id for m in self._peers.others()])
            except P2PCrawlError as error:
                log.debug("patrol: %s", error)
            except Exception:
                log.exception("the patrol failed")

    async def whole(self, request: Whole) -> Noted:
        """Takes in that an owner has brought us to what it has."""
        buckets = sorted(buckets_of(request.buckets))
        if len(request.counters) != len(buckets):
            raise LinkError("as many epochs as buckets are needed")
        if any(self._ownership.owner(bucket) is None for bucket in buckets):
            # We have not heard of all the others yet, or it has not.
            raise LinkError("copies of what is one's own do not count")
        for bucket, counter in zip(buckets, request.counters, strict=True):
            self._ownership.synced(bucket, counter)
        await self._holdings.note(self._ownership.standings(buckets))
        return Noted(0)

    def send_host_notes(self) -> None:
        """Sends what remarkable hosts ask to those that may own them next."""
        remarked = list(self._host_notes.remarked)
        self._host_notes.remarked.clear()
        for key in remarked:
            bucket = bucket_of_hash(key)
            note = self._host_notes.of_host(key)
            if note is not None and self._ownership.owner(bucket) is None:
                self._copier.note(WireHostNote(key, bucket, note.delay_s, note.penalty_s, note.pause_s))

    # -- what need not be held any more -------------------------------------------------------

    def are_late(self, bucket: int) -> bool:
        """Tells whether copies that come of a bucket were sent before the word to drop them, by a link that was cut off
        meanwhile: whoever sent them has heard that there are none, and says it only once in a view.
        """
        return bucket in self._dropped and self._peers.me not in self._ownership.holders(bucket)

    async def drop(self, request: DropCopies, left_over: frozenset[int]) -> Dropped:
        """Drops copies of which an owner says that enough others hold them. ``left_over``: it may not have what we know
        of them, so they stay till it has taken that, and says so again.
        """
        if request.view != self._ownership.view:
            return Dropped(0, False)
        buckets = buckets_of(request.buckets)
        if not request.few:
            free = [b for b in buckets - left_over if self._peers.me not in self._ownership.holders(b)]
            self._dropped.update(free)
            await self._holdings.give_up(free, self._ownership.dropped(free))
        return Dropped(0, request.view == self._ownership.view)
