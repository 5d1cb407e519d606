"""Old runs of schedules: their jobs go when enough newer ones are there, so that a schedule may run for ever.

Only jobs that its runs have begun are ever deleted, never one that URLs were put into: the job of a run is called as
the schedule is, and was submitted at the run's moment to the millisecond. It goes when it is over, and all of its items
are with its sinks, as far as all masters say so; while one is away, nothing goes.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from p2pcrawl.core.control import CANCELLED, FINISHED
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.cluster.schedule import RunOutcome, Schedule

log = logging.getLogger(__name__)

AT_ONCE: Final = 5
"""Jobs of a schedule that are deleted in one look."""

Told = Callable[[Sequence[Job]], Awaitable[Sequence[Mapping[str, Any]]]]
Delete = Callable[[Job], Awaitable[object]]


class OldRuns:
    """Knows the jobs of a master. ``told`` counts some over all masters; ``delete`` deletes one, everywhere."""

    def __init__(self, jobs: Mapping[int, Job], told: Told, delete: Delete) -> None:
        self._jobs = jobs
        self._told = told
        self._delete = delete

    async def tidy(self, schedule: Schedule) -> None:
        """Deletes some jobs of runs that are older than the last ones that a schedule keeps. Raises P2PCrawlError."""
        if not schedule.keep:
            return
        over = [job for job in self._begun(schedule)[schedule.keep :] if job.state in (FINISHED, CANCELLED)]
        for job in over[-AT_ONCE:]:
            (told,) = await self._told([job])
            if told["away"] or any(sink["waiting"] for sink in told["sinks"]):
                continue
            await self._delete(job)
            log.info("schedule %s: job %d of an old run is deleted", schedule.name, job.id)

    def _begun(self, schedule: Schedule) -> list[Job]:
        """Returns the jobs that its runs have begun and that are still there, the newest first."""
        found = {}
        for run in reversed(schedule.runs):
            job = self._jobs.get(run.job)
            if run.outcome is not RunOutcome.STARTED or job is None or job.is_deleted:
                continue
            if job.spec.label == schedule.name and job.spec.submitted == run.tick:
                found[job.id] = job
        return list(found.values())
