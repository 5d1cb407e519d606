"""A master among masters: what it tells the others, what it answers them, and how buckets change hands.

When the view changes, every master computes the new table by itself. Who gains a bucket claims it from all others; each
lets go once its own view agrees and its leases there have ended, hands over its rows page by page, and forgets
them when they are durable with the claimer. Only then is the bucket served. A claim holds in the view that it was made
in: when the view changes it begins anew, and rows are forgotten only by who let go of them and did not gain them back.

A job is finished when two rounds, the second begun after the first ended, find every member idle with equal counts in
one view.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from p2pcrawl.core.membership_output import Event, EventKind
from p2pcrawl.core.ownership import Change, Ownership
from p2pcrawl.core.ring import BUCKETS
from p2pcrawl.master.budgets import Budgets
from p2pcrawl.master.dispatch import Dispatch, Hold, Parcel
from p2pcrawl.master.job import CANCELLED, FINISHED, RUNNING, Job, spec_of_wire
from p2pcrawl.master.master import Master, start_of
from p2pcrawl.model.errors import LinkError, P2PCrawlError
from p2pcrawl.model.node import Member, NodeId
from p2pcrawl.overlay.node import OverlayNode
from p2pcrawl.wire.cluster import (
    Answered,
    Borrow,
    Claim,
    Discover,
    Forgotten,
    Mirrored,
    MirrorJob,
    Offer,
    Offered,
    Pull,
    Pulled,
    Query,
    Quiet,
    Released,
    Repay,
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
OFFER_S = 2.0
"""After a change of the view, before what nobody claimed of us is offered; and between offers."""
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
        self.budgets = Budgets(master.workbench, master.jobs, self.ownership, self._call)
        master.join_cluster(self.ownership, self.dispatch, self.budgets)
        self._changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._claims: dict[NodeId, asyncio.Task[None]] = {}
        self._mirrored: dict[NodeId, dict[int, int]] = {}
        self._boots: dict[NodeId, bytes] = {}
        self._stores: dict[NodeId, bytes] = {}
        self._let_go_of: dict[NodeId, frozenset[int]] = {}
        """What each claimer may tell us to forget."""
        self._unclaimed: frozenset[int] = frozenset()
        """Buckets that we had and that nobody has taken from us yet."""
        self._offer_at = 0.0
        self.starting: set[int] = set()
        """Jobs whose first record is not at its owner yet: they are not finished, though nobody has any of them."""
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
        await self.budgets.close()

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
            if self._stores.setdefault(member.id, member.store) != member.store:
                # What was settled there is gone with its disk: slaves may report it again.
                self._stores[member.id] = member.store
                self.master.view_changed(Change(), died=True)
        gone = set(self._boots) - {m.id for m in members}
        for node in gone:
            del self._boots[node]
            self._let_go_of.pop(node, None)
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
        for node, buckets in list(self._let_go_of.items()):
            self._let_go_of[node] = buckets - change.gained
        self._unclaimed = (self._unclaimed - change.gained) | change.lost
        self._offer_at = self.master.now + OFFER_S
        self.master.view_changed(change, died=bool(gone))
        self.dispatch.reroute()
        self.budgets.members_changed({m.id for m in members})
        for node in change.ask:
            self._claim_from(node)

    async def _offer_unclaimed(self) -> None:
        """An owner whose own view did not change does not know that there is something to claim."""
        if not self._unclaimed or self.master.now < self._offer_at:
            return
        self._offer_at = self.master.now + OFFER_S
        by_owner: dict[NodeId, list[int]] = {}
        for bucket in self._unclaimed:
            by_owner.setdefault(self.ownership.owner_id(bucket), []).append(bucket)
        for node, buckets in sorted(by_owner.items()):
            member = self._member(node)
            if member is not None and node != self.node.id:
                await self.node.caller.call(member.address, Offer(0, bitmap_of(buckets)))

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
            except Exception:
                log.exception("a claim from %s failed", node[:8])
                served = None
            if served is None:
                await asyncio.sleep(CLAIM_RETRY_S)
            elif served:
                self.master.serve_buckets(served)

    async def _take_over(self, member: Member, buckets: frozenset[int]) -> frozenset[int] | None:
        """One attempt; the buckets that are served from now on, or None when the other does not agree yet."""
        bitmap, call, view = bitmap_of(buckets), self.node.caller.call, self.ownership.view
        released = await call(member.address, Claim(0, view, bitmap), CALL_S)
        if not isinstance(released, Released) or not released.agreed:
            return None
        after = 0
        while True:
            page = await call(member.address, Pull(0, bitmap, after), CALL_S)
            if not isinstance(page, Pulled):
                raise LinkError(f"{member.address} did not hand over")
            if self.ownership.view != view or any(row.job not in self.master.jobs for row in page.rows):
                return None
            if page.rows:
                await self.master.adopt(page.rows)
                self.handovers += len(page.rows)
            if page.last:
                break
            after = page.after
        await call(member.address, Taken(0, bitmap), CALL_S)
        if self.ownership.view != view:
            return None
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
                return await self._let_go(request, sender)
            case Pull():
                buckets = buckets_of(request.buckets)
                rows, after = await self.master.rows_of(buckets, request.after, PULL_ROWS)
                return Pulled(0, rows, after, len(rows) == 0)
            case Taken():
                released = self._let_go_of.get(sender, frozenset())
                free = released & buckets_of(request.buckets)
                self._let_go_of[sender] = released - free
                await self.master.forget_rows(free)
                self._unclaimed -= free
                return Forgotten(0)
            case Offer():
                if self.ownership.offered(sender, buckets_of(request.buckets)):
                    self._claim_from(sender)
                return Offered(0)
            case MirrorJob():
                return await self._mirror(request)
            case Borrow():
                return await self.budgets.lend(request, sender)
            case Repay():
                return self.budgets.repaid(request, sender)
            case Quiet():
                if request.closing:
                    self._close(request.job, request.closing)
                return self._standing(request.job)
            case Query():
                return Answered(0, await self._answer(request.what, request.arguments))
        raise P2PCrawlError(f"this master does not know {type(request).__name__}")

    async def _let_go(self, claim: Claim, claimer: NodeId) -> Released:
        self._take_view()
        buckets = buckets_of(claim.buckets)
        if claim.view != self.ownership.view or any(self.ownership.owner(b) is None for b in buckets):
            return Released(0, False)
        if not await self.master.released(buckets) or claim.view != self.ownership.view:
            return Released(0, False)
        self._let_go_of[claimer] = buckets
        return Released(0, True, [self.ownership.counters[b] for b in sorted(buckets)])

    async def _mirror(self, request: MirrorJob) -> Mirrored:
        refusal = await self.master.mirror(spec_of_wire(request.job), request.state, request.reason, request.version)
        return Mirrored(0, refusal)

    def _standing(self, number: int) -> Standing:
        job = self.master.jobs.get(number)
        busy = int(self.ownership.syncing > 0 or not self.ownership.complete or number in self.starting)
        if job is None:
            return Standing(0, False, busy, 0, 0, self.ownership.view)
        return Standing(
            0,
            True,
            busy + self.master.busy(job),
            self.dispatch.sent[number],
            self.master.exchange.received[number],
            self.ownership.view,
            job.closing,
        )

    def _close(self, number: int, reason: str) -> None:
        """A spider closed at one master closes everywhere."""
        job = self.master.jobs.get(number)
        if job is not None and job.state == RUNNING and not job.closing:
            job.closing = reason
            self.master.workbench.halt_job(number)

    # -- what we tell others ------------------------------------------------------------------

    async def _call(self, node: NodeId, request: Borrow | Repay) -> object:
        member = self._member(node)
        if member is None:
            raise LinkError(f"{node[:8]} is not a member any more")
        return await self.node.caller.call(member.address, request, CALL_S)

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

    def withdraw(self, job: Job, reason: str) -> None:
        """Ends a job that cannot begin, here and before long at those who were told of it already."""
        self.master.workbench.halt_job(job.id)
        self.master.finish(job, CANCELLED, reason)

    async def drain(self, patience_s: float) -> bool:
        """Gives all buckets to the others; whether they have everything, so that nothing is missed when we leave."""
        if len(self.node.members()) < 2:
            return False
        self.node.gossip.update_me(drained=True)
        self._take_view()
        until = asyncio.get_running_loop().time() + patience_s
        while asyncio.get_running_loop().time() < until:
            if all(member.drained for member in self.node.members()):
                return False
            if not self.ownership.owned and await self.master.empty_handed():
                return True
            await asyncio.sleep(CLAIM_RETRY_S)
        return False

    async def begin(self, job: Job) -> None:
        """Hands the job's first record to its owner; durable there when this returns."""
        found = start_of(job)
        bucket = self.master.bucket_of_found(job, found)
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
            self.budgets.tend()
            try:
                await self._mirror_missing()
                await self._offer_unclaimed()
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
        replies = await asyncio.gather(
            *(self.node.caller.call(m.address, Quiet(0, job.id, job.closing)) for m in others), return_exceptions=True
        )
        for reply in replies:
            if isinstance(reply, Standing) and reply.closing:
                self._close(job.id, reply.closing)
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
