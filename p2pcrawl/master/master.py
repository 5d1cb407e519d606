"""A master: it makes its parts, runs its loop, and is what everybody else speaks to.

The loop is one circle, turn after turn (:mod:`p2pcrawl.master.cycle`). Whatever is asked of a master either is answered
from memory, or waits for the next turn and is answered when that is durable.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from time import monotonic

from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.buckets.ownership import Change, Ownership
from p2pcrawl.core.control import Control
from p2pcrawl.core.hosts.politeness import HostNote
from p2pcrawl.frontier.database.digest import Range
from p2pcrawl.frontier.database.schema import FILE
from p2pcrawl.frontier.records.recorder import Recorder
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.buckets.handover import Handover
from p2pcrawl.master.copies.copier import Copier
from p2pcrawl.master.copies.looking import Looking
from p2pcrawl.master.cycle import Cycle
from p2pcrawl.master.jobs.admission import Admission
from p2pcrawl.master.jobs.delivery import Output
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.jobs.lifecycle import Lifecycle
from p2pcrawl.master.jobs.loading import Loading
from p2pcrawl.master.jobs.openings import Openings
from p2pcrawl.master.jobs.outputs import Outputs
from p2pcrawl.master.links.dispatch import Dispatch, Parcel
from p2pcrawl.master.links.exchange import Exchange
from p2pcrawl.master.links.shard_keys import Keys
from p2pcrawl.master.loans.budgets import Budgets
from p2pcrawl.master.requeue import Aside
from p2pcrawl.master.slaves.granting import Granting
from p2pcrawl.master.slaves.inbox import Reports
from p2pcrawl.master.slaves.outcomes import Intake
from p2pcrawl.master.slaves.placing import placing_of
from p2pcrawl.master.slaves.processes import RunHere
from p2pcrawl.master.slaves.session import Session
from p2pcrawl.master.slaves.slaves import Slaves
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.job import JobSpec
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import ShardKey
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError, LinkError, P2PCrawlError
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.wire.messages.peer_messages import Row, Settled
from p2pcrawl.wire.messages.slave_messages import Bye, Forget

log = logging.getLogger(__name__)

STOP_S = 15.0


class Master:
    """Crawls the jobs of one data folder with the slaves of this machine.

    Open it with ``async with``; then ``submit`` or ``resume`` jobs, and ``run`` until they are finished.
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        *,
        slaves: int,
        run_here: RunHere,
        output_to_stderr: bool = False,
        errors_to: int | None = None,
        forever: bool = False,
        check_spec: Callable[[JobSpec], str] | None = None,
    ) -> None:
        """``forever``: goes on when all jobs are finished, for others may come. ``check_spec`` says why a job
        that another master sent cannot be run here."""
        self._folder = folder
        self._forever = forever
        self._check_spec = check_spec
        self._settings = settings
        self.jobs: dict[int, Job] = {}
        self.workbench = Workbench(memory=settings.frontier_memory)
        self.recovered = 0
        """Leases of an earlier run that never reported."""
        self._keys = Keys()
        self._openings = Openings(self.jobs)
        self.exchange = Exchange(self.jobs, self._keys, self._openings)
        self._intake = Intake(self.jobs, self.workbench, self._keys, self.exchange, self._openings)
        self._wake = asyncio.Event()
        self.slaves = Slaves(
            settings,
            slaves,
            run_here,
            self._wake.set,
            self._left,
            output_to_stderr=output_to_stderr,
            errors_to=errors_to,
            fenced=forever,
        )
        self.recorder = Recorder(folder, clustered=forever)
        self._timer: asyncio.TimerHandle | None = None
        self._fatal: Exception | None = None
        self._compose()

    # -- life ---------------------------------------------------------------------------------

    async def __aenter__(self) -> Master:
        await self.recorder.open()
        try:
            await self._recover()
        except BaseException:
            await self.recorder.close()
            raise
        return self

    def _compose(self) -> None:
        """Makes what works with the store, and the cycle that turns it all."""
        jobs, bench, recorder, wake = self.jobs, self.workbench, self.recorder, self._wake.set
        self.reports = Reports(jobs, self.sessions, self.slaves.gone, self._intake)
        self.granting = Granting(jobs, bench, self.sessions, placing_of(self._settings.group_placement))
        self.outputs = Outputs(recorder)
        self._loading = Loading(jobs, bench, recorder)
        self._lifecycle = Lifecycle(jobs, bench, self._loading, wake, clustered=self._forever)
        orders = self._lifecycle.orders
        down, held_in, exchange = self._intake.down, self._intake.held_in, self.exchange
        reopened = self._openings.reopened
        self._handover = Handover(jobs, orders, bench, recorder, self.sessions, held_in, exchange.lent_of, wake)
        self._aside = Aside(jobs, orders, down, reopened, bench, recorder, self._loading, exchange, wake)
        self._admission = Admission(
            self._folder,
            jobs,
            bench,
            recorder,
            self._lifecycle,
            self._openings,
            self._loading,
            self.stored,
            clustered=self._forever,
            check_spec=self._check_spec,
        )
        self._cycle = Cycle(
            jobs=jobs,
            workbench=bench,
            recorder=recorder,
            reports=self.reports,
            intake=self._intake,
            exchange=exchange,
            granting=self.granting,
            loading=self._loading,
            lifecycle=self._lifecycle,
            openings=self._openings,
            handover=self._handover,
            aside=self._aside,
            outputs=self.outputs,
        )

    async def _recover(self) -> None:
        """What an earlier run left."""
        self.store_id = await self.recorder.run(Store.store_id)
        self.recovered = await self.recorder.run(Store.recover)
        await self._admission.recover()
        if self.recovered and self._forever:
            self.outlive_sessions()
        now = monotonic()
        for host, seconds in await self.recorder.run(Store.pauses):
            self.workbench.known.pause(host, now + seconds)

    def outlive_sessions(self) -> None:
        """This master has crashed a moment ago. Slaves on other machines may be at work till their sessions end: until
        then no host is asked, and no bucket let go of."""
        self.workbench.known.resumed_at = self._handover.closed_until = monotonic() + TIMINGS.void_s

    async def __aexit__(self, *_: object) -> None:
        self._cycle.draining = True
        self.slaves.abort()
        await self.slaves.group.stop(0.0)
        if self._timer is not None:
            self._timer.cancel()
        try:
            await self.outputs.close()
        finally:
            await self.recorder.close()

    # -- jobs ---------------------------------------------------------------------------------

    async def submit(self, spec: JobSpec, outputs: Sequence[Output] = ()) -> Job:
        """A new job; durable when this returns."""
        job = await self._admission.submit(spec)
        await self.outputs.open(job, outputs)
        return job

    async def resume(self, number: int, spec: JobSpec, outputs: Sequence[Output] = ()) -> Job:
        """Goes on with a job of this data folder, under changed settings and with more outputs if given."""
        job = self._admission.resume(number, spec)
        await self.outputs.open(job, outputs)
        return job

    async def add_job(self, spec: JobSpec, control: Control | None = None) -> Job:
        """A job of the cluster, durable here when this returns; its start is somebody's record."""
        return await self._admission.add(spec, control)

    async def mirror(self, spec: JobSpec, control: Control) -> str:
        """Keeps a job that another master knows, durably. Why it cannot be run here, or ""."""
        return await self._admission.mirror(spec, control)

    def steer(self, job: Job, control: Control) -> None:
        """Puts a job into another state: on disk after the next turn (``stored``)."""
        self._lifecycle.steer(job, control)

    def finish(self, job: Job, state: str, reason: str) -> None:
        self._lifecycle.finish(job, state, reason)

    def retry(self, job: Job) -> asyncio.Future[int]:
        """Queues all failed pages of a job anew, durably; how many."""
        return self._aside.retry(job)

    def stored(self) -> asyncio.Future[bool]:
        """Done when what was decided up to now is on disk."""
        return self._handover.released(())

    async def learn_opened(self, opened: Mapping[int, Collection[str]]) -> None:
        """What start URLs have opened, as another master knows; durable here when this returns."""
        await self._admission.learn_opened(opened)

    def opened(self, jobs: Collection[int]) -> dict[int, list[str]]:
        """What the start URLs of these jobs have opened, for those that have opened anything."""
        return self._openings.known(jobs)

    def busy(self, job: Job) -> int:
        """Records of the job that are queued or open here, and links of it that are under way."""
        if job.closing:
            return job.leased + self.exchange.busy(job.id)
        # A page that is in hand here may be through elsewhere, and so not queued any more.
        waiting = max(job.leased, job.counts["queued"])
        return waiting + self.exchange.busy(job.id) + len(self._openings.reopened.get(job.id, ()))

    # -- running ------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until every job is finished, or ``drain`` has run its course. Raises what makes going on impossible."""
        self._started_at = monotonic()
        self.slaves.group.failed.add_done_callback(self._group_failed)
        watch = asyncio.create_task(self.slaves.watch())
        looking = asyncio.create_task(Looking(self._folder / FILE, self.fail).run())
        try:
            if self._lifecycle.active or self._forever:
                self.slaves.group.start()
            while self._fatal is None and (self._lifecycle.active or self.draining or self._forever):
                await self._cycle.turn()
                self._lifecycle.settle(monotonic() - self._started_at)
                if self.draining and not self.sessions and not self.slaves.gone:
                    break
                if self._lifecycle.active or self.draining or self._forever:
                    await self._until_due()
            if self._fatal is not None:
                raise self._fatal
            await self._cycle.turn()
            await self._dismiss()
            await self.outputs.finish(self._cycle.turn)
        finally:
            watch.cancel()
            looking.cancel()
            self.outputs.end()

    def drain(self) -> None:
        """No new fetches; what is open ends, is stored, and ``run`` returns."""
        if not self.draining:
            self._cycle.draining = True
            self.slaves.stop()
            self._wake.set()

    @property
    def sessions(self) -> dict[int, Session]:
        return self.slaves.sessions

    @property
    def draining(self) -> bool:
        return self._cycle.draining

    @property
    def now(self) -> float:
        """The clock that the workbench's times are told by."""
        return monotonic()

    async def _until_due(self) -> None:
        """Sleeps until a message, a timer of the workbench, or an output wants attention."""
        now = monotonic()
        delay = self._cycle.due_at(now) - now
        if delay <= 0:
            await asyncio.sleep(0)
            return
        self._wake.clear()
        self._timer = asyncio.get_running_loop().call_later(delay, self._wake.set)
        await self._wake.wait()
        self._timer.cancel()

    async def _dismiss(self) -> None:
        """Lets the slaves close their spiders and leave; keeps what they still report."""
        self.slaves.stop()
        stopping = asyncio.ensure_future(self.slaves.group.stop(STOP_S))
        while not stopping.done():
            self._wake.clear()
            woken = asyncio.ensure_future(self._wake.wait())
            await asyncio.wait([stopping, woken], return_when=asyncio.FIRST_COMPLETED)
            woken.cancel()
            await self._cycle.turn()
        await stopping
        await self._cycle.turn()

    # -- among other masters ------------------------------------------------------------------

    def join_cluster(self, ownership: Ownership, dispatch: Dispatch, budgets: Budgets, copier: Copier) -> None:
        """From now on buckets may be somebody else's."""
        self.exchange.router = ownership
        self.exchange.dispatch = dispatch
        dispatch.on_settled = self._wake.set
        self.exchange.budgets = budgets
        self.exchange.copier = copier
        self.workbench.serves = ownership.serves
        self.workbench.permit = budgets.permit

    def view_changed(self, change: Change, *, died: bool) -> None:
        """Buckets came and went. ``died``: what slaves reported to the dead may be lost with them."""
        if change.lost:
            self.workbench.remove(change.lost)
        if died:
            self.slaves_forget()
        self.serve_buckets(change.gained)

    def slaves_forget(self) -> None:
        """What slaves have reported may be lost: they are to report it again when they meet it."""
        for session in self.sessions.values():
            session.link.send(Forget())

    def serve_buckets(self, buckets: Collection[int]) -> None:
        """These may be granted from now on, as far as the ownership says so."""
        self.workbench.wake_unserved()
        if buckets:
            self._loading.sweep_all()
            self.workbench.came_over(buckets, monotonic())
        self._wake.set()

    def learn_host(self, key: int, note: HostNote) -> None:
        """What another master knew of a host, for now or for when it is asked next."""
        now = monotonic()
        if note.pause_s:
            self.workbench.known.pause(key, now + note.pause_s)
        self.workbench.learn(key, note, now)

    def released(self, buckets: Collection[int]) -> asyncio.Future[bool]:
        """Whether nothing of these buckets is open here any more; answered after the next turn, by when all that
        was taken in before the question is durable. Nothing more is begun under loans of their hosts."""
        if self.exchange.budgets is not None:
            self.exchange.budgets.borrowing.withdraw(buckets)
        return self._handover.released(buckets)

    def forget_rows(self, buckets: Collection[int]) -> asyncio.Future[None]:
        """Another master holds these buckets durably."""
        return self._handover.forget(buckets)

    async def rows_of(self, buckets: Collection[int], after: int, limit: int) -> tuple[list[Row], int]:
        """The next records of buckets that were let go of."""
        return await self._handover.rows_of(buckets, after, limit)

    async def sizes(self, buckets: Collection[int]) -> Counter[int]:
        """How many records there are in each of these buckets that has any."""
        return await self.recorder.run(Store.sizes, buckets)

    async def empty_handed(self) -> bool:
        """Whether no record is here any more, nor a link on its way."""
        dispatch = self.exchange.dispatch
        if self._intake.held_in or self.exchange.waiting or (dispatch is not None and dispatch.under_way):
            return False
        return not await self.recorder.run(Store.size)

    async def digests(self, nonce: bytes, ranges: Sequence[Range]) -> list[tuple[int, int]]:
        """How many records there are in each range, and their sum."""
        return await self.recorder.run(Store.digests, nonce, ranges)

    async def keys(self, ranges: Sequence[Range]) -> list[tuple[int, int, int, int]]:
        """(hi, lo, job, stamp) of each record in these ranges."""
        return await self.recorder.run(Store.keys, ranges)

    async def rows_by_key(self, bucket: int, keys: Sequence[tuple[int, int, int]]) -> list[Row]:
        return await self.recorder.run(Store.rows_by_key, bucket, keys)

    def bucket_of_row(self, row: Row) -> int:
        """Raises P2PCrawlError for a row of an unknown job."""
        job = self.jobs.get(row.job)
        if job is None:
            raise P2PCrawlError(f"job {row.job} is not known here")
        return self.bucket_of_link(job, row.link)

    async def merge(self, rows: list[Row]) -> Settled:
        """Facts that somebody learnt of our buckets; answered when they are durable."""
        if any(row.job not in self.jobs for row in rows):
            return Settled(0, unknown_job=True)
        refused = [n for n, row in enumerate(rows) if self.exchange.router.owner(self.bucket_of_row(row)) is not None]
        others = set(refused)
        await self.adopt([row for n, row in enumerate(rows) if n not in others])
        return Settled(0, refused)

    def adopt(self, rows: list[Row]) -> asyncio.Future[None]:
        """Records of buckets that are ours; done when they are durable. LinkError when they are another's by then."""
        self._wake.set()
        return self.exchange.adopt(rows)

    def arrive(self, job: int, links: list[Link], opened: Collection[str] = ()) -> asyncio.Future[Settled]:
        """Links that another master found; answered when they are durable."""
        self._openings.learn({job: opened})
        self._wake.set()
        return self.exchange.arrive(job, links)

    def take_back(self, job: int, parcels: list[Parcel]) -> None:
        """Links on their way elsewhere that are ours after all."""
        self._wake.set()
        self.exchange.take_back(job, parcels)

    def bucket_of_url(self, url: str, key: str) -> int:
        """The bucket that a canonical URL is in, under a job's key."""
        return self._keys.bucket(ShardKey(key), url, fingerprint(url))

    def bucket_of_link(self, job: Job, link: Link) -> int:
        """Returns the bucket that a record of a job is in."""
        return self._keys.bucket(job.settings.shard_key, link.url, link.fingerprint)

    # -- questions ----------------------------------------------------------------------------

    async def census(self, job: Job) -> dict[str, int]:
        """The records counted one by one."""
        return await self.recorder.run(Store.census, job.id)

    async def troubles(self, job: Job, limit: int) -> list[tuple[str, str, str]]:
        """Some pages that failed or were dropped: (url, reason, detail)."""
        return await self.recorder.run(Store.troubles, job.id, limit)

    async def tallies(self, job: Job) -> dict[str, int]:
        """The counters as they are stored, which is what a resumed crawl will know."""
        return await self.recorder.run(Store.tallies, job.id)

    # -- slaves -------------------------------------------------------------------------------

    def _left(self, bye: Bye) -> None:
        """A slave cannot go on."""
        if bye.job and self._forever:
            self._lifecycle.refuse(bye.job, bye.reason)
        else:
            self.fail(ConfigurationError(bye.reason) if bye.usage else LinkError(bye.reason))

    def fail(self, error: Exception) -> None:
        """Going on is impossible: :meth:`run` raises this."""
        self._fatal = self._fatal or error
        # The crawl ends: that slaves do so, too, is nothing to warn of.
        self.slaves.group.stop_replacing()
        self._wake.set()

    def _group_failed(self, failed: asyncio.Future[None]) -> None:
        if not failed.cancelled() and (error := failed.exception()) is not None:
            self.fail(error if isinstance(error, Exception) else RuntimeError(str(error)))
