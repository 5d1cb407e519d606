"""Keeping the copies of what is ours: who holds them, bringing those up to date, and telling others what they need not
hold any more.

Copies are made anew for whoever holds them by the view of the moment, but not while more than half of the masters have
vanished at once: most of them will be back before all could be copied.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection

from p2pcrawl.core.buckets.bitmaps import bitmap_of, buckets_of
from p2pcrawl.core.buckets.copy_ledger import Copying
from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.core.ring.rendezvous import bucket_of_hash
from p2pcrawl.master.copies.copier import Copier
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.master.copies.syncing import PATROL_S, Syncing
from p2pcrawl.master.master import Master
from p2pcrawl.model.cluster.node import Member, NodeId
from p2pcrawl.model.errors import LinkError, P2PCrawlError
from p2pcrawl.overlay.peers import Peers
from p2pcrawl.wire.messages.peer_messages import Copy, CopyRow, Drop, Dropped, HostNote, Noted, Whole

log = logging.getLogger(__name__)

STABLE_S = 60.0
"""How long fewer than half are waited for before all is copied anew."""


class Upkeep:
    """See the module. ``copies``: how many are wanted, the owner's included."""

    def __init__(self, master: Master, peers: Peers, ownership: Ownership, holdings: Holdings, copies: int) -> None:
        self._master = master
        self._peers = peers
        self._ownership = ownership
        self._holdings = holdings
        self.copying = Copying(peers.me, copies)
        self.copier = Copier(self.copying, self._carry)
        self.syncing = Syncing(
            self.copying, self.copier, master, peers, self._carry, ownership.in_service, self._holder_synced
        )
        self.remarked: set[int] = set()
        """Hosts, by their keys, that ask for more patience than others: those that hold copies are to know it."""
        self._living: list[tuple[float, int]] = []
        """How many masters there were lately."""
        self._copy_at = 0.0
        self._holders: tuple[int, int, list[tuple[bytes, bytes]]] = (0, 0, [])
        """What determines who holds copies of ours, as it was when they were last told apart."""
        self._dropped_for: dict[NodeId, int] = {}
        """The view for which each other has dropped what it need not hold."""
        self._empty_of: dict[NodeId, set[int]] = {}
        """Buckets of ours of which each other holds nothing, and was not to hold anything since it said so."""
        self._moves = 0
        """How often either of these was called in doubt."""
        self._all_told_at = 0, -1
        """The view, and how many moves there had been, when nobody was left who had to be told."""

    async def close(self) -> None:
        await self.syncing.close()
        await self.copier.close()

    # -- views --------------------------------------------------------------------------------

    def restarted(self, node: NodeId) -> None:
        """What it was told before may be gone."""
        self._moves += 1
        self._dropped_for.pop(node, None)
        self._empty_of.pop(node, None)

    def moved(self, buckets: Collection[int] = ()) -> None:
        """Buckets have moved: what was dropped of those that came or went may have been copied since, and others may
        hold what they did not hold before."""
        self._moves += 1
        self._dropped_for.clear()
        for empty in self._empty_of.values():
            empty.difference_update(buckets)

    def emptied(self, node: NodeId, buckets: Collection[int]) -> None:
        """Another holds nothing of these buckets of ours that it is not to hold."""
        self._empty_of.setdefault(node, set()).update(buckets)

    def members_changed(self, members: list[Member]) -> None:
        """Who holds copies of ours now."""
        table, me = self._ownership.table, self._peers.me
        known = sum(1 for m in members if not m.leaving) + len(self._peers.missing())
        holders = (self._ownership.view, known, [(m.boot, m.store) for m in members])
        if holders == self._holders:
            return
        self._holders = holders
        owned = {b: row[1:] for b, row in enumerate(table) if row and row[0] == me}
        self.copier.gone(self.copying.change(members, owned, known))
        living = {m.id for m in members}
        self._empty_of = {
            node: empty - self.copying.held(node) for node, empty in self._empty_of.items() if node in living
        }
        self.sync()

    def hold_back(self, living: int) -> None:
        """Waits with copying anew if more than half have vanished at once, unless they come back before.

        ``living``: how many there are now.
        """
        now = self._master.now
        self._living = [(at, count) for at, count in self._living if now - at < STABLE_S] + [(now, living)]
        if 2 * living < max(count for _, count in self._living):
            log.warning("more than half of the masters are gone: nothing is copied anew for %.0f s", STABLE_S)
            self._copy_at = now + STABLE_S
        else:
            self._copy_at = 0.0

    # -- bringing holders up to date ----------------------------------------------------------

    def sync(self) -> None:
        """Brings holders up to date, where that is due."""
        if self._master.now < self._copy_at:
            return
        self.syncing.begin(self.copying.behind())

    async def patrol(self) -> None:
        """The slow round over what is synced; for ever."""
        while True:
            await asyncio.sleep(PATROL_S)
            try:
                await self.syncing.patrol([m.id for m in self._peers.others()])
            except P2PCrawlError as error:
                log.debug("patrol: %s", error)
            except Exception:
                log.exception("the patrol failed")

    async def _holder_synced(self, node: NodeId, buckets: frozenset[int]) -> None:
        """A holder has been brought to what we have; what their hosts ask follows."""
        self.remarked.update(self._master.workbench.notes(buckets, self._master.now))
        whole = sorted(b for b in buckets if self._ownership.in_service(b) and not self._ownership.lacks[b])
        if whole:
            request = Whole(0, bitmap_of(whole), [self._ownership.counters[b] for b in whole])
            await self._peers.ask(node, request)

    async def whole(self, request: Whole) -> Noted:
        """An owner has brought us to what it has."""
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

    def tell_of_hosts(self) -> None:
        """What remarkable hosts ask goes to those that may own them next."""
        remarked = list(self.remarked)
        self.remarked.clear()
        for key in remarked:
            bucket = bucket_of_hash(key)
            note = self._master.workbench.note(key, self._master.now)
            if note is not None and self._ownership.owner(bucket) is None:
                self.copier.note(HostNote(key, bucket, note.delay_s, note.penalty_s, note.pause_s))

    async def _carry(self, node: NodeId, rows: list[CopyRow], notes: list[HostNote]) -> None:
        """Carries copies to a holder, with the hosts that their jobs have opened; they are durable there on return."""
        try:
            opened = self._master.opened({row.job for row in rows})
            await self._peers.ask(node, Copy(0, rows, notes, opened))
        finally:
            if any(node not in self._ownership.holders(row.bucket) for row in rows):
                # It was a holder when this was lined up, and may have been told to drop these before they came.
                self.restarted(node)

    # -- what need not be held any more -------------------------------------------------------

    async def tell_to_drop(self) -> None:
        """When everything of ours is synced, and again when buckets have moved."""
        view = self._ownership.view
        if self._all_told_at == (view, self._moves):
            return
        if self.copying.lacking() or self._ownership.syncing or not self._ownership.complete:
            return
        others = [m for m in self._peers.others() if self._dropped_for.get(m.id) != view]
        if not others:
            self._all_told_at = view, self._moves
            return
        complete = self.copying.complete()
        # Those that leave wait for it; one that does not answer must not hold them up.
        for member in sorted(others, key=lambda m: not m.leaving):
            # One that leaves waits till it has nothing: it is told of all, whatever is known of it. So are all when
            # there are jobs: copies that a former owner made may have been under way when it said that it had none.
            trusted = not member.leaving and not self._master.jobs
            empty = self._empty_of.get(member.id, set()) if trusted else set()
            free = [b for b in complete if b not in empty and member.id not in self._ownership.holders(b)]
            moves = self._moves
            answer = await self._peers.ask(member.id, Drop(0, view, bitmap_of(free))) if free else Dropped(0, True)
            few = self.copying.owned() - complete if member.leaving else ()
            if few and answer.agreed:
                answer = await self._peers.ask(member.id, Drop(0, view, bitmap_of(few), few=True))
            if answer.agreed and self._moves == moves:
                self._dropped_for[member.id] = view
                self.emptied(member.id, free)

    async def drop(self, request: Drop, left_over: frozenset[int]) -> Dropped:
        """An owner says that enough others hold these. ``left_over``: it may not have what we know of them."""
        if request.view != self._ownership.view:
            return Dropped(0, False)
        buckets = buckets_of(request.buckets)
        if not request.few:
            free = [b for b in buckets if self._peers.me not in self._ownership.holders(b)]
            # First: whoever asks what we have of them is not to be told of what is gone.
            await self._holdings.note(self._ownership.dropped(b for b in free if b not in left_over))
            await self._holdings.drop(free)
        return Dropped(0, request.view == self._ownership.view)
