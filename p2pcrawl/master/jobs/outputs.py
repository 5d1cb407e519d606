"""Items on their way out: to files as they come, and to whoever reads along."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from time import monotonic

from p2pcrawl.frontier.records.recorder import Recorder
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.jobs.delivery import Delivery
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.crawl.sink_spec import SinkSpec

DELIVER_S = 0.5
READ_ROWS = 100


class Outputs:
    """The outputs of all jobs. What is to be stored of them waits in ``delivered`` for the master's next commit."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._deliveries: list[Delivery] = []
        self._undelivered = False
        self._delivered: list[tuple[int, str, int, str]] = []
        self._grew = asyncio.Event()
        self._ended = False
        self.deliver_at = 0.0

    async def open(self, job: Job, sinks: Iterable[SinkSpec]) -> None:
        """Opens the sinks that were asked for, and those that the store knows. Raises ConfigurationError for one that
        cannot work.
        """
        wanted = {sink.url: sink for sink in sinks}
        for path, *_ in await self._recorder.run(Store.sinks, job.id):
            wanted.setdefault(path, SinkSpec(path))
        for sink in wanted.values():
            opened = await self._recorder.run(Delivery.open, job.id, sink, job.settings)
            self._deliveries.append(opened)
            self._undelivered = True

    @property
    def due_at(self) -> float | None:
        """The time at which the next step is due; None while there is nothing to deliver."""
        return self.deliver_at if self._undelivered else None

    def take_delivered(self) -> list[tuple[int, str, int, str]]:
        """Takes, for the batch, how far each output has come."""
        delivered, self._delivered = self._delivered, []
        return delivered

    async def tend(self, now: float, grew: bool) -> None:
        """Delivers after a commit, which brought items if it ``grew``."""
        self._undelivered = self._undelivered or grew
        if self._undelivered and now >= self.deliver_at:
            await self.deliver()
        if grew:
            self._wake_readers()

    async def deliver(self) -> None:
        """Takes one step of every output; what came of it is stored with the next commit."""
        more = behind = False
        for delivery in self._deliveries:
            told = await self._recorder.run(delivery.step)
            if told is not None:
                self._delivered.append(told)
                more = True
                behind = behind or delivery.behind
        self._undelivered = more
        # One that has more to write than it could now has its next step behind the next commit.
        self.deliver_at = monotonic() + (0.0 if behind else DELIVER_S)

    async def finish(self, commit: Callable[[], Awaitable[None]]) -> None:
        """Delivers everything and makes the files whole; ``commit`` stores what waits in between."""
        self._undelivered = bool(self._deliveries)
        while self._undelivered:
            await self.deliver()
            await commit()
        for delivery in self._deliveries:
            await self._recorder.in_thread(delivery.finish)
        await commit()

    async def close(self) -> None:
        for delivery in self._deliveries:
            await self._recorder.in_thread(delivery.close)

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

    async def counts(self, job: Job) -> dict[str, int]:
        """Counts the items written so far, by output."""
        rows = await self._recorder.run(Store.sinks, job.id)
        return {path: int(json.loads(position).get("count", 0)) for path, _, _, position in rows}

    def _wake_readers(self) -> None:
        self._grew.set()
        self._grew = asyncio.Event()
