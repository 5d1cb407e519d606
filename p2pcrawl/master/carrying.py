"""The carrying of a cluster's items into the sinks of their jobs: each master brings what is its own.

Which sinks have a page is told, now and then, to those that hold its copy (``Delivered``): so whoever comes to own it
does not bring it once more. A mark that does not come costs a repeat, which the key of the items makes harmless; so it
is said once. What is told is read from the records and their items as they are at that moment, never from what was
brought before: a mark that is wrong would cost an item.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

from p2pcrawl.core.control import ENDS
from p2pcrawl.frontier.records.item_table import BroughtPage
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.company.neighbours import Neighbours
from p2pcrawl.master.jobs.delivery import Cursor, Delivery, SinkState
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.jobs.outputs import Outputs
from p2pcrawl.master.jobs.redelivery import Redelivered
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.job import JobSpec
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.overlay.peers import SOON_S
from p2pcrawl.overlay.tasks import Tasks
from p2pcrawl.wire.messages.peer_messages import Delivered

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""Between two looks at what is to be opened, told and let go of."""
PAGES_MAX = 1000
"""Pages of one message of marks."""

ReadSinks = Callable[[JobSpec], tuple[SinkSpec, ...]]
"""Returns the sinks of a job with their passwords. Raises ConfigurationError where these cannot be read."""


class Carrying:
    """Opens the sinks of the jobs that are known here, and lets go of those for which there is nothing to do."""

    def __init__(self, neighbours: Neighbours, outputs: Outputs, read: ReadSinks) -> None:
        ground = neighbours.ground
        self._jobs = ground.jobs
        self._recorder = ground.recorder
        self._peers = neighbours.peers
        self._copying = neighbours.copying
        self._outputs = outputs
        self._read = read
        self._told: dict[tuple[int, int], int] = {}
        """By job and sink: the number up to which holders were told of its items."""
        self._enrolled: set[int] = set()
        self._lettered: Counter[int] = Counter()
        """By job: how many send its dead letters again just now."""
        self._opening = asyncio.Lock()
        """Whoever has it opens the sinks of a job, once for all who want them open, or lets go of them."""
        self._ended: set[Delivery] = set()
        """Those that were told that their job has ended."""
        self._tasks = Tasks()
        self._troubles: dict[int, tuple[float, str]] = {}
        """By job: since when its sinks cannot be opened here, and why."""

    async def run(self) -> None:
        """Looks after all jobs until it is cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            for job in [job for job in self._jobs.values() if job.spec.sinks]:
                try:
                    await self._see_to(job)
                except P2PCrawlError as error:
                    log.debug("looking after the outputs of job %d: %s", job.id, error)
                except Exception:
                    log.exception("looking after the outputs of job %d failed", job.id)

    async def close(self) -> None:
        await self._tasks.close()

    async def states(self, job: Job) -> list[SinkState]:
        """Tells how each sink of a job stands, as far as its items are here."""
        if not job.spec.sinks:
            return []
        waiting = await self._recorder.run(Store.waiting_by_sink, job.id)
        states = {state.sink: state for state in self._outputs.states(job)}
        trouble = self._troubles.get(job.id, (None, ""))
        found = []
        for sink in job.spec.sinks:
            left, position = waiting.get(sink.url, (job.counts["items"], Cursor().packed()))
            cursor, state = Cursor.unpacked(0, position), states.get(sink.url)
            away_since, why = (state.away_since, state.why) if state is not None else trouble
            found.append(SinkState(sink.url, cursor.delivered, left, cursor.refused, away_since, why))
        return found

    async def waiting(self) -> int:
        """Counts the items here that wait for sinks, once for each."""
        carried = [job for job in self._jobs.values() if job.spec.sinks]
        return sum([state.waiting for job in carried for state in await self.states(job)])

    async def send_letters(self, job: Job) -> list[Redelivered]:
        """Sends the dead letters that this master has of a job to their sinks again, which are opened for it if need
        be. Raises P2PCrawlError where one cannot be.
        """
        self._lettered[job.id] += 1
        try:
            async with self._opening:
                if not self._outputs.carried(job):
                    await self._outputs.enrol(job)
                    await self._outputs.carry(job, self._read(job.spec))
            return await self._outputs.send_letters(job)
        finally:
            self._lettered[job.id] -= 1

    async def _see_to(self, job: Job) -> None:
        over = job.state in ENDS
        if job.id not in self._enrolled:
            await self._outputs.enrol(job)
            self._enrolled.add(job.id)
        if not self._outputs.carried(job):
            if over and not await self._recorder.run(Store.waits, job.id):
                return
            await self._open(job)
        deliveries = self._outputs.carried(job)
        for delivery in deliveries:
            if over and delivery not in self._ended:
                self._ended.add(delivery)
                delivery.end()
            elif not over and delivery in self._ended:
                self._ended.discard(delivery)
                delivery.go_on()
        await self._tell_holders(job)
        through = over and all(delivery.through.is_set() for delivery in deliveries)
        if through and not await self._recorder.run(Store.waits, job.id):
            async with self._opening:
                if not self._lettered[job.id]:
                    await self._outputs.leave(job)
            self._ended.difference_update(set(deliveries).difference(self._outputs.carried(job)))

    async def _open(self, job: Job) -> None:
        try:
            async with self._opening:
                if not self._outputs.carried(job):
                    await self._outputs.carry(job, self._read(job.spec))
        except ConfigurationError as error:
            if job.id not in self._troubles:
                log.warning("the outputs of job %d cannot be opened here, its items wait: %s", job.id, error)
            self._troubles.setdefault(job.id, (time.time(), str(error)))
        else:
            self._troubles.pop(job.id, None)

    # -- marks --------------------------------------------------------------------------------

    async def _tell_holders(self, job: Job) -> None:
        """Tells the holders which pages the sinks of a job have got since the last time."""
        for place, delivery in enumerate(self._outputs.carried(job)):
            last = delivery.cursor.last
            told = self._told.setdefault((job.id, place), last)
            while told < last:
                pages = await self._recorder.run(Store.brought, job.id, told, last, PAGES_MAX)
                told = pages[-1].last if pages else last
                for node, theirs in self._by_holder(pages).items():
                    self._tasks.start(self._mark(node, job.id, 1 << place, theirs))
            self._told[job.id, place] = told

    def _by_holder(self, pages: Sequence[BroughtPage]) -> dict[NodeId, list[BroughtPage]]:
        found: dict[NodeId, list[BroughtPage]] = {}
        for page in pages:
            for node in self._copying.holders(page.bucket):
                found.setdefault(node, []).append(page)
        return found

    async def _mark(self, node: NodeId, job: int, marks: int, pages: Sequence[BroughtPage]) -> None:
        request = Delivered(
            0,
            job,
            marks,
            [page.bucket for page in pages],
            b"".join(page.fingerprint for page in pages),
            [page.stamp for page in pages],
            [page.items for page in pages],
        )
        with suppress(P2PCrawlError):
            await self._peers.ask(node, request, SOON_S)
