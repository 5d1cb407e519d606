"""A master: it makes its parts, runs its loop, and is what everybody else speaks to.

The loop is one circle, turn after turn (:mod:`p2pcrawl.master.cycle`). Whatever is asked of a master either is answered
from memory, or waits for the next turn and is answered when that is durable.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from time import monotonic

from p2pcrawl.core.control import ENDS
from p2pcrawl.frontier.database.schema import FILE
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.buckets.handover import Handover
from p2pcrawl.master.company.company import Company
from p2pcrawl.master.copies.looking import Looking
from p2pcrawl.master.cycle import Cycle
from p2pcrawl.master.exchange import Exchange
from p2pcrawl.master.idle_pages import IdlePages, wants_idle
from p2pcrawl.master.jobs.admission import Admission
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.jobs.outputs import Outputs
from p2pcrawl.master.links.dispatch import Hold, Parcel
from p2pcrawl.master.requeue import Aside
from p2pcrawl.master.revisiting import Turns
from p2pcrawl.master.revisits.visit_ends import VisitEnds
from p2pcrawl.master.slaves.granting import Granting
from p2pcrawl.master.slaves.inbox import Reports
from p2pcrawl.master.slaves.outcomes import Intake
from p2pcrawl.master.slaves.placing import placing_of
from p2pcrawl.master.slaves.processes import RunHere
from p2pcrawl.master.slaves.session import Session
from p2pcrawl.master.slaves.slaves import Seek, Slaves
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.job import JobSpec
from p2pcrawl.model.crawl.record import ShardKey
from p2pcrawl.model.crawl.sink_spec import SinkSpec

log = logging.getLogger(__name__)

STOP_S = 15.0


class Master:
    """Crawls the jobs of one data folder with the slaves of this machine.

    Open it with ``async with``; then ``submit`` or ``resume`` jobs, and ``run`` until they are finished.
    """

    def __init__(
        self,
        company: Company,
        *,
        slaves: int,
        run_here: RunHere,
        output_to_stderr: bool = False,
        errors_to: int | None = None,
        slave_options: Sequence[str] = (),
        check_spec: Callable[[JobSpec], str] | None = None,
        seek: Seek | None = None,
    ) -> None:
        """``company``: those among whom it is, or :class:`Alone`. ``check_spec`` says why a job that another master
        sent cannot be run here. ``slave_options``: for the command lines of slave processes. ``seek`` answers what
        slaves ask of stored pages."""
        self.company = company
        self.ground = ground = company.ground
        self.jobs, self.workbench, self.recorder = ground.jobs, ground.workbench, ground.recorder
        self.lifecycle = ground.lifecycle
        self.recovered = 0
        """Leases of an earlier run that never reported."""
        self.slaves = Slaves(
            ground.settings,
            slaves,
            run_here,
            ground.wake.set,
            company.slave_left,
            ground.lifecycle.close,
            output_to_stderr=output_to_stderr,
            errors_to=errors_to,
            slave_options=slave_options,
            on_orphans=company.adopt,
            seek=seek,
            fenced=company.sessions_end_by_time,
            ending=ground.fate.ending,
            journal=ground.journal,
        )
        visits = VisitEnds(ground.journal)
        intake = Intake(company, visits)
        self.reports = Reports(self.jobs, self.sessions, self.slaves.gone, intake, ground.journal)
        self.exchange = Exchange(company)
        self.granting = Granting(company, self.sessions, placing_of(ground.settings.group_placement))
        self.outputs = Outputs(
            self.recorder,
            ground.journal,
            ground.fate.fail,
            misses=company.router.misses,
            shared=company.others_bring_jobs,
        )
        self.handover = Handover(company, self.sessions, intake.held_in)
        self.aside = Aside(company, intake.down, visits)
        self.turns = Turns(company, visits)
        self.admission = Admission(
            self.jobs,
            self.workbench,
            self.recorder,
            ground.loading,
            self.lifecycle,
            ground.openings,
            begins_with=company.begins_with,
            stored=self.handover.stored,
            check_spec=check_spec,
        )
        self._cycle = Cycle(
            company=company,
            reports=self.reports,
            intake=intake,
            exchange=self.exchange,
            granting=self.granting,
            handover=self.handover,
            aside=self.aside,
            turns=self.turns,
            outputs=self.outputs,
        )
        self._idle_pages = IdlePages()
        self._timer: asyncio.TimerHandle | None = None

    # -- life ---------------------------------------------------------------------------------

    async def __aenter__(self) -> Master:
        await self.recorder.open()
        try:
            await self._recover()
        except BaseException:
            await self.recorder.close()
            raise
        return self

    async def _recover(self) -> None:
        """Takes up what an earlier run left."""
        self.recovered = await self.recorder.run(Store.recover)
        if last := await self.recorder.run(Store.last_item):
            # Who crashed may not have told anybody of the last of them.
            self.company.when_abreast(self.outputs.expect_copies(last))
        await self.admission.recover()
        if self.recovered and self.company.sessions_end_by_time:
            self.handover.outlive_sessions()
        now = monotonic()
        for host, seconds in await self.recorder.run(Store.pauses):
            self.workbench.known.pause(host, now + seconds)

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

    async def submit(self, spec: JobSpec, sinks: Sequence[SinkSpec] = ()) -> Job:
        """Submits a new job; durable when this returns."""
        job = await self.admission.submit(spec)
        await self.outputs.open(job, sinks)
        return job

    async def resume(self, number: int, spec: JobSpec, sinks: Sequence[SinkSpec] = ()) -> Job:
        """Goes on with a job of this data folder, under changed settings and with more outputs if given."""
        job = self.admission.resume(number, spec)
        await self.outputs.open(job, sinks)
        return job

    async def drop_ended(self) -> bool:
        """Deletes all jobs of this data folder, with their items, if all have ended and no item waits for its output;
        tells whether it did.
        """
        jobs = list(self.jobs.values())
        if not jobs or any(job.state not in ENDS for job in jobs):
            return False
        if any([await self.outputs.owes(job) for job in jobs]):
            return False
        for job in jobs:
            await self.admission.drop(job)
        return True

    # -- running ------------------------------------------------------------------------------

    async def run(self) -> None:
        """Runs until every job is finished, or ``drain`` has run its course. Raises what makes going on impossible."""
        fate, started_at = self.ground.fate, monotonic()
        self.slaves.group.failed.add_done_callback(self._group_failed)
        self.outputs.begin()
        watch = asyncio.create_task(self.slaves.watch())
        looking = asyncio.create_task(Looking(self.ground.folder / FILE, fate.fail).run())
        try:
            if self.lifecycle.active or self.company.others_bring_jobs:
                self.slaves.group.start()
            while fate.error is None and self._goes_on:
                await self._cycle.turn()
                self.lifecycle.close_and_finish(monotonic() - started_at, self._is_over)
                if self.draining and not self.sessions and not self.slaves.gone:
                    break
                if self._goes_on:
                    await self._until_due()
            if fate.error is not None:
                raise fate.error
            await self._cycle.turn()
            await self._dismiss()
            await self.outputs.finish(self._cycle.turn, patient=not self.draining)
        finally:
            watch.cancel()
            looking.cancel()
            self.outputs.end()

    def _is_over(self, job: Job) -> bool:
        """Tells whether nothing is left of a job, and none of its components wants to be asked about that."""
        if not self.company.is_over(job):
            return False
        page = self._idle_pages.due(job, job.counts["discovered"], wanted=wants_idle(job) and not self.draining)
        if page is None:
            return True
        bucket = self.ground.keys.bucket(job.settings.shard_key, page.url, page.fingerprint)
        self.ground.mailbox.take_back(job.id, [Parcel(page, bucket, Hold(1))])
        return False

    @property
    def _goes_on(self) -> bool:
        return bool(self.lifecycle.active) or self.draining or self.company.others_bring_jobs

    def drain(self) -> None:
        """Begins no new fetches; what is open ends, is stored, and ``run`` returns."""
        self.outputs.hurry()
        if not self.draining:
            self._cycle.draining = True
            self.slaves.stop()
            self.ground.wake.set()

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
        self.ground.wake.clear()
        self._timer = asyncio.get_running_loop().call_later(delay, self.ground.wake.set)
        await self.ground.wake.wait()
        self._timer.cancel()

    async def _dismiss(self) -> None:
        """Lets the slaves close their spiders and leave; keeps what they still report."""
        self.slaves.stop()
        stopping = asyncio.ensure_future(self.slaves.group.stop(STOP_S))
        while not stopping.done():
            self.ground.wake.clear()
            woken = asyncio.ensure_future(self.ground.wake.wait())
            await asyncio.wait([stopping, woken], return_when=asyncio.FIRST_COMPLETED)
            woken.cancel()
            await self._cycle.turn()
        await stopping
        await self._cycle.turn()

    # -- questions ----------------------------------------------------------------------------

    def bucket_of_url(self, url: str, key: str) -> int:
        """Returns the bucket that a canonical URL is in, under a job's key."""
        return self.ground.keys.bucket(ShardKey(key), url, fingerprint(url))

    async def census(self, job: Job) -> dict[str, int]:
        """Counts the records one by one."""
        return await self.recorder.run(Store.census, job.id)

    async def troubles(self, job: Job, limit: int) -> list[tuple[str, str, str]]:
        """Returns some pages that failed or were dropped: (url, reason, detail)."""
        return await self.recorder.run(Store.troubles, job.id, limit)

    async def tallies(self, job: Job) -> dict[str, int]:
        """Returns the counters as they are stored, which is what a resumed crawl will know."""
        return await self.recorder.run(Store.tallies, job.id)

    # -- slaves -------------------------------------------------------------------------------

    def _group_failed(self, failed: asyncio.Future[None]) -> None:
        if not failed.cancelled() and (error := failed.exception()) is not None:
            self.ground.fate.fail(error if isinstance(error, Exception) else RuntimeError(str(error)))
