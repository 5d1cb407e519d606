"""The turns of pages that are visited again: what is due is begun, as far as its host has room, or put off.

It changes many rows at once, and so is no part of a turn's batch: the cycle lets it run after its commit. Nothing of it
has to reach the copies. Whoever takes over finds the page due, and begins the same visit.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from p2pcrawl.core.revisits.budget import LONGEST_S
from p2pcrawl.frontier.records.due_visits import DueVisit, Lateness, WaitingPage
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.company.company import Company
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.revisits.board_periods import due_by
from p2pcrawl.master.revisits.visit_ends import VisitEnds
from p2pcrawl.spiders.boards.board import Revisit

log = logging.getLogger(__name__)

EVERY_S = 1.0
BEGUN_MAX = 500
"""Visits that are looked at in one turn of the cycle."""
ELSEWHERE_S = 5.0
"""How long a page is put off whose bucket is about to leave, or is not served yet."""
CLOCK_S = 60.0
"""How often it is looked for pages that are due later than any can be."""


@dataclass(eq=False, slots=True)
class _Hastening:
    """Pages of a board that are to be due sooner, and how many are by now."""

    job: Job
    callback: str
    due_of: Callable[[WaitingPage], int]
    count: asyncio.Future[int]
    after: int = 0
    sooner: int = 0


class Turns:
    """``clock`` tells the time of day."""

    def __init__(self, company: Company, ends: VisitEnds, clock: Callable[[], float] = time.time) -> None:
        self._ground = ground = company.ground
        self._company = company
        self._ends = ends
        self._clock = clock
        self._lifecycle = ground.lifecycle
        self._recorder = ground.recorder
        self._bench = ground.workbench
        self._next_at = 0.0
        self._clock_at = 0.0
        self._hastenings: list[_Hastening] = []

    @property
    def waiting(self) -> bool:
        """Tells whether it is time to look again."""
        if self._hastenings:
            return True
        return monotonic() >= self._next_at and any(_is_visited(job) for job in self._lifecycle.active)

    def hasten(self, job: Job, callback: str, revisit: Revisit) -> asyncio.Future[int]:
        """Makes due, durably, what is due later than by the periods of its board as they are now; returns how many
        pages. What is late by them comes spread over a period. ``callback``: of its pages.
        """
        count: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        due_of = due_by(job, revisit, int(self._clock()))
        if due_of is None:
            count.set_result(0)
        else:
            self._hastenings.append(_Hastening(job, callback, due_of, count))
            self._ground.wake.set()
        return count

    async def run(self, *, draining: bool = False) -> None:
        """Begins the next visits that are due, of each job that runs; but while it drains."""
        await self._hasten_some()
        now = monotonic()
        if now < self._next_at:
            return
        self._next_at = now + EVERY_S
        if draining or self._company.full:
            return
        looks = now >= self._clock_at
        if looks:
            self._clock_at = now + CLOCK_S
        for job in [job for job in self._lifecycle.active if _is_visited(job)]:
            if looks:
                await self._bring_back(job)
            await self._begin(job, now)

    async def lateness(self, job: Job) -> Lateness:
        """Tells how far a job is behind its periods here. Visits that have begun are not over, and count."""
        if job.counts["again"] <= 0:
            return Lateness(self._ends.budget(job).open, 0)
        late = await self._recorder.run(Store.lateness, job.id, int(self._clock()), int(LONGEST_S))
        return late._replace(overdue=late.overdue + self._ends.budget(job).open)

    async def _hasten_some(self) -> None:
        """Takes the next step of each; the rest has its turn later."""
        for each in list(self._hastenings):
            asked = each.job.id, each.callback, each.after, int(self._clock()), each.due_of
            step = await self._recorder.run(Store.hasten_some, *asked)
            each.job.counts.update(step.changes)
            each.sooner, each.after = each.sooner + step.sooner, step.after
            if not step.after:
                self._hastenings.remove(each)
                if not each.count.done():
                    each.count.set_result(each.sooner)

    async def _begin(self, job: Job, now: float) -> None:
        wall = int(self._clock())
        due = await self._recorder.run(Store.due_visits, job.id, wall, BEGUN_MAX)
        if not due:
            return
        begun, put_off = [], []
        for visit in due:
            if wait_s := self._wait_s(job, visit, now):
                put_off.append((visit.record, wall + max(1, round(wait_s))))
            else:
                begun.append(visit.record)
        orders = dict(self._lifecycle.orders)
        visits = await self._recorder.run(Store.begin_visits, job.id, begun, put_off, orders)
        job.counts.update(visits.changes)
        self._bench.add(visits.candidates)
        if len(due) == BEGUN_MAX:
            self._next_at = now

    def _wait_s(self, job: Job, visit: DueVisit, now: float) -> float:
        """Returns for how long a page is put off; 0: its visit begins."""
        router = self._company.router
        if router.owner(visit.bucket) is not None or not router.serves(visit.bucket):
            return ELSEWHERE_S
        at = self._ends.budget(job).begin(visit.host, now)
        return max(0.0, at - now) if at else 0.0

    async def _bring_back(self, job: Job) -> None:
        longest = max(self._ends.periods(job).greatest, round(job.settings.retry_failed_after))
        latest = int(self._clock()) + longest
        if count := await self._recorder.run(Store.bring_back_visits, job.id, latest):
            log.warning("%d pages of job %d were due too late: was a clock set back?", count, job.id)


def _is_visited(job: Job) -> bool:
    return not job.closing and job.counts["again"] > 0
