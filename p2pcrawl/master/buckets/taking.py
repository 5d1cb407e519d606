"""Taking in what there is of buckets that come to us: what we hold of them ourselves, and what others have let go of.

Portion by portion, each whole before the next: so a bucket can be served when its rows are here, whatever others still
have to come, and nothing of a portion has to come again when the view changes. Own copies go when they are in the
frontier; what others have stays with them till they are told that it is taken.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping

from p2pcrawl.core.buckets.bitmaps import bitmap_of
from p2pcrawl.core.buckets.portions import portions
from p2pcrawl.core.hosts.politeness import HostNote
from p2pcrawl.master.buckets.generation import Generation
from p2pcrawl.master.company.neighbours import Neighbours
from p2pcrawl.master.copies.row_forms import rows_of_copies
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.wire.messages.peer_messages import Pull, PullCopies, Row

PORTION_ROWS = 5_000
"""Each portion costs a word with every other master before it is served."""


class Taking:
    """Yields, in both ways, the buckets of which all rows are durable here; raises ClaimedAnew. Rows that cannot be
    read are left out, and their buckets lack something from then on: one row must not hold up the rest.
    """

    def __init__(self, neighbours: Neighbours) -> None:
        self._peers = neighbours.peers
        self._ownership = neighbours.ownership
        self._holdings = neighbours.holdings
        self._own = neighbours.own_rows
        self._host_notes = neighbours.host_notes
        self.rows = 0
        """Rows that came from other masters with their buckets."""

    async def from_here(self, buckets: frozenset[int], generation: Generation) -> AsyncIterator[frozenset[int]]:
        """Makes our own copies the frontier's; yields the buckets of which all is there."""
        sizes = await generation.finish(self._holdings.sizes(buckets))
        for portion in portions({bucket: sizes[bucket] for bucket in buckets}, PORTION_ROWS):
            if held := portion & sizes.keys():
                await self._promote(held, generation)
            yield portion

    async def from_other(
        self, node: NodeId, sizes: Mapping[int, int], generation: Generation
    ) -> AsyncIterator[tuple[frozenset[int], frozenset[int]]]:
        """Pulls what another has let go of; yields these buckets, and of which of them not all could be read.
        ``sizes``: how much it has of each bucket.
        """
        for portion in portions(sizes, PORTION_ROWS):
            full = [bucket for bucket in portion if sizes[bucket]]
            yield portion, await self._pull(node, bitmap_of(full), generation) if full else frozenset()

    async def _promote(self, buckets: Collection[int], generation: Generation) -> None:
        after, spoilt = b"", frozenset[int]()
        while True:
            copies, after = await generation.finish(self._holdings.rows(buckets, after))
            if not copies:
                break
            rows, unread = rows_of_copies(copies)
            spoilt |= unread
            await self._take_in(rows, generation)
        self._host_notes.learn(await generation.finish(self._holdings.notes(buckets)))
        if spoilt:
            await generation.finish(self._holdings.note(self._ownership.dropped(spoilt)))
        await generation.finish(self._holdings.drop(buckets))

    async def _pull(self, node: NodeId, bitmap: bytes, generation: Generation) -> frozenset[int]:
        after = 0
        while True:
            page = await generation.wait_for(self._peers.ask(node, Pull(0, bitmap, after)))
            await self._take_in(page.rows, generation)
            self.rows += len(page.rows)
            if page.last:
                break
            after = page.after
        return await self._pull_copies(node, bitmap, generation)

    async def _pull_copies(self, node: NodeId, bitmap: bytes, generation: Generation) -> frozenset[int]:
        """Pulls what the other holds for the former owner; returns the buckets of which not all of that could be
        read.
        """
        place, spoilt = b"", frozenset[int]()
        while True:
            page = await generation.wait_for(self._peers.ask(node, PullCopies(0, bitmap, place)))
            self._host_notes.learn({n.key: HostNote(n.delay_s, n.penalty_s, n.pause_s) for n in page.notes})
            if not page.rows:
                return spoilt
            rows, unread = rows_of_copies(page.rows)
            spoilt |= unread
            await self._take_in(rows, generation)
            self.rows += len(rows)
            place = page.place

    async def _take_in(self, rows: list[Row], generation: Generation) -> None:
        """Makes rows durable here. Raises LinkError when that cannot be, as long as a job is not known yet."""
        await generation.finish(self._own.take_in(rows))
