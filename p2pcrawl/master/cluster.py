"""A master among masters: the parts of its place in the cluster, made one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from p2pcrawl.core.buckets.ownership import Change
from p2pcrawl.core.membership.output import Event, EventKind
from p2pcrawl.master.buckets.caution import Caution
from p2pcrawl.master.buckets.farewell import Farewell
from p2pcrawl.master.buckets.takeover import Remember, Takeover
from p2pcrawl.master.buckets.view_changes import ViewChange, Views
from p2pcrawl.master.company.neighbours import Neighbours
from p2pcrawl.master.copies.account_keeping import AccountKeeping
from p2pcrawl.master.copies.host_orders import HostOrders
from p2pcrawl.master.copies.syncing import Syncing
from p2pcrawl.master.copies.upkeep import Upkeep
from p2pcrawl.master.idle_pages import IdlePages
from p2pcrawl.master.jobs.admission import start_of
from p2pcrawl.master.jobs.completion import Completion
from p2pcrawl.master.jobs.job import CANCELLED, FINISHED, INCOMPLETE, RUNNING, Job
from p2pcrawl.master.jobs.mirroring import Mirroring
from p2pcrawl.master.links.dispatch import Hold, Parcel
from p2pcrawl.master.majority.mandate import Mandate
from p2pcrawl.master.majority.no_mandate import NoMandate
from p2pcrawl.master.majority.roll import Roll
from p2pcrawl.master.master import Master
from p2pcrawl.master.own_standing import OwnStanding
from p2pcrawl.master.schedules.schedule_book import ScheduleBook
from p2pcrawl.model.cluster.node import Member, NodeId
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.overlay.peers import SOON_S
from p2pcrawl.overlay.port import Port
from p2pcrawl.overlay.tasks import end

log = logging.getLogger(__name__)

ROUND_S = 0.5
"""Between two looks at what is due, and at whether a job is finished."""
HEIRS_LOOK_S = 0.25
"""Between two looks whether the others have confirmed that they have everything of one that leaves."""
Conclude = Callable[[Job, int], Awaitable[None]]
"""Ends a job of which nothing was left to do in a view."""

Step = Callable[[ViewChange, Change], None]
"""What a part does when the view changes."""


class Cluster:
    """The place of a master in its cluster. ``start`` after the master and the holdings are open; ``close`` before they
    close.
    """

    def __init__(
        self,
        master: Master,
        neighbours: Neighbours,
        port: Port,
        remember: Remember,
        *,
        roll: Roll | None = None,
    ) -> None:
        """Builds the parts. ``remember`` writes down who is there. With a ``roll`` nothing is granted without the
        consent of most of those on it.
        """
        self.master = master
        self.peers = peers = neighbours.peers
        self.neighbours = neighbours
        self.holdings = neighbours.holdings
        self.ownership = neighbours.ownership
        self.ownership.recall(self.holdings.standings)
        self.copying, self.copier = neighbours.copying, neighbours.copier
        self.dispatch, self.budgets, self.spool = neighbours.dispatch, neighbours.budgets, neighbours.spool
        self.adoption = neighbours.adoption
        self._ground = ground = neighbours.ground
        self.syncing = Syncing(
            peers,
            self.ownership,
            self.copying,
            neighbours.links_first,
            neighbours.excess.carry,
            neighbours.own_rows,
            neighbours.host_notes,
        )
        self.upkeep = Upkeep(
            peers,
            self.ownership,
            self.holdings,
            self.copier,
            neighbours.excess,
            self.syncing,
            ground.loading,
            neighbours.host_notes,
        )
        self.takeover = Takeover(neighbours, master.admission, master.handover, self.upkeep.served, remember)
        self.caution = Caution(neighbours, self.takeover, master.slaves.call_in, majority=roll is not None)
        self.mandate: Mandate | NoMandate = NoMandate()
        if roll is not None:
            told = self.caution.agreed, ground.loading.serve_buckets, master.slaves.halt, ground.fate.fail
            self.mandate = Mandate(peers, port, self.ownership, roll, *told)
        self.views = Views(peers, self.ownership, self.caution, ground.journal, self._take_view)
        self.mirroring = Mirroring(ground.jobs, master.admission, peers, self.ownership)
        self.farewell = Farewell(neighbours, master.handover, self.takeover, self.mirroring)
        self.own_standing = OwnStanding(neighbours, master.exchange, self.takeover)
        self.accounts = AccountKeeping(
            peers, self.holdings, ground.jobs, ground.recorder, self.ownership.copies, ground.slices
        )
        self.orders = HostOrders(peers, self.holdings, ground.workbench, self.budgets.lending.call_in, ground.wake.set)
        self.schedules = ScheduleBook(peers, self.holdings)
        self.completion = Completion(peers, self.own_standing.of, ground.lifecycle.close)
        self._idle_pages = IdlePages()
        self._missed: frozenset[NodeId] = frozenset()
        """Who was missing when the last view was taken."""
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, *, looking: bool = False, founds: bool = False, conclude: Conclude | None = None) -> None:
        """Starts the parts. ``looking``: there may be others, who are being looked for. ``founds``: nobody was named to
        join. ``conclude``: what is done with a job of which nothing is left; without it, it is finished.
        """
        missing = bool(self.peers.missing())
        if missing and self.holdings.standings:
            self.caution.wait_for_missing()
        self.views.start(looking=looking or missing)
        runs = (
            self.views.follow(),
            self._tend(),
            self._watch_jobs(conclude or self._finish),
            self.caution.watch_clock(),
            self.upkeep.patrol(),
            self.spool.run(),
            self.accounts.run(),
            self.orders.late.run(),
            self.schedules.late.run(),
            *self.mandate.runs(founds=founds),
        )
        self._tasks = [asyncio.create_task(run) for run in runs]

    async def close(self) -> None:
        await end(self._tasks)
        await self.mandate.close()
        await self.takeover.close()
        await self.upkeep.close()
        await self.neighbours.close()

    def happened(self, event: Event) -> None:
        """Takes in an event of the membership."""
        if event.kind is EventKind.OUTLIVED:
            self.master.handover.outlive_sessions()
        elif event.kind is EventKind.CONDEMNED:
            self.caution.condemned()
        elif event.kind is EventKind.FORGOTTEN:
            self.mandate.forgotten(event.member.id)
            self.budgets.forgotten(event.member.id)
        self.views.happened(event)

    # -- views --------------------------------------------------------------------------------

    def _take_view(self, view: ViewChange) -> None:
        """Tells all who have to know of a view that was taken."""
        # Judged before they are taken in again. Whoever was missed, or misses us, may have served what we did; also if
        # it has begun a new life beyond a cut, or we have.
        back = [node for node in view.restarted if self.budgets.is_back(node, self.views.boots[node])]
        found = self._missed.intersection(view.restarted)
        self._missed = frozenset(member.id for member in self.peers.missing())
        for node in view.restarted:
            # What it was told before may be gone.
            self.mirroring.restarted(node)
            self.accounts.restarted(node)
            self.orders.late.restarted(node)
            self.schedules.late.restarted(node)
            self.neighbours.excess.restarted(node)
            self.budgets.came(node, self.views.boots[node])
        if view.wiped:
            # What was settled there is gone with its disk: slaves may report it again.
            self.master.slaves.forget()
        if view.change is None:
            # The same members, of whom one may have another disk: what it held is brought to it again.
            self.upkeep.members_changed(view.members)
        else:
            self._change_view(view, view.change)
            if back or found:
                # What was granted while each took the other for dead, and is not begun, is not to be.
                self.master.slaves.call_in()
                self.takeover.meet()

    def _change_view(self, view: ViewChange, change: Change) -> None:
        for step in self._steps():
            step(view, change)

    def _steps(self) -> tuple[Step, ...]:
        """Lists what follows a change of the view, first to last. A part that has to know of it is one more line here.

        The ownership acts in the new view already. Nothing is awaited before the last step is done: nobody is answered
        in between, and a task that a step begins finds all parts in the new view.
        """
        return (
            # What was known of the old view is forgotten: views come back, and what others dropped in one may have been
            # copied to them in the next.
            lambda view, change: self.neighbours.excess.moved(change.gained | change.lost),
            # Before all who grant or claim: this says whether they may.
            lambda view, change: self.caution.view_changed(view.members),
            # Before holders are told apart anew: this says whether they are brought up to date now, or most are waited
            # for.
            lambda view, change: self.upkeep.hold_back(view.members),
            # What is lost leaves the bench before anything comes to it by the steps below.
            lambda view, change: self._ground.loading.buckets_changed(change.gained, change.lost),
            # What slaves have reported to the dead may be lost with them.
            lambda view, change: self.master.slaves.forget() if view.gone else None,
            # What waited for the dead alone is acknowledged here, as provisional where too few are left: their pages
            # end, and go to the bench that is left.
            lambda view, change: self.upkeep.members_changed(view.members),
            # Links go to their new owners; those that have become our own, to the bench.
            lambda view, change: self.dispatch.reroute(),
            # With the holders and the owners of this view: before any of them is brought what has come of these links.
            lambda view, change: self.neighbours.links_first.tend(),
            # Whoever came back in another life was told apart before (``_take_view``), and its loans are over; those of
            # the dead end when their slaves must have stopped.
            lambda view, change: self.budgets.members_changed({m.id for m in view.members}),
            # After all that may still hold what is lost: whoever claims it is asked for it from here on.
            self._claim,
            # Hosts that a dead master knew are asked about in the directory: of those at the bench, as it is now.
            lambda view, change: self.neighbours.recalls.view_changed(change, self._ground.workbench.hosts),
            # Last: consent is asked for what is ours by now, when all that is lost has been given up; and where most
            # agree at once all is claimed anew, which must not come before the claims of this view.
            lambda view, change: self.mandate.act(self.ownership.view),
        )

    def _claim(self, view: ViewChange, change: Change) -> None:
        if not self.caution.looking:
            # Whoever is alone for a moment only must not begin epochs that nobody else ever hears of.
            self.takeover.view_changed(change, view.gone)

    # -- what others ask ----------------------------------------------------------------------

    def claims(self, bucket: int) -> bool:
        """Tells whether we serve a bucket, or are about to. Whoever looks for others does not know yet."""
        return not self.caution.looking and self.ownership.owner(bucket) is None

    def figures(self) -> dict[str, int]:
        """Returns counts for the faces."""
        return {
            "unsynced": self.copying.lacking(),
            "uncopied": self.copier.under_way,
            "spooled": self.spool.size,
            "held": self.holdings.count,
            "not_whole": len(self.ownership.broken()),
        }

    # -- what we tell others ------------------------------------------------------------------

    async def spread(self, job: Job, enough: int | None = None) -> list[str]:
        """Tells every living member of a job; why each that refused did so.

        Returns when all have answered, or when ``enough`` have it on disk and the others have had their time; asks
        again as long as there are fewer. The rest hears of it later.
        """
        return await self.mirroring.spread(job, enough)

    def withdraw(self, job: Job, reason: str) -> None:
        """Ends a job that cannot begin, here and before long at those who were told of it already."""
        self.master.workbench.halt_job(job.id)
        self._ground.lifecycle.finish(job, CANCELLED, reason)

    def heirs(self) -> list[Member]:
        """Returns the masters that are there, and stay, and can take what is ours."""
        return [member for member in self.peers.others() if not member.leaving]

    async def drain(self, patience_s: float, say_leaving: Callable[[], None]) -> bool:
        """Gives all buckets to the others; returns whether they have confirmed that they have everything, so that
        nothing is missed when we leave.
        """
        if not self.heirs():
            return False
        say_leaving()
        self.views.take()
        until = asyncio.get_running_loop().time() + patience_s
        while asyncio.get_running_loop().time() < until:
            if not (heirs := self.heirs()):
                return False
            if await self.farewell.complete(heirs):
                return True
            await asyncio.sleep(HEIRS_LOOK_S)
        return False

    async def part(self) -> None:
        """Tells what we have counted, and parts from the voters, before we say good-bye, with nothing open any more:
        they go on without our consent.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(TIMINGS.part_s):
                await self.accounts.tell()
        await self.mandate.part(TIMINGS.part_s)

    async def note_parting(self) -> None:
        """Notes that others go on without us, last of all: till they hear that we are gone, they still send us what
        comes.
        """
        try:
            await self.holdings.note(self.ownership.part())
        except P2PCrawlError as error:
            # Whoever keeps the books is told.
            log.debug("that others go on without us is not noted: %s", error)

    async def begin(self, job: Job) -> None:
        """Hands the job's first record to its owner; durable there when this returns."""
        await self._bring(job, start_of(job))

    async def _bring(self, job: Job, link: Link) -> None:
        bucket = self._ground.keys.bucket(job.settings.shard_key, link.url, link.fingerprint)
        settled = asyncio.Event()
        hold = Hold(0, settled.set)
        parcel = Parcel(link, bucket, hold)
        owner = self.ownership.owner(bucket)
        if owner is None:
            hold.waiting = 1
            self._ground.mailbox.take_back(job.id, [parcel])
        else:
            self.dispatch.add(job.id, owner, parcel)
            self.dispatch.flush()
        await settled.wait()

    async def _tend(self) -> None:
        """Begins what is due: loans, copies, what hosts ask for. No round waits for anybody."""
        while True:
            await asyncio.sleep(ROUND_S)
            self.budgets.tend()
            self.upkeep.sync()
            self.neighbours.links_first.tend()
            self.neighbours.abreast.tend()
            self.upkeep.send_host_notes()

    # -- jobs ---------------------------------------------------------------------------------

    async def _watch_jobs(self, conclude: Conclude) -> None:
        """Keeps every member told of every job; decides, where it falls to us, that one is finished."""
        while True:
            await asyncio.sleep(ROUND_S)
            try:
                await self.mirroring.send_missing()
                await self.neighbours.excess.drop_surplus()
                await self.takeover.offer_unclaimed()
                if self.completion.may_ask(asyncio.get_running_loop().time()):
                    for job in [j for j in self.master.jobs.values() if j.state in (RUNNING, INCOMPLETE)]:
                        view = await self.completion.finished_in(job)
                        if view is not None and not await self._goes_on_idle(job):
                            await conclude(job, view)
            except P2PCrawlError as error:
                log.debug("looking after jobs: %s", error)
            except Exception:
                log.exception("looking after jobs failed")

    async def _goes_on_idle(self, job: Job) -> bool:
        """Puts a page into a job of which nothing is left, where its components are to be asked whether it ends.
        Returns whether they are.
        """
        completion = self.completion
        page = self._idle_pages.due(job, completion.discovered, wanted=completion.listens and job.state == RUNNING)
        if page is None:
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(SOON_S):
                await self._bring(job, page)
        return True

    async def _finish(self, job: Job, view: int) -> None:
        self._ground.lifecycle.finish(job, FINISHED, job.closing)
        await self.spread(job)
