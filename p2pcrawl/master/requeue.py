"""Queues that are put aside because their host is down, and pages that are taken up again: failed ones when somebody
asks for it, and those that were dropped before it was known that a start URL opens their host.

Both change many rows at once, so they are no part of a turn's batch: the cycle lets them run after its commit.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from p2pcrawl.core.hosts.politeness import RobotsEntry
from p2pcrawl.fetch.connection.guard import opened_by
from p2pcrawl.frontier.records.retried import NEVER_AGAIN
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.company.company import Company
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.revisits.visit_ends import VisitEnds
from p2pcrawl.model.cluster.notable import Notable
from p2pcrawl.model.crawl.request import Kind
from p2pcrawl.model.outcome import Drop, Failure
from p2pcrawl.model.reason_choice import EVERY_REASON, ReasonChoice

log = logging.getLogger(__name__)

ABANDON_ROWS = 5_000
"""What is put aside at once, so that commits do not wait for long."""


@dataclass(eq=False, slots=True)
class _Clearing:
    """A queue that is being cleared, and how many have gone out of it."""

    job: Job
    kinds: Collection[str]
    count: asyncio.Future[int]
    callback: str | None = None
    """Of a board that is none any more, whose pages alone go, and are visited no more."""
    gone: int = 0
    touched: set[int] = field(default_factory=set)
    """The buckets of which the copies are to hear, once all is done: to compare a large one after each step takes
    longer than all steps, and whoever takes over before that finds queued what nobody has been told to be gone."""


class Aside:
    """``down``: (job, host) of hosts that do not answer."""

    def __init__(self, company: Company, down: dict[tuple[int, int], None], visits: VisitEnds) -> None:
        ground = company.ground
        self._company = company
        self._down = down
        self._visits = visits
        self._journal = ground.journal
        self._jobs = ground.jobs
        self._orders = ground.lifecycle.orders
        self._reopened = ground.openings.reopened
        self._bench = ground.workbench
        self._recorder = ground.recorder
        self._loading = ground.loading
        self._wake = ground.wake.set
        self._retries: list[tuple[Job, ReasonChoice, asyncio.Future[int]]] = []
        self._clearings: list[_Clearing] = []
        self._restarts: list[tuple[Job, asyncio.Future[int]]] = []

    def retry(self, job: Job, choice: ReasonChoice = EVERY_REASON) -> asyncio.Future[int]:
        """Queues failed pages of a job anew, durably; returns how many."""
        count: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._retries.append((job, choice, count))
        self._wake()
        return count

    def clear(self, job: Job, kinds: Collection[str]) -> asyncio.Future[int]:
        """Drops what is queued of a job as these kinds, durably; returns how many pages. What is in a slave's hands
        goes on."""
        count: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._clearings.append(_Clearing(job, kinds, count))
        self._wake()
        return count

    def drop_board(self, job: Job, callback: str) -> asyncio.Future[int]:
        """Drops what is queued of a board that is none any more, and has its other pages visited no more, durably;
        returns how many were queued. ``callback``: of its pages. What is in a slave's hands goes on.
        """
        count: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._clearings.append(_Clearing(job, [str(kind) for kind in Kind], count, callback))
        self._wake()
        return count

    def restart(self, job: Job) -> asyncio.Future[int]:
        """Queues the entries of a job anew, durably; returns how many."""
        count: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._restarts.append((job, count))
        self._wake()
        return count

    @property
    def waiting(self) -> bool:
        """True if there is something to do in the next turn."""
        return bool(self._retries or self._clearings or self._restarts or self._down or self._reopened)

    async def run(self) -> None:
        """Does a turn's part: some of what is queued for hosts that are down, all retries, and all that is open by
        now.
        """
        for key in list(self._down):
            await self._abandon(*key)
        retries, self._retries = self._retries, []
        for job, choice, count in retries:
            changes, touched = await self._recorder.run(Store.retry, job.id, dict(self._orders), choice)
            self._took_up(job, changes, touched)
            if not count.done():
                count.set_result(changes["queued"])
        await self._clear_queues()
        reopened = dict(self._reopened)
        self._reopened.clear()
        for number, hosts in reopened.items():
            self._forget_robots(hosts)
            await self._take_up_dropped(self._jobs[number], frozenset(hosts))

    async def _clear_queues(self) -> None:
        """Clears some of what is to be cleared; the rest has its turn later."""
        for clearing in list(self._clearings):
            step = await self._recorder.run(Store.clear, clearing.job.id, clearing.kinds, clearing.callback)
            clearing.gone += len(step.records)
            clearing.job.counts.update(step.changes)
            clearing.touched |= step.touched
            self._bench.withdraw(step.records)
            if not step.records and clearing.callback is not None:
                # What was queued for a visit has none any more.
                step = await self._recorder.run(Store.cease, clearing.job.id, clearing.callback)
                clearing.job.counts.update(step.changes)
                clearing.touched |= step.touched
            if not step.records:
                self._clearings.remove(clearing)
                self._company.doubt(clearing.touched)
                if not clearing.count.done():
                    clearing.count.set_result(clearing.gone)
        restarts, self._restarts = self._restarts, []
        for job, count in restarts:
            changes, touched = await self._recorder.run(Store.restart, job.id, dict(self._orders))
            self._took_up(job, changes, touched)
            if not count.done():
                count.set_result(changes["queued"])

    def _forget_robots(self, hosts: Collection[str]) -> None:
        """Forgets what is taken for the robots.txt of hosts that were closed: it could not be asked for, and seemed to
        allow everything, or nothing where it was behind a redirect. What was read for a job to which they were open
        stays.
        """
        for seat in self._bench.seats.values():
            if seat.host.robots and opened_by(f"http://{seat.host.name}/") in hosts:
                read = {of: known for of, known in seat.host.robots.items() if _was_read(known)}
                seat.host.robots = read or None

    async def _take_up_dropped(self, job: Job, hosts: frozenset[str]) -> None:
        if not job.counts[f"dropped:{Drop.PRIVATE_NETWORK}"]:
            return

        def is_open(url: str) -> bool:
            return opened_by(url) in hosts

        changes, touched = await self._recorder.run(Store.take_up_dropped, job.id, is_open, dict(self._orders))
        if changes:
            log.info("%d pages of job %d are queued again: their host is open", changes["queued"], job.id)
            self._took_up(job, changes, touched)

    def _took_up(self, job: Job, changes: Counter[str], touched: Collection[int]) -> None:
        job.counts.update(changes)
        self._bench.reload_job(job.id)
        self._loading.sweep_all()
        self._company.doubt(touched)

    async def _abandon(self, number: int, host: int) -> None:
        """Puts the next pages of a host that is down aside, which is granted nothing meanwhile. Items that wait for
        files of that host are to go on without.
        """
        waiting, given_up = await self._recorder.run(Store.give_up, number, host, ABANDON_ROWS)
        job = self._jobs.get(number)
        due_at = self._visits.due_at(job) if job is not None else {}
        failed = self._visits.host_down_again(job) if job is not None else NEVER_AGAIN
        changes, touched = await self._recorder.run(Store.abandon, number, host, ABANDON_ROWS, due_at, failed)
        if job is not None:
            self._visits.budget(job).clear(host)
        touched |= given_up
        self._company.doubt(touched)
        if number in self._jobs:
            self._jobs[number].counts.update(changes)
        self._bench.abandon(number, host)
        if not given_up and changes["failed"] < ABANDON_ROWS:
            del self._down[(number, host)]
            if waiting:
                self._bench.reload_job(number)
                self._loading.sweep_all()
        if changes["failed"]:
            seat = self._bench.seats.get(host)
            noted = self._journal.note(Notable.HOST_DOWN, job=number, host=seat.host.name if seat is not None else "")
            text = "%d pages failed: %s, their host does not answer"
            log.warning(text, changes["failed"], Failure.HOST_DOWN, extra=noted)


def _was_read(robots: RobotsEntry) -> bool:
    return not robots.only_for and robots.verdict != "disallow"
