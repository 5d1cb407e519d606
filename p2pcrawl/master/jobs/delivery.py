"""The delivery of one job's items to one sink: a task of its own, which waits for nobody else and holds up nobody.

The order is: the sink takes a batch, what it refused is written down, and with the master's next commit it is stored
how far that was. Whatever crashes in between, the batch is brought again; ``docs/sinks.md`` tells why that is safe.
Nothing is kept in memory but the batch under way and the next one: what waits is in the store.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from p2pcrawl.core.journal import Journal
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.cluster.notable import Notable
from p2pcrawl.model.errors import ConfigurationError, StorageError
from p2pcrawl.model.printable import on_one_line
from p2pcrawl.stores.sink import BatchLimits, Position, RefusedItem, Sink, SinkAway, SinkPage

log = logging.getLogger(__name__)

AWAY_S = 0.5
AWAY_MAX_S = 30.0
"""For how long a sink that is away is left alone: doubled from the one to the other."""
CLOSE_S = 10.0

Reading = tuple[list[SinkPage], list[int], bool]
Read = Callable[[int, BatchLimits], Awaitable[Reading]]
"""Reads the next pages behind a number, with the number up to which each is told (one more for what lies behind them),
and whether there are more."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """The place to which a sink has come, as it is stored."""

    last: int = 0
    """The number of items up to which all were brought."""
    position: Position | None = None
    """The sink's own; None: it has never been opened."""
    delivered: int = 0
    refused: int = 0

    def packed(self) -> str:
        """Writes it for the table of sinks, without its number, which stands beside it."""
        return json.dumps({"at": self.position, "delivered": self.delivered, "refused": self.refused})

    @classmethod
    def unpacked(cls, last: int, stored: str) -> Cursor:
        """Reads what :meth:`packed` wrote, or an earlier version, which knew files only."""
        told: dict[str, Any] = json.loads(stored)
        if "at" not in told:
            return cls(last, told, int(told.get("count", 0)))
        return cls(last, told["at"], told["delivered"], told["refused"])


@dataclass(frozen=True, slots=True)
class SinkState:
    """The state of a sink, as faces tell it. Nothing in it is secret."""

    sink: str
    delivered: int
    waiting: int
    refused: int
    away_since: float | None = None
    """In seconds since 1970."""
    why: str = ""
    """Why it is away."""


