"""The excess of copies: what others hold of ours and need not; they are told to drop it, when enough others have it.

Everybody else is told once in each view, and again when buckets have moved, or when copies were made that may have come
after the word to drop them.
"""

from __future__ import annotations

from collections.abc import Collection, Set

from p2pcrawl.core.buckets.bitmaps import bitmap_of
from p2pcrawl.core.buckets.copy_ledger import Copying
from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.master.jobs.job import KnownJobs
from p2pcrawl.master.jobs.openings import Openings
from p2pcrawl.model.cluster.node import Member, NodeId
from p2pcrawl.overlay.peers import Peers
from p2pcrawl.wire.messages.peer_messages import Copy, CopyRow, DropCopies, Dropped, WireHostNote


class Excess:
    """Knows who was told, and carries copies: what comes to one that is no holder any more is excess."""

    def __init__(
        self, peers: Peers, ownership: Ownership, copying: Copying, jobs: KnownJobs, openings: Openings
    ) -> None:
        self._peers = peers
        self._ownership = ownership
        self._copying = copying
        self._jobs = jobs
        self._openings = openings
        self.dropped_for: dict[NodeId, int] = {}
        """The view for which each other has dropped what it need not hold."""
        self._empty_of: dict[NodeId, set[int]] = {}
        """Buckets of ours of which each other holds nothing, and was not to hold anything since it said so."""
        self._moves = 0
        """How often either of these was called in doubt."""
        self._all_told_at = 0, -1
        """The view, and how many moves there had been, when nobody was left who had to be told."""

    def restarted(self, node: NodeId) -> None:
        """Forgets what another was told: it may have lost it."""
        self._moves += 1
        self.dropped_for.pop(node, None)
        self._empty_of.pop(node, None)

    def moved(self, buckets: Collection[int] = ()) -> None:
        """Takes into account that buckets have moved: what was dropped of those that came or went may have been copied
        since, and others may hold what they did not hold before."""
        self._moves += 1
        self.dropped_for.clear()
        for empty in self._empty_of.values():
            empty.difference_update(buckets)

    def emptied(self, node: NodeId, buckets: Collection[int]) -> None:
        """Notes that another holds nothing of these buckets of ours that it is not to hold."""
        self._empty_of.setdefault(node, set()).update(buckets)

    def holders_changed(self, living: Collection[NodeId]) -> None:
        """Forgets who had nothing of what it is to hold from now on."""
        self._empty_of = {
            node: empty - self._copying.held(node) for node, empty in self._empty_of.items() if node in living
        }

    async def carry(self, node: NodeId, rows: list[CopyRow], notes: list[WireHostNote]) -> None:
        """Carries copies to a holder, with the hosts that their jobs have opened; they are durable there on return."""
        try:
            opened = self._openings.known({row.job for row in rows})
            await self._peers.ask(node, Copy(0, rows, notes, opened))
        finally:
            if any(node not in self._entitled(row.bucket) for row in rows):
                # The node was a holder when these were lined up, and may have been told to drop them before they came.
                self.restarted(node)

    def _word(self, view: int, buckets: Collection[int], *, few: bool = False) -> DropCopies:
        """Makes the word to drop copies of these. ``view``: the one in which it was judged who has enough; we may be in
        another by now.
        """
        epochs = [self._ownership.counters[bucket] for bucket in sorted(buckets)]
        return DropCopies(0, view, bitmap_of(buckets), few, epochs)

    def _entitled(self, bucket: int) -> tuple[NodeId, ...]:
        """Returns those to whom copies of a bucket may come without having to be dropped."""
        return *self._ownership.holders(bucket), *self._copying.followers(bucket)

    async def drop_surplus(self) -> None:
        """Tells the others, when everything of ours is synced, and again when buckets have moved."""
        view = self._ownership.view
        if self._all_told_at == (view, self._moves):
            return
        if self._copying.lacking() or self._ownership.syncing or not self._ownership.complete:
            return
        others = [m for m in self._peers.others() if self.dropped_for.get(m.id) != view]
        if not others:
            self._all_told_at = view, self._moves
            return
        complete, generation = self._copying.complete(), self._ownership.generation
        # Members that leave wait for this; one that does not answer must not hold them up.
        for member in sorted(others, key=lambda m: not m.leaving):
            await self._tell(member, complete, generation)
            if self._ownership.generation != generation:
                # We may have stood still, and others may have gone on without us: what we know of copies is of before,
                # though the view is the same again.
                return

    async def _tell(self, member: Member, complete: Set[int], generation: int) -> None:
        """Tells one other what to drop of these, of which enough others have copies."""
        # One that leaves waits till it has nothing: it is told of all, whatever is known of it. So are all when there
        # are jobs: copies that a former owner made may have been under way when it said that it had none.
        trusted = not member.leaving and not self._jobs
        empty = self._empty_of.get(member.id, set()) if trusted else set()
        free = [b for b in complete if b not in empty and member.id not in self._ownership.holders(b)]
        view, moves = self._ownership.view, self._moves
        answer = await self._peers.ask(member.id, self._word(view, free)) if free else Dropped(0, True)
        few = self._copying.owned() - complete if member.leaving else ()
        if few and answer.agreed and self._ownership.generation == generation:
            answer = await self._peers.ask(member.id, self._word(view, few, few=True))
        if answer.agreed and self._moves == moves:
            self.dropped_for[member.id] = view
            self.emptied(member.id, free)
