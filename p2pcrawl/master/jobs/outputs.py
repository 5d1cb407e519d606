"""Items on their way out: to the sinks of their jobs, and to whoever reads along."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from p2pcrawl.core.journal import Journal
from p2pcrawl.frontier.records.recorder import Recorder
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.jobs.dead_letters import DeadLetters
from p2pcrawl.master.jobs.delivery import Cursor, Delivery, SinkState
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.jobs.job_names import JobNames, stored_spec
from p2pcrawl.master.jobs.redelivery import Redelivered, send_again_here
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError, StorageError
from p2pcrawl.overlay.tasks import Tasks, end
from p2pcrawl.stores.address import scheme_of
from p2pcrawl.stores.kinds import SinkPlace, address_of, make_sink
from p2pcrawl.stores.shared_sink import SharedSink
from p2pcrawl.stores.sink import BatchLimits, RefusedItem, Sink, SinkAway, SinkPage

READ_ROWS = 100
STORE_S = 1.0
"""Cursors are stored at least this often while the last items are waited for."""


@dataclass(slots=True)
class _Expected:
    """Items up to a number, and whether their pages are copied."""

    last: int
    copied: bool = False


class Outputs:
    """The sinks of all jobs. What is to be stored of them waits for the master's next commit."""

    def __init__(
        self,
        recorder: Recorder,
        journal: Journal,
        fail: Callable[[Exception], None],
        *,
        misses: Callable[[int], bool],
        shared: bool,
    ) -> None:
        """``fail`` is given what makes going on impossible. ``misses`` tells of a bucket whether others may have known
        more of it. ``shared``: other masters bring items of the jobs, too.
        """
        self._recorder = recorder
        self._misses = misses
        self._shared = shared
        self._fail = fail
        self._journal = journal
        self._letters = DeadLetters(recorder.folder)
        self._deliveries: list[Delivery] = []
        self._running: dict[Delivery, asyncio.Task[None]] = {}
        self._until = 0
        """The number of items up to which pages are copied as widely as can be."""
        self._expected: deque[_Expected] = deque()
        """What is durable here behind that, in order."""
        self._files: dict[str, SharedSink] = {}
        """The files that jobs write to, by their paths: several jobs may write to one."""
        self._moved: dict[Delivery, None] = {}
        """Those that have come further than is stored."""
        self._tasks = Tasks()
        self._runs = False
        self._patient = True
        self._failed: Exception | None = None
        self._sending = asyncio.Lock()
        self._changed = asyncio.Event()
        self._grew = asyncio.Event()
        self._ended = False

    # -- opening ------------------------------------------------------------------------------

    async def open(self, job: Job, sinks: Iterable[SinkSpec]) -> None:
        """Opens the sinks that were asked for, and those that the store knows. Raises ConfigurationError for one that
        cannot work; one that is away is waited for only if it is known to have worked.
        """
        rows = await self._recorder.run(Store.sinks, job.id)
        stored = {url: (spec, Cursor.unpacked(last, position)) for url, spec, last, position in rows}
        wanted = {sink.url: sink for sink in sinks}
        for url, (told, _) in stored.items():
            wanted.setdefault(url, stored_spec(url, told))
        made = [(spec, await self._shared_or_made(job, spec)) for spec in wanted.values()]
        # What empties its destination comes last, when all others are known to work.
        for spec, sink in sorted(made, key=lambda each: each[0].replace):
            _, cursor = stored.get(spec.url, ("", Cursor()))
            delivery = self._delivery(job, spec.url, sink, cursor)
            self._deliveries.append(delivery)
            await self._open_one(delivery, spec, known=spec.url in stored)
            delivery.expect(await self._recorder.run(Store.waiting, job.id, cursor.last))
            self._start(delivery)

    async def known(self, job: Job) -> list[str]:
        """Returns the addresses of the sinks that the store knows of a job."""
        return [url for url, *_ in await self._recorder.run(Store.sinks, job.id)]

    async def owes(self, job: Job) -> bool:
        """Tells whether items of a job wait for a sink that the store knows."""
        rows = await self._recorder.run(Store.sinks, job.id)
        return any([await self._recorder.run(Store.waiting, job.id, last) for _, _, last, _ in rows])

    async def enrol(self, job: Job) -> None:
        """Enters the sinks that a job of the cluster was submitted with in the store: all its items wait for them, but
        those that are marked.
        """
        told = [(s.url, json.dumps({"replace": s.replace, "options": s.options})) for s in job.spec.sinks]
        await self._recorder.run(Store.carry_sinks, job.id, told, Cursor().packed())

    async def carry(self, job: Job, sinks: Sequence[SinkSpec]) -> None:
        """Brings the items of a job of the cluster, as far as they are here, into its sinks, which are enrolled and
        given in their order. One that cannot be opened is away. Raises ConfigurationError where one cannot even be made
        here.
        """
        made = [self._made(job, spec) for spec in sinks]
        rows = await self._recorder.run(Store.sinks, job.id)
        stored = {url: Cursor.unpacked(last, position) for url, _, last, position in rows}
        for place, (spec, sink) in enumerate(zip(sinks, made, strict=True)):
            delivery = self._delivery(job, spec.url, sink, stored[spec.url], place)
            self._deliveries.append(delivery)
            self._start(delivery)

    async def leave(self, job: Job) -> None:
        """Lets go of the sinks of a job, for which there is nothing to do for now; not before it is stored how far they
        have come.
        """
        if any(delivery in self._moved for delivery in self.carried(job)):
            return
        for delivery in self.carried(job):
            self._deliveries.remove(delivery)
            if (task := self._running.pop(delivery, None)) is not None:
                await end([task])
            await delivery.close()

    def _start(self, delivery: Delivery) -> None:
        if self._runs:
            self._running[delivery] = self._tasks.start(delivery.run())

    def place(self, job: Job, *, replace: bool = False) -> SinkPlace:
        """Returns what a sink of a job is told of its surroundings."""
        return self._names(job).place(job.spec.name, job.settings, replace=replace)

    def _names(self, job: Job) -> JobNames:
        """Returns the names under which a job's items are brought. Jobs of a cluster have a number of their own."""
        return JobNames.of(job.id, self._recorder.store_id, shared=self._shared)

    def _made(self, job: Job, spec: SinkSpec) -> Sink:
        return make_sink(address_of(spec), self.place(job, replace=spec.replace))

    async def _shared_or_made(self, job: Job, spec: SinkSpec) -> Sink:
        """Makes a sink; a file is made once for all the jobs that write to it."""
        if scheme_of(spec.url):
            return self._made(job, spec)
        if spec.url not in self._files:
            rows = await self._recorder.run(Store.positions, spec.url)
            stored = [Cursor.unpacked(last, position).position for last, position in rows]
            self._files[spec.url] = SharedSink(self._made(job, spec), stored)
        return self._files[spec.url]

    def _delivery(self, job: Job, url: str, sink: Sink, cursor: Cursor, place: int | None = None) -> Delivery:
        """Makes the delivery of one sink; ``place``: among those that the job was submitted with."""
        name, marked = self._names(job).job, 0 if place is None else 1 << place

        async def read(last: int, limits: BatchLimits) -> tuple[list[SinkPage], list[int], bool]:
            found, behind, more = await self._recorder.run(
                Store.pages_after, job.id, last, limits.items, limits.bytes, until=self._until, marked=marked
            )
            pages = [
                SinkPage(
                    name,
                    page.fingerprint.hex(),
                    page.url,
                    page.visit,
                    page.ended,
                    page.items,
                    # Who knew it may have brought it, though nobody here can say so.
                    again=page.again or self._misses(page.bucket),
                )
                for page in found
            ]
            return pages, [*(page.last for page in found), behind], more

        async def refuse(refused: Sequence[RefusedItem]) -> None:
            await self._letters.add(url, refused)

        turn = sink.turn if isinstance(sink, SharedSink) else asyncio.Lock()
        return Delivery(
            url,
            sink,
            job,
            cursor,
            read=read,
            refuse=refuse,
            told=self._take,
            fail=self._give_up,
            journal=self._journal,
            turn=turn,
        )

    async def _open_one(self, delivery: Delivery, spec: SinkSpec, *, known: bool) -> None:
        try:
            await delivery.open()
        except SinkAway as error:
            if not known:
                raise ConfigurationError(f"nothing was begun: {error}") from None
            delivery.leave_alone(error)
        except StorageError as error:
            if not known:
                raise ConfigurationError(f"nothing was begun: {error}") from None
            raise
        if not known:
            told = json.dumps({"replace": spec.replace, "options": spec.options})
            await self._recorder.run(Store.add_sink, delivery.job.id, delivery.url, told, delivery.cursor.packed())

    # -- while it runs ------------------------------------------------------------------------

    def begin(self) -> None:
        """Begins to bring items, each sink in a task of its own."""
        self._runs = True
        for delivery in self._deliveries:
            self._start(delivery)

    def take_delivered(self) -> list[tuple[int, str, int, str]]:
        """Takes, for the batch, how far each sink has come."""
        moved, self._moved = self._moved, {}
        return [(each.job.id, each.url, each.cursor.last, each.cursor.packed()) for each in moved]

    def tend(self, grew: bool) -> None:
        """Follows a commit, which brought items if it ``grew``."""
        if grew:
            for delivery in self._deliveries:
                delivery.grow()
            self._wake_readers()

    def expect_copies(self, last: int) -> Callable[[], None]:
        """Takes note of the number of the last items that are durable here. Returns what is to be called when their
        pages are copied as widely as can be: they may be brought then, when all before them may.
        """
        expected = _Expected(last)
        self._expected.append(expected)

        def copied() -> None:
            expected.copied = True
            self._bring_copied()

        return copied

    def _bring_copied(self) -> None:
        until = self._until
        while self._expected and self._expected[0].copied:
            self._until = self._expected.popleft().last
        if self._until != until:
            for delivery in self._deliveries:
                delivery.grow()

    def _take(self, delivery: Delivery, moved: bool) -> None:
        if moved:
            self._moved[delivery] = None
        self._changed.set()

    def _give_up(self, error: Exception) -> None:
        self._failed = self._failed or error
        self._changed.set()
        self._fail(error)

    # -- the end ------------------------------------------------------------------------------

    async def finish(self, commit: Callable[[], Awaitable[None]], *, patient: bool) -> None:
        """Brings everything and leaves the destinations whole; ``commit`` stores what waits in between. Those that are
        away are waited for if it is ``patient``, until :meth:`hurry`. Raises what makes that impossible.
        """
        self._patient = self._patient and patient
        for delivery in self._deliveries:
            delivery.end()
        while self._failed is None and not all(map(self._is_over, self._deliveries)):
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(STORE_S):
                    await self._changed.wait()
            await commit()
        await commit()
        if self._failed is not None:
            raise self._failed

    def hurry(self) -> None:
        """Waits no longer for sinks that are away."""
        self._patient = False
        self._changed.set()

    def _is_over(self, delivery: Delivery) -> bool:
        return delivery.through.is_set() or (not self._patient and delivery.away_since is not None)

    async def close(self) -> None:
        """Lets go of all sinks, as they are."""
        await self._tasks.close()
        for delivery in self._deliveries:
            await delivery.close()

    # -- for whoever reads along --------------------------------------------------------------

    async def items_after(self, job: Job, last: int) -> list[tuple[int, bytes]]:
        """Returns the next items of a job, waiting for them; empty when the crawl has ended and there are no more."""
        while True:
            # Looked at before the store is, so that nothing can come in between unnoticed.
            ended, grew = self._ended, self._grew
            rows = await self._recorder.run(Store.items_after, job.id, last, READ_ROWS)
            if rows or ended:
                return rows
            await grew.wait()

    def end(self) -> None:
        """Ends the outputs: no more items will come."""
        self._ended = True
        self._wake_readers()

    async def send_letters(self, job: Job) -> list[Redelivered]:
        """Sends the dead letters of a job, whose sinks are open here, to them again. Raises StorageError."""
        async with self._sending:
            return await send_again_here(self._letters, self.carried(job), self._names(job).job)

    def carried(self, job: Job) -> list[Delivery]:
        """Returns the deliveries of a job, in the order of its sinks."""
        return [each for each in self._deliveries if each.job is job]

    def states(self, job: Job) -> list[SinkState]:
        """Returns how it stands with each sink of a job."""
        return [each.state for each in self._deliveries if each.job is job]

    async def counted_states(self, job: Job) -> list[SinkState]:
        """Returns what ``states`` does, with what waits counted item by item."""
        for each in self._deliveries:
            if each.job is job:
                each.expect(await self._recorder.run(Store.waiting, job.id, each.cursor.last))
        return self.states(job)

    def _wake_readers(self) -> None:
        self._grew.set()
        self._grew = asyncio.Event()
