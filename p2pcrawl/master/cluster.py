"""A master among masters: the parts of its place in the cluster, made one, and what it answers the others."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from math import inf
from typing import Any

from p2pcrawl.core.membership_output import Event, EventKind
from p2pcrawl.core.ownership import Change, Ownership
from p2pcrawl.master.admission import start_of
from p2pcrawl.master.budgets import Budgets
from p2pcrawl.master.completion import Completion
from p2pcrawl.master.dispatch import Dispatch, Hold, Parcel
from p2pcrawl.master.holdings import Holdings
from p2pcrawl.master.job import CANCELLED, FINISHED, INCOMPLETE, RUNNING, Job
from p2pcrawl.master.master import Master
from p2pcrawl.master.mirroring import Mirroring
from p2pcrawl.master.orphans import Orphanage
from p2pcrawl.master.spool import Spool
from p2pcrawl.master.takeover import CALL_S, CLAIM_RETRY_S, Takeover
from p2pcrawl.master.upkeep import Upkeep
from p2pcrawl.model.errors import LinkError, P2PCrawlError
from p2pcrawl.model.node import Member, NodeId
from p2pcrawl.model.placement import RingName
from p2pcrawl.overlay.node import OverlayNode
from p2pcrawl.wire.cluster import (
    Answered,
    Borrow,
    Claim,
    Compare,
    Copy,
    Discover,
    Drop,
    JobMarks,
    ListKeys,
    Merge,
    MirrorJob,
    Offer,
    Pull,
    PullCopies,
    PullKeys,
    Query,
    Quiet,
    Repay,
    Reply,
    Settled,
    Standing,
    Taken,
    Whole,
)

log = logging.getLogger(__name__)

ROUND_S = 0.5
"""Between two looks at whether a job is finished."""
PATIENCE_S = 30.0
"""How long one that was here before waits for those that it knew before it serves what they may have."""
STOOD_STILL_S = 4.5
"""A master whose loop stood still for so long may have been taken for dead, and its slaves have stopped."""
LOOKING_S = 5.0
"""How long one that knows of others looks for them before it begins alone."""
LOOK_S = 0.5
VIEW_S = 0.05
"""Between two views that are taken."""
QUIET_S = 0.3
"""After so long without another newcomer those that came are taken into the view: longer than between two rounds of
gossip."""
COMING_S = 2.0
"""No newcomer waits longer for others that follow it."""
COME_S = 1.0
"""How long a claim in a view that is not ours yet waits for us to come to it."""
Answer = Callable[[str, bytes], Awaitable[bytes]]
"""Answers the questions of faces: what, with JSON arguments; JSON back."""


class Cluster:
    """See the module. ``start`` after the master and the holdings are open; ``close`` before they close."""

    def __init__(
        self,
        master: Master,
        node: OverlayNode,
        holdings: Holdings,
        copies: int,
        answer: Answer,
        *,
        ring: RingName = RingName.RENDEZVOUS,
        majority: bool = False,
    ) -> None:
        """``majority``: the smaller part of a divided cluster grants nothing, from when it finds most out of reach."""
        self.master = master
        self.node = node
        self.holdings = holdings
        self.ownership = Ownership(node.id, copies, ring, keeps=True)
        self.ownership.recall(holdings.standings)
        self._answer = answer
        self._majority = majority
        self.upkeep = Upkeep(master, node, self.ownership, holdings, copies, self._call)
        self.copying, self.copier = self.upkeep.copying, self.upkeep.copier
        self.dispatch = Dispatch(self.ownership.owner, self._deliver, master.take_back)
        self.budgets = Budgets(master.workbench, master.jobs, self.ownership, self._call)
        self.spool = Spool(holdings, self.ownership, self.copying, master, self._deliver)
        self.dispatch.keep = self.spool.keep
        self.takeover = Takeover(
            master, node, self.ownership, holdings, self.copier, self._served, self.upkeep.emptied, self.upkeep.moved
        )
        self.orphanage = Orphanage(master, self.ownership, self.dispatch, self._call)
        master.slaves.on_orphans = self.orphanage.take
        self.completion = Completion(node, self._standing, self._close)
        master.join_cluster(self.ownership, self.dispatch, self.budgets, self.copier)
        self.on_change: Callable[[Change], None] = lambda change: None
        """Told of each change of the view, when the master knows of it."""
        self.on_quiet: Callable[[Job], Awaitable[None]] = self._finish
        """Told of a job of which nothing is left to do."""
        self._looking = False
        """Others are being looked for: till they are found, or it is clear that nobody is there, nothing is granted."""
        self._apart = False
        """Most of the others are out of reach, and the smaller part grants nothing."""
        self._changed = asyncio.Event()
        self._turned = asyncio.Event()
        """Set for a moment when a view is taken."""
        self._expected: Counter[int] = Counter()
        """The views in which others claim, and wait for us to come to them."""
        self._came_at = -inf
        """When others last came or went."""
        self._tasks: list[asyncio.Task[None]] = []
        self._boots: dict[NodeId, bytes] = {}
        self._stores: dict[NodeId, bytes] = {}
        self.mirroring = Mirroring(master, node, self._boots, self._call)
        self.starting: set[int] = set()
        """Jobs whose first record is not at its owner yet: they are not finished, though nobody has any of them."""

    def start(self, *, looking: bool = False) -> None:
        """``looking``: there may be others, who are being looked for."""
        loop = asyncio.get_running_loop()
        if self.node.membership.missing() and self.holdings.standings:
            self.ownership.patient = True
            loop.call_later(PATIENCE_S, self._wait_no_longer)
        if looking or self.node.membership.missing():
            self._looking = self.ownership.settling = True
            loop.call_later(LOOKING_S, self._look_no_longer)
        self._take_view()
        runs = (self._follow_views(), self._watch_jobs(), self._watch_clock(), self.upkeep.patrol(), self.spool.run())
        self._tasks = [asyncio.create_task(run) for run in runs]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.takeover.close()
        await self.upkeep.close()
        await self.dispatch.close()
        await self.budgets.close()

    def happened(self, event: Event) -> None:
        """The membership told of something."""
        if event.kind is not EventKind.SUSPECTED:
            self._changed.set()

    # -- views --------------------------------------------------------------------------------

    async def _follow_views(self) -> None:
        while True:
            await self._changed.wait()
            await self._let_them_come()
            self._changed.clear()
            self._take_view()
            await asyncio.sleep(VIEW_S)

    async def _let_them_come(self) -> None:
        """While one newcomer follows the other, waits till nobody came for a moment: each view costs a word with all.

        Nothing is waited for when one comes alone, when anybody has gone, or when somebody claims in the view that we
        would take.
        """
        now = asyncio.get_running_loop().time
        alone = not self._looking and now() >= self._came_at + QUIET_S
        until = quiet_at = now() + COMING_S
        seen = None
        while not alone and self._only_come() and (view := self.node.membership.view_digest) not in self._expected:
            if view != seen:
                seen, quiet_at = view, now() + QUIET_S
            self._changed.clear()
            try:
                async with asyncio.timeout_at(min(quiet_at, until)):
                    await self._changed.wait()
            except TimeoutError:
                break
        self._came_at = now()

    def _only_come(self) -> bool:
        """Whether all that our view has are there as they were, and others besides."""
        living = {member.id: member for member in self.node.members()}
        had = self.ownership.weights
        return len(living) > len(had) and all(
            node in living and living[node].weight == weight and not living[node].drained
            for node, weight in had.items()
        )

    async def _come_to(self, view: int) -> None:
        """Somebody claims in this view: waits a while till it is ours, for most often the news is under way."""
        if view == self.ownership.view:
            return
        self._expected[view] += 1
        try:
            if view == self.node.membership.view_digest:
                self._changed.set()
            async with asyncio.timeout(COME_S):
                while view != self.ownership.view:
                    await self._turned.wait()
        except TimeoutError:
            log.debug("did not come to view %016x", view)
        finally:
            self._expected[view] -= 1
            if not self._expected[view]:
                del self._expected[view]

    def _take_view(self) -> None:
        members, view = self.node.members(), self.node.membership.view_digest
        if not members:
            # All have left, and we with them: nothing is anybody's.
            return
        for member in members:
            if self._boots.get(member.id) != member.boot:
                # It has restarted, or is new: what it was told before may be gone.
                self._boots[member.id] = member.boot
                self.mirroring.restarted(member.id)
                self.upkeep.restarted(member.id)
                self.budgets.came(member.id, member.boot)
            if self._stores.setdefault(member.id, member.store) != member.store:
                # What was settled there is gone with its disk: slaves may report it again.
                self._stores[member.id] = member.store
                self.master.slaves_forget()
        gone = set(self._boots) - {m.id for m in members}
        for node in gone:
            del self._boots[node]
        if view == self.ownership.view and self.ownership.table:
            self.upkeep.members_changed(members)
        else:
            self._change_view(members, view, gone)
        self._stay_with_most()

    def _change_view(self, members: list[Member], view: int, gone: set[NodeId]) -> None:
        change = self.ownership.change(members, view)
        self._turned.set()
        self._turned.clear()
        # Views come back, and what was dropped in one may have been copied in the next.
        self.upkeep.moved(change.gained | change.lost)
        if len(members) > 1:
            self._looking = False
        self._pause()
        if not self.node.membership.missing():
            self.ownership.patient = False
        self.upkeep.hold_back(len([m for m in members if not m.drained]))
        log.info(
            "view %016x of %d masters: %d buckets gained, %d lost",
            view,
            len(members),
            len(change.gained),
            len(change.lost),
        )
        self.master.view_changed(change, died=bool(gone))
        self.upkeep.members_changed(members)
        self.dispatch.reroute()
        self.budgets.members_changed({m.id for m in members})
        if not self._looking:
            # Whoever is alone for a moment only must not begin epochs that nobody else ever hears of.
            self.takeover.view_changed(change, gone)
        self.on_change(change)

    def _stay_with_most(self) -> None:
        """Grants nothing while most of the masters are out of reach, where that is wanted."""
        apart = self._majority and not self.node.membership.reaches_most
        if apart == self._apart:
            return
        self._apart = apart
        self._pause()
        if apart:
            log.warning("most of the masters are out of reach: nothing is granted")
        else:
            self._claim_anew("most of the masters are in reach again")

    def _claim_anew(self, why: str) -> None:
        """Others may have taken over what we take for our own."""
        log.warning("%s: all buckets are claimed anew", why)
        change = self.ownership.claim_anew()
        self.upkeep.moved(change.gained)
        self.master.view_changed(change, died=False)
        self.takeover.claim(change)

    def _look_no_longer(self) -> None:
        """Nobody is there, or the claims of the common view say what may be served."""
        if self._looking and len(self.node.members()) > 1:
            # Somebody was found while we waited for others that follow.
            self._take_view()
        self.ownership.settling = False
        if self._looking:
            self._looking = False
            self._pause()
            self.takeover.claim(self.ownership.claim_anew())

    def _pause(self) -> None:
        """Whether nothing is to be granted, whatever is ours."""
        self.ownership.paused = self._looking or self._apart

    def _wait_no_longer(self) -> None:
        if self.ownership.patient:
            self.ownership.patient = False
            if broken := self.ownership.broken():
                log.warning("%d buckets are served though nobody has come who has all of them", len(broken))
            self.master.serve_buckets(())

    async def _served(self, buckets: frozenset[int]) -> None:
        """Buckets are ours and complete, as far as anybody lives who knows of them."""
        # Who handed them over has made copies of them, and may have been told before.
        self.upkeep.moved()
        self.copying.doubt(buckets)
        # At once: from now on pages are granted, and their hosts may have been asked a moment ago.
        self.master.serve_buckets(buckets)
        await self.holdings.note(self.ownership.standings(buckets))
        self.upkeep.sync()

    async def _watch_clock(self) -> None:
        """Notices that this process stood still: then others may have taken over what it takes for its own."""
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(LOOK_S)
            stood_s = loop.time() - before - LOOK_S
            if stood_s > STOOD_STILL_S and len(self.node.members()) > 1:
                self._claim_anew(f"stood still for {stood_s:.1f} s")

    # -- what others ask ----------------------------------------------------------------------

    def figures(self) -> dict[str, int]:
        """For the faces."""
        return {
            "unsynced": self.copying.lacking(),
            "uncopied": self.copier.under_way,
            "spooled": self.spool.size,
            "held": self.holdings.count,
            "not_whole": len(self.ownership.broken()),
        }

    async def serve(self, request: Any, sender: NodeId) -> Reply:
        """Answers another member."""
        match request:
            case Discover():
                return await self.master.arrive(request.job, request.links, request.networks)
            case Copy():
                await self.master.learn_networks(request.networks)
                return await self.holdings.copy(request)
            case Claim():
                await self._come_to(request.view)
                return await self.takeover.let_go(request, sender)
            case Pull():
                return await self.takeover.pull(request)
            case PullCopies():
                return await self.takeover.pull_copies(request)
            case Taken():
                return await self.takeover.taken(request, sender)
            case Offer():
                return self.takeover.offered(request, sender)
            case Compare():
                return await self.holdings.compare(request)
            case ListKeys():
                return await self.holdings.list_keys(request)
            case PullKeys():
                return await self.holdings.pull_keys(request)
            case Whole():
                return await self.upkeep.whole(request)
            case Drop():
                return await self.upkeep.drop(request)
            case Merge():
                return await self.master.merge(request.rows)
            case MirrorJob():
                return await self.mirroring.mirror(request, sender)
            case JobMarks():
                return self.mirroring.compare(request, sender)
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

    def _standing(self, number: int) -> Standing:
        job = self.master.jobs.get(number)
        moving = self.ownership.syncing > 0 or not self.ownership.complete or self.takeover.unclaimed
        waits = moving or self.ownership.patient
        busy = int(waits or number in self.starting) + self.copier.under_way + self.copying.lacking()
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

    async def _call(self, node: NodeId, request: Any) -> Any:
        member = self.node.living(node)
        if member is None:
            raise LinkError(f"{node[:8]} is not a member any more")
        if isinstance(request, Copy):
            request.networks = self.master.opened_networks({row.job for row in request.rows})
        return await self.node.caller.call(member.address, request, CALL_S)

    async def _deliver(self, owner: NodeId, batch: Discover) -> Settled:
        job = self.master.jobs.get(batch.job)
        batch.networks = list(job.spec.open_networks) if job is not None else []
        reply = await self._call(owner, batch)
        if not isinstance(reply, Settled):
            raise LinkError(f"{owner[:8]} did not settle the links")
        return reply

    async def spread(self, job: Job, enough: int | None = None) -> list[str]:
        """Tells every living member of a job; why each that refused did so.

        Returns when all have answered, or when ``enough`` have it on disk and the others have had their time; asks
        again as long as there are fewer. The rest hears of it later.
        """
        return await self.mirroring.spread(job, enough)

    def withdraw(self, job: Job, reason: str) -> None:
        """Ends a job that cannot begin, here and before long at those who were told of it already."""
        self.master.workbench.halt_job(job.id)
        self.master.finish(job, CANCELLED, reason)

    def has_heirs(self) -> bool:
        """Whether anybody is there, and stays, who can take what is ours."""
        return any(not member.drained for member in self.node.members() if member.id != self.node.id)

    async def drain(self, patience_s: float) -> bool:
        """Gives all buckets to the others; whether they have everything, so that nothing is missed when we leave."""
        if not self.has_heirs():
            return False
        self.node.gossip.update_me(drained=True)
        self._take_view()
        until = asyncio.get_running_loop().time() + patience_s
        while asyncio.get_running_loop().time() < until:
            if not self.has_heirs():
                return False
            # Owners tell to drop copies when enough others have them.
            if not self.ownership.owned and not self.holdings.count and await self.master.empty_handed():
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

    # -- jobs ---------------------------------------------------------------------------------

    async def _watch_jobs(self) -> None:
        """Keeps every member told of every job; decides, where it falls to us, that one is finished."""
        while True:
            await asyncio.sleep(ROUND_S)
            self.budgets.tend()
            self.upkeep.sync()
            self.upkeep.tell_of_hosts()
            try:
                await self.mirroring.tell_missing()
                await self.upkeep.tell_to_drop()
                await self.takeover.offer_unclaimed()
                if self.completion.may_ask(asyncio.get_running_loop().time()):
                    for job in [j for j in self.master.jobs.values() if j.state in (RUNNING, INCOMPLETE)]:
                        if await self.completion.is_finished(job):
                            await self.on_quiet(job)
            except P2PCrawlError as error:
                log.debug("looking after jobs: %s", error)
            except Exception:
                log.exception("looking after jobs failed")

    async def _finish(self, job: Job) -> None:
        self.master.finish(job, FINISHED, job.closing)
        await self.spread(job)
