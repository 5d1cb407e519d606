"""The master's loop: reports in, one transaction, grants out.

Everything goes round in one circle (``_cycle``): what has arrived is gathered into a batch together with
the leases that can be granted now; the batch is committed; what follows from it is applied. While the
storage thread commits, the loop collects what arrives for the next turn. There is no other writer and
no other order, so nothing needs a lock.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

import msgspec

from p2pcrawl.core.control import merged
from p2pcrawl.core.ownership import Change, Ownership
from p2pcrawl.core.politeness import ROBOTS_TTL_S, HostNote, Pace, RobotsEntry
from p2pcrawl.core.ring import bucket_of_hash
from p2pcrawl.core.workbench import Candidate, Want, Workbench, host_key
from p2pcrawl.frontier.batch import Batch, Committed, NewLink
from p2pcrawl.frontier.digest import Range
from p2pcrawl.frontier.store import Store
from p2pcrawl.master.budgets import Budgets
from p2pcrawl.master.copier import Copier
from p2pcrawl.master.delivery import Output
from p2pcrawl.master.dispatch import Dispatch, Parcel
from p2pcrawl.master.exchange import Exchange
from p2pcrawl.master.granting import Granting
from p2pcrawl.master.group import RunHere
from p2pcrawl.master.intake import Intake
from p2pcrawl.master.job import (
    CANCELLED,
    FINISHED,
    INCOMPLETE,
    PAUSED,
    RUNNING,
    Control,
    Job,
    job_of,
    pack_job,
    pack_spec,
    unpack_control,
    unpack_spec,
)
from p2pcrawl.master.keys import Keys
from p2pcrawl.master.outputs import Outputs
from p2pcrawl.master.placing import placing_of
from p2pcrawl.master.rows import row_of_columns
from p2pcrawl.master.session import Session
from p2pcrawl.master.slaves import Slaves
from p2pcrawl.model.errors import ConfigurationError, LinkError, P2PCrawlError
from p2pcrawl.model.fingerprint import fingerprint
from p2pcrawl.model.job import START_URL, JobId, JobSpec
from p2pcrawl.model.record import Order, ShardKey
from p2pcrawl.model.settings import Settings
from p2pcrawl.wire.cluster import Found, Row, Settled
from p2pcrawl.wire.messages import Ack, Bye, Forget, Returned

log = logging.getLogger(__name__)

T = TypeVar("T")

LOADS_MAX = 256
ACTIVATE = 512
ABANDON_ROWS = 5_000
"""What is put aside at once, so that commits do not wait for long."""
ROOM_EVERY_S = 0.01
ROOM_SEATS_PER_S = 100_000
"""How often, and over how many seats, hosts that are through are looked for when others wait for a seat."""
STOP_S = 15.0


def start_of(job: Job) -> Found:
    """The record that a job begins with: its spider's ``start()``."""
    url = f"{START_URL}{job.id}"
    return Found(url, fingerprint(url, salt=f"job {job.id}"), 0, 0, "index", "", True, "", b"")


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
        self.exchange = Exchange(self.jobs, self._keys)
        self._intake = Intake(self.jobs, self.workbench, self._keys, self.exchange)
        self._orders: dict[int, Order] = {}
        self._wake = asyncio.Event()
        self._mirroring = asyncio.Lock()
        """Several masters may tell of one job at the same time."""
        self._make_slaves: Callable[[], Slaves] = lambda: Slaves(
            settings,
            slaves,
            run_here,
            self._wake.set,
            self._left,
            output_to_stderr=output_to_stderr,
            errors_to=errors_to,
            fenced=forever,
        )
        self._timer: asyncio.TimerHandle | None = None
        self._draining = False
        self._fatal: Exception | None = None
        self._cursor: tuple[int, int, str] | None = None
        self._sweeping = False
        self._room_at = 0.0
        self._states: dict[int, tuple[str, str]] = {}
        self._specs: set[int] = set()
        self._releases: list[tuple[frozenset[int], asyncio.Future[bool]]] = []
        self._forgets: list[tuple[frozenset[int], asyncio.Future[None]]] = []
        self._retries: list[tuple[Job, asyncio.Future[int]]] = []

    # -- life ---------------------------------------------------------------------------------

    async def __aenter__(self) -> Master:
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "frontier")
        self.slaves = self._make_slaves()
        placing = placing_of(self._settings.group_placement)
        self.granting = Granting(self.jobs, self.workbench, self.slaves.sessions, placing)
        try:
            self._store: Store = await self._in_thread(lambda: Store(self._folder, clustered=self._forever))
            self.outputs = Outputs(self._store, self._in_thread)
            try:
                await self._recover()
            except BaseException:
                await self._in_thread(self._store.close)
                raise
        except BaseException:
            self._thread.shutdown()
            raise
        return self

    async def _recover(self) -> None:
        """What an earlier run left."""
        self.store_id = await self._in_thread(self._store.store_id)
        self.recovered = await self._in_thread(self._store.recover)
        for number, name, packed, state, reason in await self._in_thread(self._store.jobs):
            try:
                spec, control = unpack_spec(packed), unpack_control(packed, state, reason)
            except msgspec.MsgspecError as error:
                raise ConfigurationError(
                    f"job {name} in the data folder {self._folder} is damaged ({error}); use another --data folder"
                ) from error
            await self._adopt(spec, control, number)
        now = monotonic()
        for host, seconds in await self._in_thread(self._store.pauses):
            self.workbench.pauses[host] = now + seconds

    async def __aexit__(self, *_: object) -> None:
        self._draining = True
        self.slaves.abort()
        await self.slaves.group.stop(0.0)
        if self._timer is not None:
            self._timer.cancel()
        try:
            await self.outputs.close()
        finally:
            try:
                await self._in_thread(self._store.close)
            finally:
                self._thread.shutdown()

    def _in_thread(self, call: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
        return self._loop.run_in_executor(self._thread, call, *arguments)

    # -- jobs ---------------------------------------------------------------------------------

    async def submit(self, spec: JobSpec, outputs: Sequence[Output] = ()) -> Job:
        """A new job; durable when this returns."""
        number = JobId(max(self.jobs, default=0) + 1)
        spec = replace(spec, id=number)
        job = job_of(spec)
        found = start_of(job)
        url = found.url
        link = NewLink(
            number,
            0,
            found.fingerprint,
            host_key(url),
            "index",
            0,
            0,
            True,
            "",
            "",
            url,
            b"",
            bucket_of_hash(host_key(url)),
        )
        self._orders[number] = job.settings.queue_order
        batch = Batch(orders=self._orders)
        committed = await self._in_thread(self._store.add_job, number, spec.name, pack_spec(spec), link, batch)
        self._register(job)
        await self.outputs.open(job, outputs)
        self._count(batch)
        self.workbench.add(committed.fresh)
        return job

    async def add_job(self, spec: JobSpec, control: Control | None = None) -> Job:
        """A job of the cluster, durable here when this returns; its start is somebody's record."""
        job = job_of(self._with_code(spec), control or Control())
        await self._in_thread(self._store.add_job, spec.id, spec.name, pack_job(job), None, Batch())
        if job.state != RUNNING:
            self._states[job.id] = (job.state, job.reason)
        self._register(job)
        self._wake.set()
        return job

    def _with_code(self, spec: JobSpec) -> JobSpec:
        """The code of a spider's file is kept in the data folder, where local slaves find it."""
        if not spec.code:
            return spec
        folder = self._folder / "jobs" / str(spec.id)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / Path(spec.spider.file).name
        path.write_text(spec.code)
        return replace(spec, spider=replace(spec.spider, file=str(path.absolute())))

    async def resume(self, number: int, spec: JobSpec, outputs: Sequence[Output] = ()) -> Job:
        """Goes on with a job of this data folder, under changed settings and with more outputs if given."""
        job = self.jobs[number]
        spec = replace(spec, id=job.spec.id, open_networks=job.spec.open_networks)
        job.spec, job.settings = spec, Settings().updated(spec.settings)
        job.pace = Pace.of(job.settings)
        job.version += 1
        self._specs.add(number)
        if job.counts["queued"] or job.state != FINISHED:
            job.state, job.reason = RUNNING, ""
            self._states[number] = (RUNNING, "")
        self._register(job)
        await self.outputs.open(job, outputs)
        return job

    def _register(self, job: Job) -> None:
        self.jobs[job.id] = job
        self._orders[job.id] = job.settings.queue_order
        self.workbench.open_job(job.id, job.pace)
        if job.state != RUNNING:
            self.workbench.halt_job(job.id)

    async def _adopt(self, spec: JobSpec, control: Control, number: int) -> None:
        # It runs when it is resumed; till then it has no part in this crawl.
        if control.state == RUNNING and not self._forever:
            control = control._replace(state=PAUSED)
        job = job_of(replace(spec, id=JobId(number)), control)
        job.counts.update(await self._in_thread(self._store.tallies, number))
        self._register(job)
        self._sweep_all()
        self.workbench.resumed_at = monotonic()

    # -- running ------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until every job is finished, or ``drain`` has run its course. Raises what makes going on impossible."""
        self._started_at = monotonic()
        self.slaves.group.failed.add_done_callback(self._group_failed)
        watch = asyncio.create_task(self.slaves.watch())
        try:
            if self._active() or self._forever:
                self.slaves.group.start()
            while self._fatal is None and (self._active() or self._draining or self._forever):
                await self._cycle()
                self._settle_jobs()
                if self._draining and not self.sessions and not self.slaves.gone:
                    break
                if self._active() or self._draining or self._forever:
                    await self._until_due()
            if self._fatal is not None:
                raise self._fatal
            await self._cycle()
            await self._dismiss()
            await self.outputs.finish(self._cycle)
        finally:
            watch.cancel()
            self.outputs.end()

    def drain(self) -> None:
        """No new fetches; what is open ends, is stored, and ``run`` returns."""
        if not self._draining:
            self._draining = True
            self.slaves.stop()
            self._wake.set()

    @property
    def sessions(self) -> dict[int, Session]:
        return self.slaves.sessions

    @property
    def draining(self) -> bool:
        return self._draining

    @property
    def now(self) -> float:
        """The clock that the workbench's times are told by."""
        return monotonic()

    def _active(self) -> list[Job]:
        return [j for j in self.jobs.values() if j.state == RUNNING]

    async def _cycle(self) -> None:
        """One turn: gather, commit, apply."""
        await self._forget_rows()
        releases, self._releases = self._releases, []
        batch, acks = Batch(orders=self._orders), []
        now = monotonic()
        for session in list(self.sessions.values()):
            if session.inbox:
                acks.append((session, self._take_inbox(session, batch, now)))
        while self.slaves.gone:
            self._bury(self.slaves.gone.popleft(), batch, now)
        self._intake.release(batch, now)
        self.exchange.gather(batch)
        if not self._draining and not self.exchange.full:
            self.granting.grant(batch, now)
        batch.wants = self.workbench.wants(LOADS_MAX)
        if self._sweeping:
            batch.wants += await self._sweep()
        batch.delivered = self.outputs.take_delivered()
        batch.states, self._states = self._states, {}
        batch.specs.update({number: pack_job(self.jobs[number]) for number in self._specs})
        self._specs.clear()
        retries, self._intake.retries = self._intake.retries, []
        forgotten, self._intake.forgotten = self._intake.forgotten, []
        items = bool(batch.items) or any(ending.staged for ending in batch.endings)
        committed = Committed()
        if batch.writes or batch.wants:
            committed = await self._in_thread(self._store.commit, batch)
            self._count(batch)
            self._apply(committed, retries, forgotten)
        await self._abandon()
        await self._retry_rows()
        self._answer_releases(releases)
        self.exchange.settle(committed)
        if self.exchange.dispatch is not None:
            self.exchange.dispatch.flush()
        for session, sequence in acks:
            if sequence:
                session.link.send(Ack(sequence))
        self.granting.send()
        await self.outputs.tend(now, items)

    def _take_inbox(self, session: Session, batch: Batch, now: float) -> int:
        """The sequence of the last report taken, or 0."""
        sequence = 0
        while session.inbox:
            message = session.inbox.popleft()
            if isinstance(message, Returned):
                session.rules.difference_update(message.missing_robots)
                for record in message.records:
                    self._intake.returned(session, record, batch, now)
                continue
            for result in message.robots:
                self._intake.robots(session, result, batch, now)
                self._spread_rules(session, result.origin)
            for page in message.pages:
                self._intake.page(session, page, batch, now)
            sequence = message.sequence
        return sequence

    def _spread_rules(self, reader: Session, origin: str) -> None:
        """An origin has a new robots.txt: all but the slave that read it are to be told, when they next ask there."""
        for session in self.sessions.values():
            session.rules.discard(origin)
        # That slave told it to the spider it was read for, not to others that it runs.
        if len(self.jobs) == 1:
            reader.knows_rules(origin)

    def _apply(self, committed: Committed, retries: list[tuple[Candidate, float]], forgotten: list[int]) -> None:
        bench = self.workbench
        for record in forgotten:
            bench.forget(record)
        for candidate, until in retries:
            bench.delay(candidate, until)
        bench.add(committed.fresh)
        for want, candidates in committed.loaded:
            bench.loaded(want, candidates)
            self._recall(want.host, self.jobs[want.job].pace, committed)
        if committed.ended:
            bench.withdraw(committed.ended)

    def _recall(self, key: int, pace: Pace, committed: Committed) -> None:
        """What the store knows of a host that has just got a seat."""
        seat = self.workbench.seats.get(key)
        if seat is None:
            return
        now = monotonic()
        for _, origin, agent, verdict, body, reason, delay, _ in committed.hosts.get(key, ()):
            if seat.host.robots is None:
                seat.host.robots = {}
            known = RobotsEntry(verdict, body, reason, delay, now + ROBOTS_TTL_S)
            seat.host.robots.setdefault((origin, agent), known)
        if self.workbench.resumed_at is not None:
            # Nobody knows when the host was last asked, but it was before this.
            seat.host.next_at = max(seat.host.next_at, self.workbench.resumed_at + seat.host.delay_s(pace))

    def _count(self, batch: Batch) -> None:
        for number, counter in batch.tallies.items():
            self.jobs[number].counts.update(counter)

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
            self._sweep_all()
            self.workbench.came_over(buckets, monotonic())
        self._wake.set()

    def learn_host(self, key: int, note: HostNote) -> None:
        """What another master knew of a host, for now or for when it is asked next."""
        now = monotonic()
        if note.pause_s:
            self.workbench.pauses[key] = max(self.workbench.pauses.get(key, 0.0), now + note.pause_s)
        self.workbench.learn(key, note, now)

    def released(self, buckets: Collection[int]) -> asyncio.Future[bool]:
        """Whether nothing of these buckets is open here any more; answered after the next turn, by when all that
        was taken in before the question is durable."""
        answer: asyncio.Future[bool] = self._loop.create_future()
        self._releases.append((frozenset(buckets), answer))
        self._wake.set()
        return answer

    def _answer_releases(self, releases: Iterable[tuple[frozenset[int], asyncio.Future[bool]]]) -> None:
        for buckets, answer in releases:
            open_ = any(
                lease.candidate.bucket in buckets
                for session in self.sessions.values()
                for lease in session.leases.values()
            )
            if not answer.done():
                answer.set_result(not open_ and buckets.isdisjoint(self._intake.held_in))

    async def _forget_rows(self) -> None:
        """Before anything else of a turn: rows of these buckets that come back later are to stay."""
        forgets, self._forgets = self._forgets, []
        for buckets, done in forgets:
            tallies = await self._in_thread(self._store.forget, buckets, dict(self._orders))
            for number, counter in tallies.items():
                if number in self.jobs:
                    self.jobs[number].counts.update(counter)
            self.workbench.remove(buckets)
            if not done.done():
                done.set_result(None)

    async def empty_handed(self) -> bool:
        """Whether no record is here any more, nor a link on its way."""
        dispatch = self.exchange.dispatch
        if self._intake.held_in or self.exchange.waiting or (dispatch is not None and dispatch.under_way):
            return False
        return not await self._in_thread(self._store.size)

    def forget_rows(self, buckets: Collection[int]) -> asyncio.Future[None]:
        """Another master holds these buckets durably."""
        done: asyncio.Future[None] = self._loop.create_future()
        self._forgets.append((frozenset(buckets), done))
        self._wake.set()
        return done

    async def rows_of(self, buckets: Collection[int], after: int, limit: int) -> tuple[list[Row], int]:
        """The next records of buckets that were let go of."""
        rows, last = await self._in_thread(self._store.rows_of, buckets, after, limit)
        return [row_of_columns(*row) for row in rows], last

    async def digests(self, nonce: bytes, ranges: Sequence[Range]) -> list[tuple[int, int]]:
        """How many records there are in each range, and their sum."""
        return await self._in_thread(self._store.digests, nonce, ranges)

    async def keys(self, ranges: Sequence[Range]) -> list[tuple[int, int, int, int]]:
        """(hi, lo, job, stamp) of each record in these ranges."""
        return await self._in_thread(self._store.keys, ranges)

    async def rows_by_key(self, bucket: int, keys: Sequence[tuple[int, int, int]]) -> list[tuple[Any, ...]]:
        return await self._in_thread(self._store.rows_by_key, bucket, keys)

    def bucket_of_row(self, row: Row) -> int:
        """Raises P2PCrawlError for a row of an unknown job."""
        job = self.jobs.get(row.job)
        if job is None:
            raise P2PCrawlError(f"job {row.job} is not known here")
        return self._keys.bucket(job.settings.shard_key, row.url, self._keys.host_key(row.url), row.fingerprint)

    async def merge(self, rows: list[Row]) -> Settled:
        """Facts that somebody learnt of our buckets; answered when they are durable."""
        if any(row.job not in self.jobs for row in rows):
            return Settled(0, unknown_job=True)
        refused = [n for n, row in enumerate(rows) if self.exchange.router.owner(self.bucket_of_row(row)) is not None]
        others = set(refused)
        await self.adopt([row for n, row in enumerate(rows) if n not in others])
        return Settled(0, refused)

    def adopt(self, rows: list[Row]) -> asyncio.Future[None]:
        """Records that come with their buckets; done when they are durable."""
        self._wake.set()
        return self.exchange.adopt(rows)

    def arrive(self, job: int, links: list[Found], networks: Collection[str] = ()) -> asyncio.Future[Settled]:
        """Links that another master found; answered when they are durable."""
        self._open_networks(job, networks)
        self._wake.set()
        return self.exchange.arrive(job, links)

    async def learn_networks(self, networks: Mapping[int, Collection[str]]) -> None:
        """What seeds have opened, as another master knows; durable here when this returns."""
        news = [job for job, opened in networks.items() if self._open_networks(job, opened)]
        if news:
            await self.stored()

    def opened_networks(self, jobs: Collection[int]) -> dict[int, list[str]]:
        """Of those of these jobs that have any."""
        specs = [self.jobs[job].spec for job in jobs if job in self.jobs]
        return {spec.id: list(spec.open_networks) for spec in specs if spec.open_networks}

    def _open_networks(self, job: int, networks: Collection[str]) -> bool:
        """Whether that was news."""
        if job not in self.jobs or not self.jobs[job].open_networks(networks):
            return False
        self._specs.add(job)
        return True

    def take_back(self, job: int, parcels: list[Parcel]) -> None:
        """Links on their way elsewhere that are ours after all."""
        self._wake.set()
        self.exchange.take_back(job, parcels)

    async def mirror(self, spec: JobSpec, control: Control) -> str:
        """Keeps a job that another master knows, durably. Why it cannot be run here, or ""."""
        async with self._mirroring:
            return await self._mirror(spec, control)

    async def _mirror(self, spec: JobSpec, control: Control) -> str:
        job = self.jobs.get(spec.id)
        begins = job is None or (control.state == RUNNING and job.state in (FINISHED, INCOMPLETE))
        # Only what is to run here has to be able to.
        if begins and control.state in (RUNNING, PAUSED) and self._check_spec and (refusal := self._check_spec(spec)):
            return refusal
        if job is None:
            await self.add_job(spec, control)
            return ""
        await self.learn_networks({job.id: spec.open_networks})
        if merged(job.standing, control) != job.standing:
            self.steer(job, control)
            await self.stored()
        return ""

    def stored(self) -> asyncio.Future[bool]:
        """Done when what was decided up to now is on disk."""
        return self.released(())

    def retry(self, job: Job) -> asyncio.Future[int]:
        """Queues all failed pages of a job anew, durably; how many."""
        count: asyncio.Future[int] = self._loop.create_future()
        self._retries.append((job, count))
        self._wake.set()
        return count

    async def _retry_rows(self) -> None:
        retries, self._retries = self._retries, []
        for job, count in retries:
            changes, touched = await self._in_thread(self._store.retry, job.id, dict(self._orders))
            job.counts.update(changes)
            self.workbench.reload_job(job.id)
            self._sweep_all()
            if self.exchange.copier is not None:
                self.exchange.copier.copying.doubt(touched)
            if not count.done():
                count.set_result(changes["queued"])

    def busy(self, job: Job) -> int:
        """Records of the job that are queued or open here, and links of it that are under way."""
        if job.closing:
            return job.leased + self.exchange.busy(job.id)
        return max(0, job.counts["queued"]) + self.exchange.busy(job.id)

    def bucket_of_url(self, url: str, key: str) -> int:
        """The bucket that a canonical URL is in, under a job's key."""
        return self._keys.bucket(ShardKey(key), url, self._keys.host_key(url), fingerprint(url))

    def bucket_of_found(self, job: Job, found: Found) -> int:
        """The bucket that a record of a job is in; the start of a job has a fingerprint that its URL does not tell."""
        return self._keys.bucket(job.settings.shard_key, found.url, self._keys.host_key(found.url), found.fingerprint)

    @property
    def _has_calls(self) -> bool:
        return self.exchange.waiting or bool(self._releases or self._forgets or self._retries)

    # -- the end of jobs ----------------------------------------------------------------------

    def _settle_jobs(self) -> None:
        """Closes jobs that reached a limit, finishes those that have nothing left."""
        now = monotonic()
        for job in self._active():
            if not job.closing:
                job.closing = self._limit_reached(job, now)
                if job.closing:
                    log.info("job %s is closing: %s", job.spec.name, job.closing)
            if job.closing:
                self.workbench.halt_job(job.id)
            if self._forever:
                # Other masters have a say: see master.cluster.
                continue
            if not job.leased and (job.closing or not job.counts["queued"]):
                self.finish(job, FINISHED, job.closing)

    def finish(self, job: Job, state: str, reason: str) -> None:
        self.steer(job, job.standing.then(state, reason))

    def steer(self, job: Job, control: Control) -> None:
        """Puts a job into another state: on disk after the next turn (``stored``)."""
        job.standing = control
        self._states[job.id] = (job.state, job.reason)
        self._specs.add(job.id)
        if job.state == RUNNING:
            job.closing = ""
            self.workbench.resume_job(job.id)
            self._sweep_all()
        else:
            self.workbench.halt_job(job.id)
        self._wake.set()

    async def _abandon(self) -> None:
        """Puts aside some of what is queued for hosts that are down. Such a host is granted nothing meanwhile."""
        for key in list(self._intake.down):
            number, host = key
            changes, touched = await self._in_thread(self._store.abandon, number, host, ABANDON_ROWS)
            if self.exchange.copier is not None:
                self.exchange.copier.copying.doubt(touched)
            if number in self.jobs:
                self.jobs[number].counts.update(changes)
            self.workbench.abandon(number, host)
            if changes["failed"] < ABANDON_ROWS:
                del self._intake.down[key]
            if changes["failed"]:
                log.info("%d pages are put aside: their host does not answer", changes["failed"])

    def _limit_reached(self, job: Job, now: float) -> str:
        settings, counts = job.settings, job.counts
        if settings.closespider_pagecount and counts["pages"] >= settings.closespider_pagecount:
            return "closespider_pagecount"
        if settings.closespider_itemcount and counts["items"] >= settings.closespider_itemcount:
            return "closespider_itemcount"
        if settings.closespider_errorcount and counts["failed:callback"] >= settings.closespider_errorcount:
            return "closespider_errorcount"
        if settings.closespider_timeout and now - self._started_at >= settings.closespider_timeout:
            return "closespider_timeout"
        return ""

    async def _dismiss(self) -> None:
        """Lets the slaves close their spiders and leave; keeps what they still report."""
        self.slaves.stop()
        stopping = asyncio.ensure_future(self.slaves.group.stop(STOP_S))
        while not stopping.done():
            self._wake.clear()
            woken = asyncio.ensure_future(self._wake.wait())
            await asyncio.wait([stopping, woken], return_when=asyncio.FIRST_COMPLETED)
            woken.cancel()
            await self._cycle()
        await stopping
        await self._cycle()

    # -- questions ----------------------------------------------------------------------------

    async def census(self, job: Job) -> dict[str, int]:
        """The records counted one by one."""
        return await self._in_thread(self._store.census, job.id)

    async def troubles(self, job: Job, limit: int) -> list[tuple[str, str, str]]:
        """Some pages that failed or were dropped: (url, reason, detail)."""
        return await self._in_thread(self._store.troubles, job.id, limit)

    async def tallies(self, job: Job) -> dict[str, int]:
        """The counters as they are stored, which is what a resumed crawl will know."""
        return await self._in_thread(self._store.tallies, job.id)

    # -- slaves -------------------------------------------------------------------------------

    def _bury(self, session: Session, batch: Batch, now: float) -> None:
        """The slave is gone: what it reported counts, what it held comes back."""
        self.sessions.pop(session.id, None)
        self._take_inbox(session, batch, now)
        how = f"slave {session.pid} died" if session.blamed else f"the session of slave {session.pid} ended"
        if session.leases:
            log.warning("%s with %d pages in hand", how, len(session.leases))
        for lease in session.leases.values():
            self._intake.lost(lease, batch, now, how, blamed=session.blamed)
        for robots in session.robots.values():
            self._intake.lost_robots(robots, now, blamed=session.blamed)
        session.leases.clear()
        session.robots.clear()

    def _left(self, bye: Bye) -> None:
        """A slave cannot go on."""
        if bye.job and self._forever:
            self._refused(bye)
        else:
            self._fail(ConfigurationError(bye.reason) if bye.usage else LinkError(bye.reason))

    def _refused(self, bye: Bye) -> None:
        """A job's spider cannot be opened: that ends the job, not this master."""
        job = self.jobs.get(bye.job)
        if job is not None and job.state == RUNNING:
            log.error("job %s cannot be run: %s", job.spec.name, bye.reason)
            self.workbench.halt_job(job.id)
            self.finish(job, CANCELLED, bye.reason)

    def _fail(self, error: Exception) -> None:
        self._fatal = self._fatal or error
        # The crawl ends: that slaves do so, too, is nothing to warn of.
        self.slaves.group.stop_replacing()
        self._wake.set()

    def _group_failed(self, failed: asyncio.Future[None]) -> None:
        if not failed.cancelled() and (error := failed.exception()) is not None:
            self._fail(error if isinstance(error, Exception) else RuntimeError(str(error)))

    # -- loading and waiting ------------------------------------------------------------------

    def _sweep_all(self) -> None:
        """There may be queues on disk that the bench does not know."""
        self.workbench.dormant = self._sweeping = True
        self.workbench.sweeping()
        self._cursor = None

    async def _sweep(self) -> list[Want]:
        """After a restart, or when there were more hosts than seats: brings queues from disk to the bench."""
        bench = self.workbench
        if not bench.room:
            return []
        found = await self._in_thread(self._store.queues_after, self._cursor, min(ACTIVATE, bench.room))
        if not found:
            self._cursor = None
            self._sweeping = False
            bench.swept()
            return []
        self._cursor = found[-1]
        active = {job.id for job in self._active()}
        return [bench.want_all(*key) for key in found if key[0] in active and not bench.knows(*key)]

    def _seat_more(self, now: float) -> None:
        """When hosts have no seat: those that are through give up theirs, and a sweep looks for the others."""
        bench = self.workbench
        if bench.dormant and now >= self._room_at:
            self._room_at = now + max(ROOM_EVERY_S, bench.hosts_max / ROOM_SEATS_PER_S)
            if bench.make_room() and not self._sweeping:
                self._sweeping = True
                bench.sweeping()

    async def _until_due(self) -> None:
        """Sleeps until a message, a timer of the workbench, or an output wants attention."""
        now = monotonic()
        self._seat_more(now)
        due = [now + 1.0]
        if (self._sweeping and self.workbench.room) or self.workbench.wanting:
            due.append(now)
        if self.workbench.dormant:
            due.append(self._room_at)
        if self.outputs.due_at is not None:
            due.append(self.outputs.due_at)
        if self._intake.down:
            due.append(now)
        at = self.workbench.next_at(now)
        if at is not None and not self._draining and any(s.room > 0 for s in self.sessions.values()):
            due.append(at)
        delay = min(due) - now
        if delay <= 0 or any(s.inbox for s in self.sessions.values()) or self.slaves.gone or self._has_calls:
            await asyncio.sleep(0)
            return
        self._wake.clear()
        self._timer = self._loop.call_later(delay, self._wake.set)
        await self._wake.wait()
        self._timer.cancel()
