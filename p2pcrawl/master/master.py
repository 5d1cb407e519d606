"""The master's loop: reports in, one transaction, grants out.

Everything goes round in one circle (``_cycle``): what has arrived is gathered into a batch together with
the leases that can be granted now; the batch is committed; what follows from it is applied. While the
storage thread commits, the loop collects what arrives for the next turn. There is no other writer and
no other order, so nothing needs a lock.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

import msgspec

from p2pcrawl.core.ownership import Change, Ownership
from p2pcrawl.core.politeness import ROBOTS_TTL_S, Pace, RobotsEntry
from p2pcrawl.core.ring import bucket_of_hash, key_hash, preference
from p2pcrawl.core.workbench import Candidate, Seat, Turn, Want, Workbench, host_key
from p2pcrawl.frontier.batch import Batch, Committed, NewLink
from p2pcrawl.frontier.store import Store
from p2pcrawl.master.budgets import Budgets
from p2pcrawl.master.delivery import Delivery, Output
from p2pcrawl.master.dispatch import Dispatch, Parcel
from p2pcrawl.master.exchange import Exchange
from p2pcrawl.master.group import Group, RunHere
from p2pcrawl.master.intake import Intake
from p2pcrawl.master.job import CANCELLED, FINISHED, PAUSED, RUNNING, Job, job_of, pack_spec, unpack_spec
from p2pcrawl.master.keys import Keys
from p2pcrawl.master.session import Lease, RobotsLease, Session
from p2pcrawl.model.errors import ConfigurationError, LinkError
from p2pcrawl.model.fingerprint import fingerprint, pack_halves
from p2pcrawl.model.job import START_URL, JobId, JobSpec
from p2pcrawl.model.record import Order, ShardKey
from p2pcrawl.model.settings import Settings
from p2pcrawl.model.url import origin_of
from p2pcrawl.overlay.link import Link, open_link
from p2pcrawl.wire.cluster import Found, Row, Settled
from p2pcrawl.wire.codec import AnyMessage
from p2pcrawl.wire.messages import (
    PROTOCOL,
    Ack,
    Beat,
    Bye,
    Forget,
    Grant,
    Hello,
    OpenJob,
    Report,
    Returned,
    Robots,
    RobotsTask,
    Stop,
    Task,
    Welcome,
)

log = logging.getLogger(__name__)

T = TypeVar("T")

GRANTS_MAX = 512
LOADS_MAX = 256
DELIVER_S = 0.5
ACTIVATE = 512
ABANDON_ROWS = 5_000
"""What is put aside at once, so that commits do not wait for long."""
ROOM_EVERY_S = 0.01
ROOM_SEATS_PER_S = 100_000
"""How often, and over how many seats, hosts that are through are looked for when others wait for a seat."""
STOP_S = 15.0
WATCH_S = 1.0


def start_of(job: Job) -> Found:
    """The record that a job begins with: its spider's ``start()``."""
    url = f"{START_URL}{job.id}"
    return Found(url, fingerprint(url, salt=f"job {job.id}"), 0, 0, "index", "", True, "", b"")


