"""Brings holders to what the owner has: compares by sums, splits what differs, sends only what is missing.

One round with one holder at a time, a slice of buckets a step. What is read of the store is sent only when all links
up to now are with others (``LinksFirst.safe``), like everything else that travels.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Collection, Coroutine, Iterable, Sequence
from typing import Any

from p2pcrawl.core.buckets.bitmaps import bitmap_of
from p2pcrawl.core.buckets.copy_ledger import Copying
from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.frontier.database.digest import Range, split
from p2pcrawl.master.copies.copier import Send, in_messages
from p2pcrawl.master.copies.links_first import LinksFirst
from p2pcrawl.master.copies.own_rows import OwnRows
from p2pcrawl.master.copies.row_forms import copy_of_row, rows_of_copies
from p2pcrawl.master.neighbours.host_notes import HostNotes
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.fingerprint import SIZE, halves, pack_halves
from p2pcrawl.model.crawl.record import adds
from p2pcrawl.model.errors import LinkError, P2PCrawlError
from p2pcrawl.overlay.peers import Peers
from p2pcrawl.overlay.tasks import end
from p2pcrawl.wire.messages import peer_messages as wire
from p2pcrawl.wire.messages.peer_messages import (
    Compare,
    CopyRow,
    Listed,
    ListKeys,
    PullKeys,
    Whole,
)

log = logging.getLogger(__name__)

SLICE = 64
"""Buckets that are compared at once, at first."""
SLICE_ROWS = 20_000
"""With fewer rows than this in a slice the next one is twice as large."""
SLICE_MAX = 1_024
LEAF_ROWS = 256
"""Rows of a range whose keys are listed rather than split again."""
MENDED_AT_ONCE = 16
"""Of these ranges: over a long way it is the way there and back that takes the time."""
SEND_ROWS = 1_000
DEPTH_MAX = 16
RETRY_S = 0.5
PATROL_S = 5.0
"""How often a slice of what is synced is compared again."""
PATROL_HOLDERS = 4
"""With so many holders at a time: what it costs must not grow with the cluster."""

Key = tuple[int, int, int]


class Syncing:
    """Brings the holders of our buckets to what we have."""

    def __init__(
        self,
        peers: Peers,
        ownership: Ownership,
        copying: Copying,
        links_first: LinksFirst,
        send: Send,
        own_rows: OwnRows,
        host_notes: HostNotes,
    ) -> None:
        self._peers = peers
        self._ownership = ownership
        self._copying = copying
        self._links_first = links_first
        self._send_copies = send
        self._own = own_rows
        self._host_notes = host_notes
        self._rounds: dict[NodeId, asyncio.Task[None]] = {}
        self._patrol_at = 0
        self._patrol_next = 0
        """Where the next step goes on: among the buckets of each holder, and among the holders."""

    def begin(self, nodes: Collection[NodeId]) -> None:
        """Looks after these holders: a round begins with each that lacks something."""
        for node in nodes:
            task = self._rounds.get(node)
            if (task is None or task.done()) and self._waiting(node):
                self._rounds[node] = asyncio.create_task(self._round(node))

    async def close(self) -> None:
        await end(self._rounds.values())

    async def patrol(self, nodes: Sequence[NodeId]) -> None:
        """Takes one step of the slow round over what is synced: mends what differs all the same."""
        synced = [(node, held) for node in sorted(nodes) if (held := sorted(self._copying.counted(node)))]
        if self._patrol_next >= len(synced):
            self._patrol_next = 0
            self._patrol_at += SLICE
        turn = synced[self._patrol_next : self._patrol_next + PATROL_HOLDERS]
        self._patrol_next += PATROL_HOLDERS
        for node, held in turn:
            start = self._patrol_at % len(held)
            await self._bring(node, held[start : start + SLICE])

    async def _round(self, node: NodeId) -> None:
        """Brings buckets to a holder until it has all that it is to have, or lives no more."""
        size = SLICE
        while (generation := self._copying.generation(node)) is not None:
            buckets = self._waiting(node)[:size]
            if not buckets:
                return
            try:
                rows = await self._bring(node, buckets)
                # Also where there was nothing to send: no copy is called whole before what goes ahead of all.
                await self._links_first.safe()
                # Where there is little to compare it is the way there and back that takes the time.
                size = min(SLICE_MAX, 2 * size) if rows < SLICE_ROWS else SLICE
                if held := self._copying.brought(node, buckets, generation):
                    # A copy counts when its holder knows that it does.
                    await self._confirm_synced(node, held)
                    self._copying.synced(node, held, generation)
            except P2PCrawlError as error:
                log.debug("syncing %s: %s", node[:8], error)
                await asyncio.sleep(RETRY_S)
            except Exception:
                log.exception("syncing %s failed", node[:8])
                await asyncio.sleep(RETRY_S)

    async def _confirm_synced(self, node: NodeId, buckets: frozenset[int]) -> None:
        """Tells a holder that it has been brought to what we have; what their hosts ask follows."""
        self._host_notes.remarked.update(self._host_notes.of_buckets(buckets))
        whole = sorted(b for b in buckets if self._ownership.in_service(b) and not self._ownership.lacks[b])
        if whole:
            await self._peers.ask(node, Whole(0, bitmap_of(whole), [self._ownership.counters[b] for b in whole]))

    def _waiting(self, node: NodeId) -> list[int]:
        return sorted(b for b in self._copying.unsynced(node) if self._ownership.in_service(b))

    async def _bring(self, node: NodeId, buckets: Sequence[int]) -> int:
        """Makes the holder's copies of these buckets what we have; returns about how many rows that took."""
        nonce = os.urandom(16)
        ranges = [Range(bucket, 0, 0) for bucket in buckets]
        rows = 0
        while ranges:
            ours = await self._own.digests(nonce, ranges)
            rows = rows or sum(count for count, _ in ours)
            asked = [wire.WireRange(*r) for r in ranges]
            compared = await self._peers.ask(
                node, Compare(0, nonce, asked, [count for count, _ in ours], [total for _, total in ours])
            )
            if len(compared.differing) != len(compared.counts):
                raise LinkError("it did not compare")
            deeper: list[Range] = []
            leaves: list[Range] = []
            empty: list[int] = []
            for position, theirs in zip(compared.differing, compared.counts, strict=True):
                if not 0 <= position < len(ranges):
                    raise LinkError("it compared what it was not asked for")
                where, here = ranges[position], ours[position][0]
                if not theirs and not where.depth:
                    empty.append(where.bucket)
                elif max(here, theirs) <= LEAF_ROWS or where.depth >= DEPTH_MAX:
                    leaves.append(where)
                else:
                    deeper += split(where)
            if empty:
                await self._send_all(node, empty)
            for start in range(0, len(leaves), MENDED_AT_ONCE):
                await _all(self._mend(node, leaf) for leaf in leaves[start : start + MENDED_AT_ONCE])
            ranges = deeper
        return rows

    async def _send_all(self, node: NodeId, buckets: list[int]) -> None:
        """Sends all rows of these buckets to a holder that has nothing of them."""
        after = 0
        while True:
            rows, after = await self._own.rows_of(buckets, after, SEND_ROWS)
            if not rows:
                return
            await self._send(node, [copy_of_row(row, self._own.bucket_of(row)) for row in rows])

    async def _mend(self, node: NodeId, where: Range) -> None:
        """Lists both sides of a small range; sends what they lack, takes in what we lack."""
        listed = await self._peers.ask(node, ListKeys(0, [wire.WireRange(*where)]))
        theirs = _keys_of(listed)
        ours = {(hi, lo, job): stamp for hi, lo, job, stamp in await self._own.keys([where])}
        lacking = [key for key, stamp in ours.items() if adds(stamp, theirs.get(key, -1))]
        for start in range(0, len(lacking), SEND_ROWS):
            found = await self._own.rows_by_key(where.bucket, lacking[start : start + SEND_ROWS])
            await self._send(node, [copy_of_row(row, where.bucket) for row in found])
        ahead = [key for key, stamp in theirs.items() if adds(stamp, ours.get(key, -1))]
        for start in range(0, len(ahead), SEND_ROWS):
            part = ahead[start : start + SEND_ROWS]
            keys = b"".join(pack_halves(hi, lo) for hi, lo, _ in part)
            pulled = await self._peers.ask(node, PullKeys(0, where.bucket, keys, [job for _, _, job in part]))
            # What cannot be read stays there: it holds up nobody, and there is nothing to compare it with.
            await self._own.adopt(rows_of_copies(pulled.rows)[0])

    async def _send(self, node: NodeId, rows: list[CopyRow]) -> None:
        await self._links_first.safe()
        for part in in_messages(rows):
            await self._send_copies(node, part, [])


async def _all(works: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Does these side by side. Raises what the first of them raised, when all have ended."""
    for raised in await asyncio.gather(*works, return_exceptions=True):
        if raised is not None:
            raise raised


def _keys_of(listed: Listed) -> dict[Key, int]:
    """Raises LinkError for lists of different lengths."""
    if not len(listed.keys) == SIZE * len(listed.jobs) == SIZE * len(listed.stamps):
        raise LinkError("the lists of keys have different lengths")
    return {
        (*halves(listed.keys[n * SIZE : n * SIZE + SIZE]), job): stamp
        for n, (job, stamp) in enumerate(zip(listed.jobs, listed.stamps, strict=True))
    }