class Delivery:
    """One sink of one job. ``told`` hears of each change, and whether there is a cursor to be stored; ``fail`` is given
    what makes going on impossible. ``turn``: that of a sink which other deliveries use, too.
    """

    def __init__(
        self,
        url: str,
        sink: Sink,
        job: Job,
        cursor: Cursor,
        *,
        read: Read,
        refuse: Callable[[Sequence[RefusedItem]], Awaitable[None]],
        told: Callable[[Delivery, bool], None],
        fail: Callable[[Exception], None],
        journal: Journal,
        turn: asyncio.Lock | None = None,
    ) -> None:
        self.url = url
        self.job = job
        self.cursor = cursor
        self.through = asyncio.Event()
        """Set when the job has ended, all its items were brought, and the destination was left whole."""
        self.away_since: float | None = None
        self.why = ""
        self._sink = sink
        self._read = read
        self._refuse = refuse
        self._told = told
        self._fail = fail
        self._journal = journal
        self._open = False
        self._place = cursor.last
        """All up to here was looked at."""
        self._accounted = 0
        """The job's items that do not wait: brought, or gone."""
        self._ended = False
        self._grew = asyncio.Event()
        self._much = asyncio.Event()
        self._pause_s = AWAY_S
        self._warned = 0
        self._tried = asyncio.Event()
        """Set when the sink was opened, or found to be away."""
        self._turn = turn or asyncio.Lock()
        """Whoever has it uses the sink, and notes how far that has come."""

    # -- what others tell it -----------------------------------------------------------------

    def expect(self, waiting: int) -> None:
        """Takes note of how many items of the job wait for it just now."""
        self._accounted = self.job.counts["items"] - waiting

    def grow(self) -> None:
        """Takes note that items may have become durable."""
        self._grew.set()
        if self._ended or self.waiting >= self._sink.limits.items:
            self._much.set()

    def end(self) -> None:
        """Takes note that the job has ended: nothing is waited for to fill a batch, and the destination is left whole.
        Items may follow after all.
        """
        self._ended = True
        self.through.clear()
        self.grow()

    def go_on(self) -> None:
        """Takes note that the job goes on after all."""
        self._ended = False

    # -- how it stands -----------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """The items of the job that are to be brought yet, about."""
        return max(0, self.job.counts["items"] - self._accounted)

    @property
    def state(self) -> SinkState:
        cursor = self.cursor
        return SinkState(self.url, cursor.delivered, self.waiting, cursor.refused, self.away_since, self.why)

    # -- its life ----------------------------------------------------------------------------

    async def open(self) -> None:
        """Opens the sink, at its cursor. Raises as the sink does."""
        position = await self._sink.open(self.cursor.position)
        self.cursor = replace(self.cursor, position=position)
        self._open = True
        self._tried.set()

    def leave_alone(self, error: Exception) -> None:
        """Takes note that the sink is away, and why."""
        self._open = False
        self._place = self.cursor.last
        if self.away_since is None:
            self.away_since = time.time()
        self.why = on_one_line(str(error))
        self._tried.set()
        self._told(self, False)

    async def run(self) -> None:
        """Brings items until it is cancelled. A sink that is away is tried again; a disk of this machine that fails
        ends the crawl.
        """
        while True:
            try:
                if not self._open:
                    if self.away_since is not None:
                        await self._wait_for_it()
                    await self.open()
                    self._told(self, True)
                await self._bring_all()
            except (SinkAway, ConfigurationError) as error:
                self._tell_away(error)
            except StorageError as error:
                self._fail(error)
                return
            except Exception as error:
                if self.away_since is None:
                    log.exception("%s fails, its items wait", self.url)
                self.leave_alone(RuntimeError(f"{type(error).__name__}: {error}"))

    async def bring_again(self, pages: Sequence[SinkPage]) -> Sequence[RefusedItem]:
        """Brings items that were refused once more, between two batches; returns those that are again. Raises SinkAway
        when that cannot be now.
        """
        await self._tried.wait()
        async with self._turn:
            if not self._open:
                raise SinkAway(self.why or f"{self.url} is not open yet")
            written, before = await self._sink.write(pages), self.cursor
            taken = sum(len(page.items) for page in pages) - len(written.refused)
            self.cursor = replace(
                before,
                position=written.position,
                delivered=before.delivered + taken,
                refused=max(0, before.refused - taken),
            )
            self._told(self, True)
            return written.refused

    async def close(self) -> None:
        """Lets go of the sink as it is, which takes no longer than ``CLOSE_S``; one that hangs is told of, and left."""
        try:
            async with asyncio.timeout(CLOSE_S):
                await self._sink.close()
        except Exception as error:
            # Whatever was not stored is brought again.
            log.warning("%s was not closed: %s", self.url, on_one_line(str(error)) or "it does not answer")

    async def _bring_all(self) -> None:
        coming = self._next()
        try:
            while True:
                durable, (pages, places, behind) = await coming
                self._place = places[-1]
                if behind:
                    # Read while the sink takes these.
                    coming = self._next()
                if pages:
                    self.through.clear()
                    async with self._turn:
                        await self._bring(pages, places)
                if not behind:
                    await self._catch_up(durable, idle=not pages)
                    await self._wait_for_more()
                    coming = self._next()
        except BaseException:
            # Nothing is awaited here, and nothing raised: a process whose loop is no more must come to its end.
            with suppress(RuntimeError):
                coming.cancel()
            raise

    def _next(self) -> asyncio.Task[tuple[int, Reading]]:
        """Begins to read the next pages, with how many items of the job were durable before."""
        self._grew.clear()
        self._much.clear()

        async def read() -> tuple[int, Reading]:
            durable = self.job.counts["items"]
            return durable, await self._read(self._place, self._sink.limits)

        reading = asyncio.create_task(read())
        # Whoever does not wait for it any more does not want to hear why it failed.
        reading.add_done_callback(lambda read: read.cancelled() or read.exception())
        return reading

    async def _catch_up(self, durable: int, *, idle: bool) -> None:
        """Takes note that all was brought that was ``durable``, and leaves the destination whole if that was all."""
        # Items may have gone uncounted, with their page or its bucket.
        self._accounted = min(max(self._accounted, durable), self.job.counts["items"])
        if self._ended and not self._grew.is_set():
            async with self._turn:
                await self._sink.finish()
            self.through.set()
            self._told(self, False)
        if idle:
            self._here()

    async def _bring(self, pages: list[SinkPage], places: list[int]) -> None:
        written = await self._sink.write(pages)
        if written.refused:
            await self._refuse(written.refused)
            self._warn(written.refused)
        count, before = sum(len(page.items) for page in pages), self.cursor
        self.cursor = Cursor(
            places[len(pages) - 1],
            written.position,
            before.delivered + count - written.left_out - len(written.refused),
            before.refused + len(written.refused),
        )
        self._accounted += count
        self._told(self, True)
        self._here()

    def _warn(self, refused: Sequence[RefusedItem]) -> None:
        """Logs that items were refused: the first time, and when they are twice as many as were told of."""
        count = self.cursor.refused + len(refused)
        if count >= 2 * self._warned:
            self._warned = count
            reason = on_one_line(refused[0].reason)[:200]
            log.warning("%s refused %d items so far, now dead letters: %s", self.url, count, reason)

    async def _wait_for_more(self) -> None:
        """Waits for new items, and, while the job goes on, for about as many as the sink wants at once."""
        await self._grew.wait()
        if not self._ended and not self._much.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(self._sink.limits.linger_s):
                    await self._much.wait()

    # -- while it is away --------------------------------------------------------------------

    def _tell_away(self, error: Exception) -> None:
        if self.away_since is None:
            why = on_one_line(str(error))
            noted = self._journal.note(Notable.SINK_AWAY, job=self.job.id, sink=self.url, why=why)
            log.warning("%s is away, its items wait: %s", self.url, why, extra=noted)
        self.leave_alone(error)

    async def _wait_for_it(self) -> None:
        pause_s, self._pause_s = self._pause_s, min(AWAY_MAX_S, 2 * self._pause_s)
        await asyncio.sleep(pause_s)

    def _here(self) -> None:
        if self.away_since is not None:
            seconds = round(time.time() - self.away_since, 1)
            noted = self._journal.note(Notable.SINK_BACK, job=self.job.id, sink=self.url, seconds=seconds)
            log.info("%s is back after %.0f s", self.url, seconds, extra=noted)
        self.away_since, self.why, self._pause_s = None, "", AWAY_S
