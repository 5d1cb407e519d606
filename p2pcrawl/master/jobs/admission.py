"""The ways in which jobs come to a master: from a person, from another master, or from an earlier run of its data
folder.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from time import monotonic

import msgspec

from p2pcrawl.core.bench.candidate import host_key
from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.board_versions import merged_boards
from p2pcrawl.core.control import FINISHED, OVER, PAUSED, RUNNING, Control, merged
from p2pcrawl.core.hosts.politeness import Pace
from p2pcrawl.core.retuning import Tuned
from p2pcrawl.core.ring.rendezvous import bucket_of_hash
from p2pcrawl.frontier.database.schema import FILE, damaged
from p2pcrawl.frontier.records.batch import Batch, NewLink
from p2pcrawl.frontier.records.recorder import Recorder
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.jobs.job import (
    Job,
    KnownJobs,
    Told,
    job_of,
    pack_job,
    pack_spec,
    settings_of,
    unpack_control,
    unpack_settled,
    unpack_spec,
)
from p2pcrawl.master.jobs.lifecycle import Lifecycle
from p2pcrawl.master.jobs.loading import Loading
from p2pcrawl.master.jobs.openings import Openings
from p2pcrawl.model.boards.job_board import Boards
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.job import START_URL, JobId, JobSpec
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.overlay.tasks import to_its_end
from p2pcrawl.private.folders import inner_folder, private


def start_of(job: Job) -> Link:
    """Makes the record that a job begins with: its spider's ``start()``."""
    url = f"{START_URL}{job.id}"
    return Link(url, fingerprint(url, salt=f"job {job.id}"), seed=True)