def _row_of(
    _: int,
    job: int,
    url: str,
    hi: int,
    lo: int,
    depth: int,
    priority: int,
    kind: str,
    callback: str,
    seed: int,
    referer: str,
    extra: bytes | None,
    *rest: Any,
) -> Row:
    """A record as it moves to another master; ``rest`` are phase and what follows it."""
    print_ = pack_halves(hi, lo)
    return Row(job, url, print_, depth, priority, kind, callback, bool(seed), referer, extra or b"", *rest)


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
        self._slaves = slaves
        self._run_here = run_here
        self._output_to_stderr = output_to_stderr
        self._errors_to = errors_to
        self.jobs: dict[int, Job] = {}
        self.workbench = Workbench(memory=settings.frontier_memory)
        self.sessions: dict[int, Session] = {}
        self.recovered = 0
        """Leases of an earlier run that never reported."""
        self._deliveries: list[Delivery] = []
        self._keys = Keys()
        self.exchange = Exchange(self.jobs, self._keys)
        self._intake = Intake(self.jobs, self.workbench, self._keys, self.exchange)
        self._gone: deque[Session] = deque()
        self._orders: dict[int, Order] = {}
        self._session_last = 0
        self._lease_last = 0
        self._turns: list[Turn] = []
        self._promised: Counter[int] = Counter()
        self._suspected: set[int] = set()
        self._wake = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._draining = False
        self._leaving = False
        self._fatal: Exception | None = None
        self._cursor: tuple[int, int, str] | None = None
        self._sweeping = False
        self._room_at = 0.0
        self._undelivered = False
        self._deliver_at = 0.0
        self._delivered: list[tuple[int, str, int, str]] = []
        self._states: dict[int, tuple[str, str]] = {}
        self._specs: dict[int, bytes] = {}
        self._items_grew = asyncio.Event()
        self._ended = False
        self._releases: list[tuple[frozenset[int], asyncio.Future[bool]]] = []
        self._forgets: list[tuple[frozenset[int], asyncio.Future[None]]] = []

    # -- life ---------------------------------------------------------------------------------

    async def __aenter__(self) -> Master:
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "frontier")
        try:
            self._store: Store = await self._in_thread(lambda: Store(self._folder))
            try:
                await self._recover()
            except BaseException:
                await self._in_thread(self._store.close)
                raise
        except BaseException:
            self._thread.shutdown()
            raise
        self._group = Group(
            self._slaves,
            self._connected,
            self._run_here,
            output_to_stderr=self._output_to_stderr,
            errors_to=self._errors_to,
        )
        return self

    async def _recover(self) -> None:
        """What an earlier run left."""
        self.store_id = await self._in_thread(self._store.store_id)
        self.recovered = await self._in_thread(self._store.recover)
        for number, name, packed, state, reason in await self._in_thread(self._store.jobs):
            try:
                spec = unpack_spec(packed)
            except msgspec.MsgspecError as error:
                raise ConfigurationError(
                    f"job {name} in the data folder {self._folder} is damaged ({error}); use another --data folder"
                ) from error
            await self._adopt(spec, state, reason, number)
        now = monotonic()
        for host, seconds in await self._in_thread(self._store.pauses):
            self.workbench.pauses[host] = now + seconds

    async def __aexit__(self, *_: object) -> None:
        self._draining = True
        self._group.stop_replacing()
        for session in list(self.sessions.values()):
            session.link.abort()
        await self._group.stop(0.0)
        if self._timer is not None:
            self._timer.cancel()
        try:
            for delivery in self._deliveries:
                await self._in_thread(delivery.close)
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
        await self._open_outputs(job, outputs)
        self._count(batch)
        self.workbench.add(committed.fresh)
        return job

    async def add_job(self, spec: JobSpec, state: str = RUNNING, reason: str = "") -> Job:
        """A job of the cluster, durable here when this returns; its start is somebody's record."""
        job = job_of(self._with_code(spec), state, reason)
        await self._in_thread(self._store.add_job, spec.id, spec.name, pack_spec(job.spec), None, Batch())
        if state != RUNNING:
            self._states[job.id] = (state, reason)
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
        self._specs[number] = pack_spec(spec)
        if job.counts["queued"] or job.state != FINISHED:
            job.state, job.reason = RUNNING, ""
            self._states[number] = (RUNNING, "")
        self._register(job)
        await self._open_outputs(job, outputs)
        return job

    def _register(self, job: Job) -> None:
        self.jobs[job.id] = job
        self._orders[job.id] = job.settings.queue_order
        self.workbench.open_job(job.id, job.pace)
        if job.state != RUNNING:
            self.workbench.halt_job(job.id)

    async def _adopt(self, spec: JobSpec, state: str, reason: str, number: int) -> None:
        # It runs when it is resumed; till then it has no part in this crawl.
        state = PAUSED if state == RUNNING and not self._forever else state
        job = job_of(replace(spec, id=JobId(number)), state, reason)
        job.counts.update(await self._in_thread(self._store.tallies, number))
        self._register(job)
        self.workbench.dormant = self._sweeping = True
        self.workbench.sweeping()
        self.workbench.resumed_at = monotonic()

    async def _open_outputs(self, job: Job, outputs: Iterable[Output]) -> None:
        wanted = {o.path: o for o in outputs}
        for path, *_ in await self._in_thread(self._store.sinks, job.id):
            wanted.setdefault(path, Output(path))
        for output in wanted.values():
            opened = await self._in_thread(Delivery.open, self._store, job.id, output, job.settings.feed_export_fields)
            self._deliveries.append(opened)
            self._undelivered = True

    # -- running ------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until every job is finished, or ``drain`` has run its course. Raises what makes going on impossible."""
        self._started_at = monotonic()
        watch = asyncio.create_task(self._watch())
        try:
            if self._active() or self._forever:
                self._group.start()
            while self._fatal is None and (self._active() or self._draining or self._forever):
                await self._cycle()
                self._settle_jobs()
                if self._draining and not self.sessions and not self._gone:
                    break
                if self._active() or self._draining or self._forever:
                    await self._until_due()
            if self._fatal is not None:
                raise self._fatal
            await self._cycle()
            await self._dismiss()
            await self._finish_outputs()
        finally:
            watch.cancel()
            self.end_items()

    def drain(self) -> None:
        """No new fetches; what is open ends, is stored, and ``run`` returns."""
        if not self._draining:
            self._draining = True
            self._stop_sessions()
            self._wake.set()

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
        while self._gone:
            self._bury(self._gone.popleft(), batch, now)
        self._intake.release(batch, now)
        self.exchange.gather(batch)
        if not self._draining and not self.exchange.full:
            self._grant(batch, now)
        batch.wants = self.workbench.wants(LOADS_MAX)
        if self._sweeping:
            batch.wants += await self._sweep()
        batch.delivered, self._delivered = self._delivered, []
        batch.states, self._states = self._states, {}
        batch.specs.update(self._specs)
        self._specs = {}
        retries, self._intake.retries = self._intake.retries, []
        forgotten, self._intake.forgotten = self._intake.forgotten, []
        items = bool(batch.items) or any(ending.staged for ending in batch.endings)
        if batch.writes or batch.wants:
            committed = await self._in_thread(self._store.commit, batch)
            self._count(batch)
            self._apply(committed, retries, forgotten)
        await self._abandon()
        self._answer_releases(releases)
        self.exchange.settle()
        if self.exchange.dispatch is not None:
            self.exchange.dispatch.flush()
        for session, sequence in acks:
            if sequence:
                session.link.send(Ack(sequence))
        self._send_grants()
        self._undelivered = self._undelivered or items
        if self._undelivered and now >= self._deliver_at:
            await self._deliver()
        if items:
            self._tell_items()

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

    # -- granting -----------------------------------------------------------------------------

    def _grant(self, batch: Batch, now: float) -> None:
        room = sum(s.room for s in self.sessions.values())
        if room <= 0:
            return
        self._promised.clear()
        self._suspected.clear()
        slots = sum(s.slots for s in self.sessions.values())
        self._turns = self.workbench.take(now, self._choose, min(room, GRANTS_MAX), slots)
        for turn in self._turns:
            self._lease_last += 1
            session, job = self.sessions[turn.session], self.jobs[turn.candidate.job]
            if turn.robots_origin:
                session.robots[self._lease_last] = RobotsLease(
                    self._lease_last, job.id, turn.robots_origin, job.pace.agent, turn.seat
                )
                continue
            candidate = turn.candidate
            candidate.attempts += 1
            job.leased += 1
            session.leases[candidate.record] = Lease(self._lease_last, candidate, turn.seat)
            batch.leases.append((candidate.record, job.id, self._lease_last, candidate.attempts))

    def _choose(self, seat: Seat, suspect: bool) -> int:
        """The session for a host: the one its key prefers, or the next with room.

        What was promised in this turn counts, too: the leases are made when all turns are known.
        """
        if seat.host.open and seat.session in self.sessions and not suspect:
            held = self.sessions[seat.session]
            if held.room > self._promised[held.id]:
                self._promised[held.id] += 1
                return held.id
        for number in preference(seat.host.key, self.sessions):
            session = self.sessions[number]
            if session.room <= self._promised[number]:
                continue
            if suspect:
                if number in self._suspected or session.has_suspect:
                    continue
                self._suspected.add(number)
            self._promised[number] += 1
            return number
        return 0

    def _send_grants(self) -> None:
        turns, self._turns = self._turns, []
        grants: dict[int, Grant] = {}
        for turn in turns:
            session = self.sessions.get(turn.session)
            if session is None or session.lost:
                continue
            grant = grants.get(session.id)
            if grant is None:
                grant = grants[session.id] = Grant([], [], [])
            job = self.jobs[turn.candidate.job]
            if session.jobs.get(job.id) != job.version:
                session.jobs[job.id] = job.version
                session.link.send(OpenJob(job.wire()))
            if turn.robots_origin:
                self._add_robots_task(grant, session, turn, job)
            else:
                self._add_task(grant, session, turn, job)
        for number, grant in grants.items():
            self.sessions[number].link.send(grant)

    def _add_robots_task(self, grant: Grant, session: Session, turn: Turn, job: Job) -> None:
        for lease in session.robots.values():
            if lease.seat is turn.seat and lease.origin == turn.robots_origin:
                delay = turn.seat.host.delay_s(job.pace)
                grant.robots_tasks.append(
                    RobotsTask(lease.number, job.id, lease.origin, lease.agent, delay, turn.candidate.seed)
                )

    def _add_task(self, grant: Grant, session: Session, turn: Turn, job: Job) -> None:
        c = turn.candidate
        if job.pace.obey_robots and not c.url.startswith(START_URL):
            self._add_rules(grant, session, turn.seat, job, c.url)
        lease = session.leases[c.record]
        grant.tasks.append(
            Task(
                lease.number,
                c.record,
                c.job,
                c.url,
                c.fingerprint,
                c.depth,
                c.priority,
                c.kind,
                c.callback,
                c.attempts,
                c.seed,
                c.referer if job.settings.referer_enabled else "",
                c.extra,
            )
        )

    def _add_rules(self, grant: Grant, session: Session, seat: Seat, job: Job, url: str) -> None:
        origin = origin_of(url)
        if origin in session.rules:
            return
        entry = (seat.host.robots or {}).get((origin, job.pace.agent))
        if entry is not None:
            session.knows_rules(origin)
            grant.robots.append(Robots(origin, entry.verdict, entry.body, entry.reason))

    # -- among other masters ------------------------------------------------------------------

    def join_cluster(self, ownership: Ownership, dispatch: Dispatch, budgets: Budgets) -> None:
        """From now on buckets may be somebody else's."""
        self.exchange.router = ownership
        self.exchange.dispatch = dispatch
        dispatch.on_settled = self._wake.set
        self.exchange.budgets = budgets
        self.workbench.serves = ownership.serves
        self.workbench.permit = budgets.permit

    def view_changed(self, change: Change, *, died: bool) -> None:
        """Buckets came and went. ``died``: what slaves reported to the dead may be lost with them."""
        if change.lost:
            self.workbench.remove(change.lost)
        if died:
            for session in self.sessions.values():
                session.link.send(Forget())
        self.serve_buckets(change.gained)

    def serve_buckets(self, buckets: Collection[int]) -> None:
        """These may be granted from now on, as far as the ownership says so."""
        self.workbench.wake_unserved()
        if buckets:
            self.workbench.dormant = self._sweeping = True
            self.workbench.sweeping()
            self._cursor = None
        self._wake.set()

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
        return [_row_of(*row) for row in rows], last

    def adopt(self, rows: list[Row]) -> asyncio.Future[None]:
        """Records that come with their buckets; done when they are durable."""
        self._wake.set()
        return self.exchange.adopt(rows)

    def arrive(self, job: int, links: list[Found], networks: Collection[str] = ()) -> asyncio.Future[Settled]:
        """Links that another master found; answered when they are durable."""
        if job in self.jobs and self.jobs[job].open_networks(networks):
            self._specs[job] = pack_spec(self.jobs[job].spec)
        self._wake.set()
        return self.exchange.arrive(job, links)

    def take_back(self, job: int, parcels: list[Parcel]) -> None:
        """Links on their way elsewhere that are ours after all."""
        self._wake.set()
        self.exchange.take_back(job, parcels)

    async def mirror(self, spec: JobSpec, state: str, reason: str, control: int) -> str:
        """Keeps a job that another master knows, durably. Why it cannot be run here, or ""."""
        job = self.jobs.get(spec.id)
        if job is None:
            if state == RUNNING and self._check_spec is not None and (refusal := self._check_spec(spec)):
                return refusal
            job = await self.add_job(spec, state, reason)
            job.control = control
        elif control > job.control:
            job.control = control
            job.state, job.reason = state, reason
            self._states[job.id] = (state, reason)
            if state != RUNNING:
                self.workbench.halt_job(job.id)
            self._wake.set()
        return ""

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

    def slave_for(self, host: str) -> int | None:
        """The session that a host would be granted to."""
        order = preference(key_hash(host), [n for n, s in self.sessions.items() if s.ready])
        return order[0] if order else None

    async def items_from(self, job: int, after: int, limit: int) -> list[tuple[int, bytes]]:
        """The next rows of items, without waiting."""
        return await self._in_thread(self._store.items_after, job, after, limit)

    @property
    def _has_calls(self) -> bool:
        return self.exchange.waiting or bool(self._releases or self._forgets)

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
        job.state, job.reason = state, reason
        job.control += 1
        self._states[job.id] = (state, reason)
        self._wake.set()

    async def _abandon(self) -> None:
        """Puts aside some of what is queued for hosts that are down. Such a host is granted nothing meanwhile."""
        for key in list(self._intake.down):
            number, host = key
            changes = await self._in_thread(self._store.abandon, number, host, ABANDON_ROWS)
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
        self._stop_sessions()
        stopping = asyncio.ensure_future(self._group.stop(STOP_S))
        while not stopping.done():
            self._wake.clear()
            woken = asyncio.ensure_future(self._wake.wait())
            await asyncio.wait([stopping, woken], return_when=asyncio.FIRST_COMPLETED)
            woken.cancel()
            await self._cycle()
        await stopping
        await self._cycle()

    def _stop_sessions(self) -> None:
        self._leaving = True
        self._group.stop_replacing()
        for session in self.sessions.values():
            self._stop(session)

    def _stop(self, session: Session) -> None:
        if not session.stopping:
            session.stopping = True
            session.link.send(Stop())

    # -- items --------------------------------------------------------------------------------

    async def _deliver(self) -> None:
        """One step of every output; what came of it is stored with the next commit."""
        more = behind = False
        for delivery in self._deliveries:
            told = await self._in_thread(delivery.step, self._store)
            if told is not None:
                self._delivered.append(told)
                more = True
                behind = behind or delivery.behind
        self._undelivered = more
        # One that has more to write than it could now has its next step behind the next commit.
        self._deliver_at = monotonic() + (0.0 if behind else DELIVER_S)

    async def _finish_outputs(self) -> None:
        self._undelivered = bool(self._deliveries)
        while self._undelivered:
            await self._deliver()
            await self._cycle()
        for delivery in self._deliveries:
            await self._in_thread(delivery.finish)
        await self._cycle()

    async def items_after(self, job: Job, last: int) -> list[tuple[int, bytes]]:
        """The next items of a job, waiting for them; empty when the crawl has ended and there are no more."""
        while True:
            # Looked at before the store is, so that nothing can come in between unnoticed.
            ended, grew = self._ended, self._items_grew
            rows = await self._in_thread(self._store.items_after, job.id, last, 100)
            if rows or ended:
                return rows
            await grew.wait()

    def end_items(self) -> None:
        """No more items will come."""
        self._ended = True
        self._tell_items()

    def _tell_items(self) -> None:
        self._items_grew.set()
        self._items_grew = asyncio.Event()

    async def census(self, job: Job) -> dict[str, int]:
        """The records counted one by one."""
        return await self._in_thread(self._store.census, job.id)

    async def troubles(self, job: Job, limit: int) -> list[tuple[str, str, str]]:
        """Some pages that failed or were dropped: (url, reason, detail)."""
        return await self._in_thread(self._store.troubles, job.id, limit)

    async def tallies(self, job: Job) -> dict[str, int]:
        """The counters as they are stored, which is what a resumed crawl will know."""
        return await self._in_thread(self._store.tallies, job.id)

    async def delivered(self, job: Job) -> dict[str, int]:
        """Items written so far, by output."""
        rows = await self._in_thread(self._store.sinks, job.id)
        return {path: int(json.loads(position).get("count", 0)) for path, _, _, position in rows}

    # -- slaves -------------------------------------------------------------------------------

    async def _connected(self, stream: socket.socket, pid: int) -> Callable[[], None]:
        """A slave of this machine, over a socket pair."""

        def received(message: AnyMessage) -> None:
            self._received(session, message)

        def lost(error: Exception | None) -> None:
            self._lost(session, error)

        link = await open_link(stream, received, lost)
        session = self._welcome(link)
        session.process = pid
        return link.abort

    def take_slave(self, link: Link, hello: Hello) -> None:
        """A slave of another machine, over a link that is sealed."""
        session = self._welcome(link)
        link.on_message = lambda message: self._received(session, message)
        link.on_close = lambda error: self._lost(session, error)
        self._received(session, hello)

    def _welcome(self, link: Link) -> Session:
        self._session_last += 1
        number = self._session_last
        slots = max(1, -(-self._settings.concurrent_requests // max(1, self._slaves)))
        session = self.sessions[number] = Session(number, link, slots + slots // 2, monotonic())
        link.send(Welcome(PROTOCOL, number, slots, self._settings.log_level.upper()))
        if self._leaving:
            self._stop(session)
        return session

    def _received(self, session: Session, message: AnyMessage) -> None:
        session.heard_at = monotonic()
        match message:
            case Report() | Returned():
                session.inbox.append(message)
                self._wake.set()
            case Beat():
                session.rss_bytes = message.rss_bytes
            case Hello():
                if message.protocol != PROTOCOL:
                    raise LinkError(f"the slave speaks protocol {message.protocol}, this master {PROTOCOL}")
                session.pid, session.ready = message.pid, True
                self._group.greeted(message.pid)
                self._wake.set()
            case Bye():
                session.stopping = True
                if message.job and self._forever:
                    self._refused(message)
                elif message.reason:
                    self._fail(ConfigurationError(message.reason) if message.usage else LinkError(message.reason))
                # It waits for this, so that nothing more is said to a link whose other end is closed.
                session.link.close()
            case _:
                raise LinkError(f"a slave does not say {type(message).__name__}")

    def _lost(self, session: Session, error: Exception | None) -> None:
        session.lost = True
        if error is not None:
            log.warning("slave %d: %s", session.pid, error)
        self._gone.append(session)
        self._wake.set()

    def _bury(self, session: Session, batch: Batch, now: float) -> None:
        """The slave is gone: what it reported counts, what it held comes back."""
        self.sessions.pop(session.id, None)
        self._take_inbox(session, batch, now)
        if session.leases:
            log.warning("slave %d died with %d pages in hand", session.pid, len(session.leases))
        for lease in session.leases.values():
            self._intake.lost(lease, batch, now, f"slave process {session.pid} died")
        for robots in session.robots.values():
            self._intake.lost_robots(robots, now)
        session.leases.clear()
        session.robots.clear()

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
        self._group.stop_replacing()
        self._wake.set()

    async def _watch(self) -> None:
        """Replaces slaves that have fallen silent; ends a crawl whose slaves cannot start."""
        self._group.failed.add_done_callback(self._group_failed)
        while True:
            before = monotonic()
            await asyncio.sleep(WATCH_S)
            now = monotonic()
            for session in self._silent(now, now - before - WATCH_S):
                silence = now - session.heard_at
                who = session.pid or session.process
                log.warning("slave %d has been silent for %.0f s and is replaced", who, silence)
                session.heard_at = now
                self._group.kill(session.process)
                session.link.abort()
            self._wake.set()

    def _silent(self, now: float, late_s: float) -> list[Session]:
        """The slaves to be replaced. For the time in which this process itself stood still none is blamed."""
        for session in self.sessions.values():
            session.heard_at = min(now, session.heard_at + late_s)
        return [s for s in self.sessions.values() if now - s.heard_at > self._settings.slave_silence]

    def _group_failed(self, failed: asyncio.Future[None]) -> None:
        if not failed.cancelled() and (error := failed.exception()) is not None:
            self._fail(error if isinstance(error, Exception) else RuntimeError(str(error)))

    # -- loading and waiting ------------------------------------------------------------------

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
        if self._undelivered:
            due.append(self._deliver_at)
        if self._intake.down:
            due.append(now)
        at = self.workbench.next_at(now)
        if at is not None and not self._draining and any(s.room > 0 for s in self.sessions.values()):
            due.append(at)
        delay = min(due) - now
        if delay <= 0 or any(s.inbox for s in self.sessions.values()) or self._gone or self._has_calls:
            await asyncio.sleep(0)
            return
        self._wake.clear()
        self._timer = self._loop.call_later(delay, self._wake.set)
        await self._wake.wait()
        self._timer.cancel()
