"""A master among masters: what it tells the others, what it answers them, and how buckets change hands.

When the view changes, every master computes the new table by itself. Who gains a bucket claims it from all others; each
lets go once its own view agrees and its leases there have ended, hands over its rows page by page, and forgets
them when they are durable with the claimer. Only then is the bucket served. A job is finished when two rounds, the second
begun after the first ended, find every member idle with equal counts in one view.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from p2pcrawl.core.membership_output import Event, EventKind
from p2pcrawl.core.ownership import Ownership
from p2pcrawl.core.ring import BUCKETS
from p2pcrawl.master.dispatch import Dispatch, Hold, Parcel
from p2pcrawl.master.job import FINISHED, RUNNING, Job, spec_of_wire
from p2pcrawl.master.master import Master, start_of
from p2pcrawl.model.errors import LinkError, P2PCrawlError
from p2pcrawl.model.node import Member, NodeId
from p2pcrawl.overlay.node import OverlayNode
from p2pcrawl.wire.cluster import (
    Answered,
    Claim,
    Discover,
    Forgotten,
    MirrorJob,
    Mirrored,
    Pull,
    Pulled,
    Query,
    Quiet,
    Released,
    Reply,
    Settled,
    Standing,
    Taken,
)

log = logging.getLogger(__name__)

CLAIM_RETRY_S = 0.25
PULL_ROWS = 2_000
ROUND_S = 0.5
"""Between two looks at whether a job is finished."""
CALL_S = 30.0

Answer = Callable[[str, bytes], Awaitable[bytes]]
"""Answers the questions of faces: what, with JSON arguments; JSON back."""


class Cluster:
    """See the module. ``start`` after the master is open; ``close`` before it closes."""

    def __init__(self, master: Master, node: OverlayNode, copies: int, answer: Answer) -> None:
        self.master = master
        self.node = node
        self.ownership = Ownership(node.id, copies)
        self._answer = answer
        self.dispatch = Dispatch(self.ownership.owner, self._deliver, master.take_back)
        master.join_cluster(self.ownership, self.dispatch)
        self._changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._claims: dict[NodeId, asyncio.Task[None]] = {}
        self._mirrored: dict[NodeId, dict[int, int]] = {}
        self._boots: dict[NodeId, bytes] = {}
        self.handovers = 0
        """Rows that came from other masters with their buckets."""

    def start(self) -> None:
        self._take_view()
        self._tasks = [asyncio.create_task(self._follow_views()), asyncio.create_task(self._watch_jobs())]

    async def close(self) -> None:
        tasks = [*self._tasks, *self._claims.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.dispatch.close()

    def happened(self, event: Event) -> None:
        """The membership told of something."""
        if event.kind is not EventKind.SUSPECTED:
            self._changed.set()

    # -- views and buckets --------------------------------------------------------------------

    async def _follow_views(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            self._take_view()
            await asyncio.sleep(0.05)

    def _take_view(self) -> None:
        members, view = self.node.members(), self.node.membership.view_digest
        for member in members:
            if self._boots.get(member.id) != member.boot:
                # It has restarted, or is new: what it was told before may be gone.
                self._boots[member.id] = member.boot
                self._mirrored.pop(member.id, None)
        gone = set(self._boots) - {m.id for m in members}
        for node in gone:
            del self._boots[node]
        if view == self.ownership.view and self.ownership.table:
            return
        change = self.ownership.change(members, view)
        log.info(
            "view %016x of %d masters: %d buckets gained, %d lost",
            view,
            len(members),
            len(change.gained),
            len(change.lost),
        )
        self.master.view_changed(change, died=bool(gone))
        self.dispatch.reroute()
        for node in change.ask:
            self._claim_from(node)

    def _claim_from(self, node: NodeId) -> None:
        task = self._claims.get(node)
        if task is None or task.done():
            self._claims[node] = asyncio.create_task(self._claim(node))

    async def _claim(self, node: NodeId) -> None:
        """Until ``node`` has let go of all that it is waited for, or does not count any more."""
        while buckets := self.ownership.awaited(node):
            member = self._member(node)
            if member is None:
                return
            try:
                served = await self._take_over(member, buckets)
            except P2PCrawlError as error:
                log.debug("claim from %s: %s", node[:8], error)
                served = None
            if served is None:
                await asyncio.sleep(CLAIM_RETRY_S)
            elif served:
                self.master.serve_buckets(served)

    async def _take_over(self, member: Member, buckets: frozenset[int]) -> frozenset[int] | None:
        """One attempt; the buckets that are served from now on, or None when the other does not agree yet."""
        bitmap, call = bitmap_of(buckets), self.node.caller.call
        released = await call(member.address, Claim(0, self.ownership.view, bitmap), CALL_S)
        if not isinstance(released, Released) or not released.agreed:
            return None
        after = 0
        while True:
            page = await call(member.address, Pull(0, bitmap, after), CALL_S)
            if not isinstance(page, Pulled):
                raise LinkError(f"{member.address} did not hand over")
            if page.rows:
                await self.master.adopt(page.rows)
                self.handovers += len(page.rows)
            if page.last:
                break
            after = page.after
        await call(member.address, Taken(0, bitmap), CALL_S)
        ordered = sorted(buckets)
        counters = [0] * BUCKETS
        for bucket, counter in zip(ordered, released.counters, strict=False):
            counters[bucket] = counter
        return self.ownership.released(member.id, buckets, counters)

    # -- what others ask ----------------------------------------------------------------------

    async def serve(self, request: Any, sender: NodeId) -> Reply:
        """Answers another member."""
        match request:
            case Discover():
                return await self.master.arrive(request.job, request.links, request.networks)
            case Claim():
                return await self._let_go(request)
            case Pull():
                buckets = buckets_of(request.buckets)
                rows, after = await self.master.rows_of(buckets, request.after, PULL_ROWS)
                return Pulled(0, rows, after, len(rows) == 0)
            case Taken():
                await self.master.forget_rows(self._not_ours(buckets_of(request.buckets)))
                return Forgotten(0)
            case MirrorJob():
                return await self._mirror(request)
            case Quiet():
                return self._standing(request.job)
            case Query():
                return Answered(0, await self._answer(request.what, request.arguments))
        raise P2PCrawlError(f"this master does not know {type(request).__name__}")

    async def _let_go(self, claim: Claim) -> Released:
        self._take_view()
        buckets = buckets_of(claim.buckets)
        if claim.view != self.ownership.view or any(self.ownership.owner(b) is None for b in buckets):
            return Released(0, False)
        if not await self.master.released(buckets):
            return Released(0, False)
        return Released(0, True, [self.ownership.counters[b] for b in sorted(buckets)])

    def _not_ours(self, buckets: Iterable[int]) -> frozenset[int]:
        return frozenset(b for b in buckets if self.ownership.owner(b) is not None)

    async def _mirror(self, request: MirrorJob) -> Mirrored:
        refusal = await self.master.mirror(spec_of_wire(request.job), request.state, request.reason, request.version)
        return Mirrored(0, refusal)

    def _standing(self, number: int) -> Standing:
        job = self.master.jobs.get(number)
        busy = 1 if self.ownership.syncing else 0
        if job is None:
            return Standing(0, False, busy, 0, 0, self.ownership.view)
        return Standing(
            0,
            True,
            busy + self.master.busy(job),
            self.dispatch.sent[number],
            self.master.exchange.received[number],
            self.ownership.view,
        )

    # -- what we tell others ------------------------------------------------------------------

    async def _deliver(self, owner: NodeId, batch: Discover) -> Settled:
        member = self._member(owner)
        if member is None:
            raise LinkError(f"{owner[:8]} is not a member any more")
        job = self.master.jobs.get(batch.job)
        batch.networks = list(job.spec.open_networks) if job is not None else []
        reply = await self.node.caller.call(member.address, batch, CALL_S)
        if not isinstance(reply, Settled):
            raise LinkError(f"{member.address} did not settle the links")
        return reply

    async def spread(self, job: Job) -> list[str]:
        """Tells every living member of a job; why each that refused did so."""
        others = [m for m in self.node.members() if m.id != self.node.id]
        answers = await asyncio.gather(*(self._tell(m, job) for m in others), return_exceptions=True)
        return [a for a in answers if isinstance(a, str) and a]

    async def begin(self, job: Job) -> None:
        """Hands the job's first record to its owner; durable there when this returns."""
        found = start_of(job)
        bucket = self.master.bucket_of_url(found.url, "host")
        settled = asyncio.Event()
        hold = Hold(0, settled.set)
        parcel = Parcel(found, bucket, hold)
        owner = self.ownership.owner(bucket)
        if owner is None:
            hold.waiting = 1
            self.master.take_back(job.id, [parcel])
        else:
            self.dispatch.add(job.id, owner, parcel)
            self.dispatch.flush()
        await settled.wait()

    async def _tell(self, member: Member, job: Job) -> str:
        request = MirrorJob(0, job.wire(), job.state, job.reason, job.control)
        reply = await self.node.caller.call(member.address, request)
        if isinstance(reply, Mirrored):
            if not reply.refusal:
                self._mirrored.setdefault(member.id, {})[job.id] = job.control
            return reply.refusal
        raise LinkError(f"{member.address} did not mirror the job")

    def _member(self, node: NodeId) -> Member | None:
        member = self.node.membership.members.get(node)
        return member if member is not None and member.living else None

    # -- jobs ---------------------------------------------------------------------------------

    async def _watch_jobs(self) -> None:
        """Keeps every member told of every job; decides, where it falls to us, that one is finished."""
        while True:
            await asyncio.sleep(ROUND_S)
            try:
                await self._mirror_missing()
                for job in [j for j in self.master.jobs.values() if j.state == RUNNING]:
                    if self._decides() and await self._finished(job):
                        self.master.finish(job, FINISHED, job.closing)
                        await self.spread(job)
            except P2PCrawlError as error:
                log.debug("looking after jobs: %s", error)
            except Exception:
                log.exception("looking after jobs failed")

    def _decides(self) -> bool:
        """The member with the smallest id decides that jobs are finished."""
        return self.node.members()[0].id == self.node.id

    async def _mirror_missing(self) -> None:
        for member in self.node.members():
            if member.id == self.node.id:
                continue
            told = self._mirrored.get(member.id, {})
            for job in list(self.master.jobs.values()):
                if told.get(job.id, -1) < job.control:
                    await self._tell(member, job)

    async def _finished(self, job: Job) -> bool:
        """Two quiet rounds, the second begun after the first ended, in one view."""
        first = await self._round(job)
        if first is None:
            return False
        return first == await self._round(job)

    async def _round(self, job: Job) -> tuple[int, int, int] | None:
        """(sent, received, view) if everyone is idle and agrees on the view, else None."""
        standings = [self._standing(job.id)]
        others = [m for m in self.node.members() if m.id != self.node.id]
        if standings[0].busy:
            return None
        replies = await asyncio.gather(
            *(self.node.caller.call(m.address, Quiet(0, job.id)) for m in others), return_exceptions=True
        )
        for reply in replies:
            if not isinstance(reply, Standing) or not reply.known:
                return None
            standings.append(reply)
        view = standings[0].view
        if any(s.busy or s.view != view for s in standings):
            return None
        return sum(s.sent for s in standings), sum(s.received for s in standings), view


def bitmap_of(buckets: Iterable[int]) -> bytes:
    bits = bytearray(BUCKETS // 8)
    for bucket in buckets:
        bits[bucket >> 3] |= 1 << (bucket & 7)
    return bytes(bits)


def buckets_of(bitmap: bytes) -> frozenset[int]:
    """Raises LinkError for a bitmap of another size."""
    if len(bitmap) != BUCKETS // 8:
        raise LinkError(f"a bitmap of buckets has {BUCKETS // 8} bytes, not {len(bitmap)}")
    return frozenset(i * 8 + j for i, byte in enumerate(bitmap) if byte for j in range(8) if byte >> j & 1)