class Admission:
    """Takes jobs in. ``begins_with``: the state in which a job of an earlier run begins. ``stored``: done when what was
    decided up to now is on disk. ``check_spec`` says why a job that another master sent cannot be run here."""

    def __init__(
        self,
        jobs: KnownJobs,
        workbench: Workbench,
        recorder: Recorder,
        loading: Loading,
        lifecycle: Lifecycle,
        openings: Openings,
        *,
        begins_with: Callable[[Control], Control],
        stored: Callable[[], Awaitable[object]],
        check_spec: Callable[[JobSpec], str] | None,
    ) -> None:
        self._jobs = jobs
        self._bench = workbench
        self._recorder = recorder
        self._loading = loading
        self._lifecycle = lifecycle
        self._openings = openings
        self._begins_with = begins_with
        self._stored = stored
        self._check_spec = check_spec
        self._mirroring = asyncio.Lock()
        """Several masters may tell of one job at the same time, or begin one run of a schedule."""
        self._written: dict[int, Told] = {}
        """What was last known to be on disk of each job."""

    # -- of this data folder ------------------------------------------------------------------

    async def recover(self) -> None:
        """Opens the jobs that an earlier run left. Raises DamagedError for one that cannot be read."""
        for number, name, packed, state, reason in await self._recorder.run(Store.jobs):
            try:
                spec, control = unpack_spec(packed), unpack_control(packed, state, reason)
                settings_of(spec)
            except (msgspec.MsgspecError, ConfigurationError) as error:
                raise damaged(self._recorder.folder / FILE, f"job {name}: {error}") from error
            await self._adopt(spec, control, number, unpack_settled(packed))

    async def _adopt(self, spec: JobSpec, control: Control, number: int, settled: dict[str, int]) -> None:
        job = job_of(replace(spec, id=JobId(number)), self._begins_with(control))
        if job.control == control:
            self._written[job.id] = job.told
        job.settled = settled
        job.counts.update(await self._recorder.run(Store.tallies, number))
        self._lifecycle.open(job)
        self._openings.recovered(job)
        self._loading.sweep_all()
        self._bench.known.resumed_at = monotonic()

    async def submit(self, spec: JobSpec) -> Job:
        """Submits a new job; durable when this returns."""
        number = JobId(max([*self._jobs, await self._recorder.run(Store.last_job)]) + 1)
        spec = replace(spec, id=number)
        job = job_of(spec)
        link = start_of(job)
        host = host_key(link.url)
        start = NewLink(link, number, host, bucket_of_hash(host))
        batch = Batch(orders={number: job.settings.queue_order})
        committed = await self._recorder.run(Store.add_job, number, spec.name, pack_spec(spec), start, batch)
        self._lifecycle.open(job)
        job.counts.update(batch.tallies[number])
        self._bench.add(committed.fresh)
        return job

    def resume(self, number: int, spec: JobSpec) -> Job:
        """Goes on with a job of this data folder, under changed settings."""
        job = self._jobs[number]
        boards = merged_boards(job.spec.boards, spec.boards)
        spec = replace(spec, id=job.spec.id, opened=job.spec.opened, boards=boards)
        job.spec, job.settings = spec, settings_of(spec)
        job.pace = Pace.of(job.settings)
        job.version += 1
        self._lifecycle.save_spec(job)
        if job.counts["queued"] or job.state != FINISHED or job.unsettled:
            job.state, job.reason = RUNNING, ""
            self._lifecycle.save_state(job)
        self._lifecycle.open(job)
        return job

    async def drop(self, job: Job) -> None:
        """Deletes a job of which nothing is under way, with all that it has brought; durable when this returns."""
        self._lifecycle.drop(job)
        self._written.pop(job.id, None)
        self._openings.drop(job)
        await self._recorder.run(Store.drop_job, job.id, job.settings.queue_order)

    # -- of the cluster -----------------------------------------------------------------------

    async def add(self, spec: JobSpec, control: Control | None = None) -> Job:
        """Adds a job of the cluster, durable here when this returns; its start is somebody's record. One that another
        master has told of meanwhile is there already, and is returned.
        """
        async with self._mirroring:
            known = self._jobs.get(spec.id)
            return known if known is not None else await self._add(spec, control or Control())

    async def _add(self, spec: JobSpec, control: Control) -> Job:
        # Also if whoever asked has hung up: a job that is on the disk, and not in memory, can never be added.
        return await to_its_end(self._store_new(spec, control))

    async def _store_new(self, spec: JobSpec, control: Control) -> Job:
        job = job_of(with_code(self._recorder.folder, spec), control)
        # With its state: one that died in between would come back with a job that runs, under the version of another.
        state = job.state, job.reason
        await self._recorder.run(Store.add_job, spec.id, spec.name, pack_job(job), None, Batch(), *state)
        self._written[job.id] = job.told
        self._lifecycle.open(job)
        return job

    async def mirror(self, spec: JobSpec, control: Control) -> str:
        """Keeps a job that another master knows, durably. Why it cannot be run here, or ""."""
        async with self._mirroring:
            return await self._mirror(spec, control)

    async def _mirror(self, spec: JobSpec, control: Control) -> str:
        job = self._jobs.get(spec.id)
        begins = job is None or (control.state == RUNNING and job.state in OVER)
        # Only what is to run here has to be able to.
        if begins and control.state in (RUNNING, PAUSED) and self._check_spec and (refusal := self._check_spec(spec)):
            return refusal
        if job is None:
            await self._add(spec, control)
            return ""
        await self.learn_opened({job.id: spec.opened})
        await self.tune(job, spec.tuned)
        await self.take_boards(job, spec.boards)
        if job.locked and spec.secrets != job.spec.secrets:
            # Sealed under a key that may be known here, unlike that of what is.
            job.spec = replace(job.spec, secrets=spec.secrets)
            self._lifecycle.save_spec(job)
            await self._stored()
        if merged(job.control, control) != job.control:
            self._lifecycle.steer(job, control, heard=True)
        # Also what is no news: it may have been decided a moment ago.
        await self.write(job)
        return ""

    async def write(self, job: Job) -> None:
        """Returns when a job is on disk as it stands now: before that, nobody else hears how it stands."""
        while (told := job.told) != self._written.get(job.id):
            await self._stored()
            self._written[job.id] = told

    def is_written(self, job: Job) -> bool:
        """Tells whether a job is known to be on disk as it stands."""
        return self._written.get(job.id) == job.told

    async def empty(self, job: Job) -> None:
        """Deletes all that is kept of a deleted job, but the word that it was; durable when this returns."""
        self._openings.drop(job)
        await self._recorder.run(Store.empty_job, job.id, job.settings.queue_order)
        job.counts.clear()
        forget_code(self._recorder.folder, job.id)

    async def tune(self, job: Job, tuned: Tuned) -> None:
        """Takes in settings that were changed while a job runs; in force at once, durable here when this returns."""
        if job.tune(tuned):
            self._lifecycle.retune(job)
            await self._stored()

    async def take_boards(self, job: Job, boards: Boards) -> None:
        """Takes in boards that were added, changed or taken away while a job runs; in force at once, durable here when
        this returns.
        """
        if job.take_boards(boards):
            self._lifecycle.retune(job)
            await self._stored()

    @property
    def knows_jobs(self) -> bool:
        """Tells whether any job is known: without one there are no records."""
        return bool(self._jobs)

    def opened(self) -> dict[int, list[str]]:
        """Returns what the start URLs of all jobs have opened, for those that have opened anything."""
        return self._openings.known(self._jobs)

    async def learn_opened(self, opened: Mapping[int, Collection[str]]) -> None:
        """Takes in what start URLs have opened, as another master knows; durable here when this returns."""
        if self._openings.learn(opened):
            await self._stored()


def forget_code(folder: Path, job: int) -> None:
    """Removes the code of a job's spider from the data folder."""
    shutil.rmtree(folder / "jobs" / str(job), ignore_errors=True)


def with_code(folder: Path, spec: JobSpec) -> JobSpec:
    """Returns the job, with its spider's file in the data folder, where local slaves find it and nobody else can change
    it.
    """
    if not spec.code:
        return spec
    name = Path(spec.spider.file).name
    path = inner_folder(folder / "jobs" / str(spec.id)) / (name if name not in ("", "..") else "spider.py")
    with open(path, "w", opener=private) as file:
        file.write(spec.code)
    return replace(spec, spider=replace(spec.spider, file=str(path.absolute())))
