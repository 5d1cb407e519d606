"""The beginning of a run: its job is begun, or its URLs are put into one, and the schedule is told what came of it."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

from p2pcrawl.core.control import DELETED, ENDS
from p2pcrawl.core.scheduling.schedule_order import run_number
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.injection import URLS_MAX, Injection
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.cluster.schedule import WHY_CHARS_MAX, RunOutcome, Schedule, ScheduledRun
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.answers.called_jobs import job_called
from p2pcrawl.peer.answers.submission import Submission
from p2pcrawl.peer.schedules.scheduled_task import ScheduledTask, bound_to, opened_task
from p2pcrawl.wire.sealed.at_rest import RestSeal

log = logging.getLogger(__name__)

UNKNOWN_MS = 120_000
"""For so long a job that somebody has begun may not be known here."""


class TakesCrawls(Protocol):
    """The part of a peer that takes crawls in; see :mod:`p2pcrawl.peer.acceptance`."""

    async def try_out(self, submission: Submission) -> None:
        """Raises ConfigurationError for a submission that could not be taken now."""

    async def begin_numbered(self, submission: Submission, number: int, at_ms: int) -> Job:
        """Begins a job of a number that is made of what it is for."""


class Beginning:
    """Begins runs of schedules. A run that two masters begin is one job all the same."""

    def __init__(self, cluster: Cluster, acceptance: TakesCrawls, injection: Injection, seal: RestSeal) -> None:
        self._jobs = cluster.master.jobs
        self._book = cluster.schedules
        self._acceptance = acceptance
        self._injection = injection
        self._seal = seal

    async def begin(self, schedule: Schedule, tick: int, *, by_hand: bool = False) -> ScheduledRun:
        """Begins a run; durable, and noted, when this returns. One that cannot be is noted as refused. Raises
        P2PCrawlError where it could not be begun now: it may be, soon.
        """
        try:
            task = opened_task(*await self._book.task(schedule), self._seal, schedule.name)
            run = await self._begun(task, schedule, ScheduledRun(tick, RunOutcome.STARTED, by_hand=by_hand))
            log.info("schedule %s: the run of %s is job %d", schedule.name, moment_words(tick), run.job)
        except ConfigurationError as error:
            run = ScheduledRun(tick, RunOutcome.REFUSED, 0, str(error)[:WHY_CHARS_MAX], by_hand)
            log.warning("schedule %s: the run of %s was refused: %s", schedule.name, moment_words(tick), error)
        await self._book.note(schedule, run)
        return run

    async def _begun(self, task: ScheduledTask, schedule: Schedule, run: ScheduledRun) -> ScheduledRun:
        if task.crawl is not None:
            number = run_number(schedule, run.tick, by_hand=run.by_hand)
            crawl = replace(task.crawl, label=schedule.name)
            return run._replace(job=(await self._acceptance.begin_numbered(crawl, number, run.tick)).id)
        job = job_called(self._jobs.values(), task.job)
        for start in range(0, len(task.urls), URLS_MAX):
            await self._injection.inject(job, task.urls[start : start + URLS_MAX])
        return run._replace(job=job.id)

    def is_busy(self, schedule: Schedule, now: int) -> bool:
        """Tells whether the job of an earlier run is not over, as far as that is known here."""
        return any(self._goes_on(run, now) for run in schedule.runs if run.outcome is RunOutcome.STARTED)

    def _goes_on(self, run: ScheduledRun, now: int) -> bool:
        job = self._jobs.get(run.job)
        if job is None:
            return run.tick > now - UNKNOWN_MS
        return job.state not in (*ENDS, DELETED)

    async def seal_anew(self, schedule: Schedule) -> None:
        """Keeps the passwords of a schedule under the key in use by now."""

        def renewed(secrets: bytes, digest: bytes) -> bytes:
            return self._seal.renewed(secrets, bound_to(schedule.name, digest))

        await self._book.seal_anew(schedule, renewed)


def moment_words(tick: int) -> str:
    """Returns a moment as people read it, in UTC."""
    return datetime.fromtimestamp(tick / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
