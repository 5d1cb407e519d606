"""Limits of time that close a job early, at masters that run for longer than the job does."""

from __future__ import annotations

from typing import Any

import pytest

from p2pcrawl.core.control import FINISHED, PAUSED, RUNNING, Control
from p2pcrawl.core.journal import Journal
from p2pcrawl.master.jobs.job import Job, JobId, KnownJobs, SpiderRef, job_of
from p2pcrawl.master.jobs.lifecycle import Lifecycle
from p2pcrawl.model.crawl.job import JobSpec

UP_S = 86_400.0
"""For how long the master has run when the job comes."""


class FakeBench:
    """Takes all that a job is told to the workbench, and the queues, as done."""

    def __getattr__(self, _: str) -> Any:
        return lambda *_: None


def begun(**settings: float) -> tuple[Lifecycle, Job]:
    """A job that a master has looked at once, having run for a day before."""
    spec = JobSpec(JobId(7), "quotes", SpiderRef(file="a.py", qualname="A"), settings=settings)
    job, fake = job_of(spec, Control()), FakeBench()
    lifecycle = Lifecycle(KnownJobs({7: job}), fake, fake, Journal(float), lambda: None)  # type: ignore[arg-type]
    look(lifecycle, 0)
    return lifecycle, job


def look(lifecycle: Lifecycle, later_s: float) -> None:
    lifecycle.close_and_finish(UP_S + later_s, lambda job: bool(job.closing))


@pytest.mark.parametrize("name", ["closespider_timeout", "closespider_timeout_no_item"])
def test_time_before_the_job_came_is_none_of_its_own(name: str) -> None:
    lifecycle, job = begun(**{name: 8.0})

    look(lifecycle, 7.9)
    assert (job.state, job.closing) == (RUNNING, "")

    look(lifecycle, 8)
    assert (job.state, job.reason) == (FINISHED, name)


def test_time_in_which_the_job_was_paused_is_none_of_its_own() -> None:
    lifecycle, job = begun(closespider_timeout=8.0)

    lifecycle.steer(job, job.control.then(PAUSED))
    look(lifecycle, 100)
    lifecycle.steer(job, job.control.then(RUNNING))
    look(lifecycle, 101)
    look(lifecycle, 108)
    assert job.state == RUNNING

    look(lifecycle, 109)
    assert job.state == FINISHED
