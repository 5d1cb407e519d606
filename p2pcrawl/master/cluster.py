"""A master among masters: the parts of its place in the cluster, made one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from p2pcrawl.core.buckets.ownership import Change, Ownership
from p2pcrawl.core.hosts import politeness
from p2pcrawl.core.membership.output import Event, EventKind
from p2pcrawl.core.ring.rendezvous import bucket_of_hash
from p2pcrawl.master.buckets.caution import Caution
from p2pcrawl.master.buckets.farewell import Farewell
from p2pcrawl.master.buckets.takeover import CLAIM_RETRY_S, Takeover
from p2pcrawl.master.buckets.view_changes import Turn, Views
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.master.copies.upkeep import Upkeep
from p2pcrawl.master.jobs.admission import start_of
from p2pcrawl.master.jobs.completion import Completion
from p2pcrawl.master.jobs.job import CANCELLED, FINISHED, INCOMPLETE, RUNNING, Job
from p2pcrawl.master.jobs.mirroring import Mirroring
from p2pcrawl.master.links.dispatch import Dispatch, Hold, Parcel
from p2pcrawl.master.links.spool import Spool
from p2pcrawl.master.loans.budgets import Budgets
from p2pcrawl.master.majority.mandate import Mandate
from p2pcrawl.master.majority.roll import Roll
from p2pcrawl.master.master import Master
from p2pcrawl.master.slaves.orphans import Orphanage
from p2pcrawl.model.cluster.node import Member, NodeId
from p2pcrawl.model.cluster.placement import RingName
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.errors import LinkError, P2PCrawlError
from p2pcrawl.overlay.peers import Peers
from p2pcrawl.overlay.port import Port
from p2pcrawl.wire.messages.peer_messages import (
    Discover,
    HostNote,
    Settled,
    Standing,
)

log = logging.getLogger(__name__)

ROUND_S = 0.5
"""Between two looks at whether a job is finished."""
PART_S = 8.0
"""How long one that leaves is a voter still, at most: a change of the voters may have to wait for the one before."""

Step = Callable[[Turn, Change], None]
"""What a part does when the view changes."""


class Cluster:
    """See the module. ``start`` after the master and the holdings are open; ``close`` before they close."""

    def __init__(
        self,
        master: Master,
        peers: Peers,
        port: Port,
        holdings: Holdings,
        copies: int,
        *,
        ring: RingName = RingName.RENDEZVOUS,
        roll: Roll | None = None,
    ) -> None:
        """With a ``roll`` nothing is granted without the consent of most of those on it."""
        self.master = master
        self.peers = peers
        self.holdings = holdings
        self.ownership = Ownership(peers.me, copies, ring, keeps=True)
        self.ownership.recall(holdings.standings)
        self.upkeep = Upkeep(master, peers, self.ownership, holdings, copies)
        self.copying, self.copier = self.upkeep.copying, self.upkeep.copier
        self.dispatch = Dispatch(self.ownership.owner, self._deliver, master.take_back)
        self.budgets = Budgets(master.workbench, master.jobs, self.ownership, peers)
        self.spool = Spool(holdings, self.ownership, self.copying, master, self._deliver)
        self.dispatch.keep = self.spool.keep
        self.takeover = Takeover(
            master, peers, self.ownership, holdings, self.copier, self._served, self.upkeep.emptied, self.upkeep.moved
        )
        self.caution = Caution(master, peers, self.ownership, self.upkeep, self.takeover, majority=roll is not None)
        self.mandate: Mandate | None = None
        if roll is not None:
            told = self.caution.agreed, master.serve_buckets, master.slaves.halt, master.fail
            self.mandate = Mandate(peers, port, self.ownership, roll, *told)
        self.views = Views(peers, self.ownership, self.caution, self._turn)
        self.mirroring = Mirroring(master, peers, self.views.boots)
        self.orphanage = Orphanage(master, self.ownership, self.dispatch, peers, self.learn, self.close_job)
        master.slaves.on_orphans = self.orphanage.take
        self.farewell = Farewell(master, self.ownership, holdings, self.takeover, self.spool, self.mirroring)
        self.completion = Completion(peers, self.standing, self.close_job)
        master.join_cluster(self.ownership, self.dispatch, self.budgets, self.copier)
        self.on_change: Callable[[Change], None] = lambda change: None
        """Told of each change of the view, when the master knows of it."""
        self.on_quiet: Callable[[Job, int], Awaitable[None]] = self._finish
        """Told of a job of which nothing is left to do."""
        self._tasks: list[asyncio.Task[None]] = []
        self.starting: set[int] = set()
        """Jobs whose first record is not at its owner yet: they are not finished, though nobody has any of them."""

    def start(self, *, looking: bool = False, founds: bool = False) -> None:
        """``looking``: there may be others, who are being looked for. ``founds``: nobody was named to join."""
        missing = bool(self.peers.missing())
        if missing and self.holdings.standings:
            self.caution.wait_for_missing()
        self.views.start(looking=looking or missing)
        runs = (
            self.views.follow(),
            self._watch_jobs(),
            self.caution.watch_clock(),
            self.upkeep.patrol(),
            self.spool.run(),
        )
        self._tasks = [asyncio.create_task(run) for run in runs]
        if self.mandate is not None:
            self._tasks.append(asyncio.create_task(self.mandate.run(founds=founds)))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.mandate is not None:
            await self.mandate.suffrage.close()
        await self.takeover.close()
        await self.upkeep.close()
        await self.dispatch.close()
        await self.budgets.close()

    def happened(self, event: Event) -> None:
        """The membership told of something."""
        if event.kind is EventKind.OUTLIVED:
            self.master.outlive_sessions()
        elif event.kind is EventKind.FORGOTTEN and self.mandate is not None:
            self.mandate.suffrage.forgotten(event.member.id)
        self.views.happened(event)

    # -- views --------------------------------------------------------------------------------

    def _turn(self, turn: Turn) -> None:
        """Acts in a view that was taken: first as to those in it that are not what they were, then as to buckets."""
        for node in turn.restarted:
            # What it was told before may be gone.
            self.mirroring.restarted(node)
            self.upkeep.restarted(node)
            self.budgets.came(node, self.views.boots[node])
        if turn.wiped:
            # What was settled there is gone with its disk: slaves may report it again.
            self.master.slaves_forget()
        if turn.change is None:
            # The same members, of whom one may have another disk: what it held is brought to it again.
            self.upkeep.members_changed(turn.members)
        else:
            self._change_view(turn, turn.change)

    def _change_view(self, turn: Turn, change: Change) -> None:
        for step in self._steps():
            step(turn, change)

    def _steps(self) -> tuple[Step, ...]:
        """Lists what follows a change of the view, first to last. A part that has to know of it is one more line here.

        The ownership acts in the new view already. Nothing is awaited before the last step is done: nobody is answered
        in between, and a task that a step begins finds all parts in the new view.
        """
        return (
            # What was known of the old view is forgotten: views come back, and what others dropped in one may have been
            # copied to them in the next.
            lambda turn, change: self.upkeep.moved(change.gained | change.lost),
            # Before all who grant or claim: this says whether they may.
            lambda turn, change: self.caution.view_changed(turn.members),
            # Before holders are told apart anew: this says whether they are brought up to date now, or most are waited
            # for.
            lambda turn, change: self.upkeep.hold_back(len([m for m in turn.members if not m.leaving])),
            # What is lost leaves the bench before anything comes to it by the steps below.
            lambda turn, change: self.master.view_changed(change, died=bool(turn.gone)),
            # What waited for the dead alone is acknowledged here, as provisional where too few are left: their pages
            # end, and go to the bench that is left.
            lambda turn, change: self.upkeep.members_changed(turn.members),
            # Links go to their new owners; those that have become our own, to the bench.
            lambda turn, change: self.dispatch.reroute(),
            # Whoever came back in another life was told apart before (``_turn``), and its loans are over; those of the
            # dead end when their slaves must have stopped.
            lambda turn, change: self.budgets.members_changed({m.id for m in turn.members}),
            # After all that may still hold what is lost: whoever claims it is asked for it from here on.
            self._claim,
            # Hosts that a dead master knew are asked about in the directory: of those at the bench, as it is now.
            lambda turn, change: self.on_change(change),
            # Last: consent is asked for what is ours by now, when all that is lost has been given up; and where most
            # agree at once all is claimed anew, which must not come before the claims of this view.
            self._seek_consent,
        )

    def _claim(self, turn: Turn, change: Change) -> None:
        if not self.caution.looking:
            # Whoever is alone for a moment only must not begin epochs that nobody else ever hears of.
            self.takeover.view_changed(change, turn.gone)

    def _seek_consent(self, turn: Turn, change: Change) -> None:
        if self.mandate is not None:
            self.mandate.act(self.ownership.view)

    async def _served(self, buckets: frozenset[int]) -> None:
        """Buckets are ours and complete, as far as anybody lives who knows of them."""
        # Who handed them over has made copies of them, and may have been told before.
        self.upkeep.moved()
        self.copying.doubt(buckets)
        # At once: from now on pages are granted, and their hosts may have been asked a moment ago.
        self.master.serve_buckets(buckets)
        await self.holdings.note(self.ownership.standings(buckets))
        self.upkeep.sync()

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

    def learn(self, notes: Sequence[HostNote]) -> None:
        """Takes in what hosts of ours have told somebody else. Raises LinkError if one is not ours."""
        if any(self.ownership.owner(bucket_of_hash(note.key)) is not None for note in notes):
            raise LinkError("another master owns that host")
        for note in notes:
            self.master.learn_host(note.key, politeness.HostNote(note.delay_s, note.penalty_s, note.pause_s))
            self.upkeep.remarked.add(note.key)

    def standing(self, number: int) -> Standing:
        """Tells how a job stands here, for the decision that it is finished."""
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
            job.opened_mark,
        )

    def close_job(self, number: int, reason: str) -> None:
        """A spider closed at one master closes everywhere."""
        job = self.master.jobs.get(number)
        if job is not None and job.state == RUNNING and not job.closing:
            job.closing = reason
            self.master.workbench.halt_job(number)

    # -- what we tell others ------------------------------------------------------------------

    async def _deliver(self, owner: NodeId, number: int, links: list[Link]) -> Settled:
        job = self.master.jobs.get(number)
        opened = list(job.spec.opened) if job is not None else []
        return await self.peers.ask(owner, Discover(0, number, links, opened))

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

    def heirs(self) -> list[Member]:
        """Those that are there, and stay, and can take what is ours."""
        return [member for member in self.peers.others() if not member.leaving]

    async def drain(self, patience_s: float) -> bool:
        """Gives all buckets to the others; whether they have confirmed that they have everything, so that nothing is
        missed when we leave."""
        if not self.heirs():
            return False
        self.peers.say_leaving()
        self.views.take()
        until = asyncio.get_running_loop().time() + patience_s
        while asyncio.get_running_loop().time() < until:
            if not (heirs := self.heirs()):
                return False
            if await self.farewell.complete(heirs):
                return True
            await asyncio.sleep(CLAIM_RETRY_S)
        return False

    async def part(self) -> None:
        """Before we say good-bye, with nothing open any more: the others go on without our consent."""
        if self.mandate is not None:
            await self.mandate.part(PART_S)

    async def begin(self, job: Job) -> None:
        """Hands the job's first record to its owner; durable there when this returns."""
        link = start_of(job)
        bucket = self.master.bucket_of_link(job, link)
        settled = asyncio.Event()
        hold = Hold(0, settled.set)
        parcel = Parcel(link, bucket, hold)
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
                        if (view := await self.completion.finished_in(job)) is not None:
                            await self.on_quiet(job, view)
            except P2PCrawlError as error:
                log.debug("looking after jobs: %s", error)
            except Exception:
                log.exception("looking after jobs failed")

    async def _finish(self, job: Job, view: int) -> None:
        self.master.finish(job, FINISHED, job.closing)
        await self.spread(job)
