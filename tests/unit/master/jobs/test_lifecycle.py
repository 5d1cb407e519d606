"""Jobs that rest and go on, and what the workbench knows of them then."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from p2pcrawl.core.bench.candidate import LOWEST
from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.control import PAUSED, RUNNING, Control
from p2pcrawl.core.journal import Journal
from p2pcrawl.frontier.records.recorder import Recorder
from p2pcrawl.master.jobs.job import KnownJobs, job_of
from p2pcrawl.master.jobs.lifecycle import Lifecycle
from p2pcrawl.master.jobs.loading import Loading
from p2pcrawl.model.crawl.job import JobId, JobSpec, SpiderRef
from tests.unit.core.bench.benches import candidate


def test_job_that_goes_on_is_loaded_from_the_beginning_though_links_came_while_it_rested(tmp_path: Path) -> None:
    """What was on disk when the master began was passed over, for the job rested; the links made its queue known."""
    job = job_of(JobSpec(JobId(1), "quotes", SpiderRef(file="a.py", qualname="A")), Control(1, PAUSED))
    jobs, bench = KnownJobs({1: job}), Workbench()
    loading = Loading(jobs, bench, Recorder(tmp_path, clustered=True), lambda: None)
    lifecycle = Lifecycle(jobs, bench, loading, Journal(float), lambda: None)
    lifecycle.open(job)
    bench.add([replace(candidate(9), job=1)])

    lifecycle.steer(job, job.control.then(RUNNING, ""))

    assert [want.after for want in bench.wants(8)] == [LOWEST]


def test_job_that_goes_on_while_it_was_being_closed_is_loaded_from_the_beginning(tmp_path: Path) -> None:
    """Its hosts may have left their seats meanwhile, and links have made a queue known of which more is on disk."""
    job = job_of(JobSpec(JobId(1), "quotes", SpiderRef(file="a.py", qualname="A")), Control())
    jobs, bench = KnownJobs({1: job}), Workbench()
    loading = Loading(jobs, bench, Recorder(tmp_path, clustered=True), lambda: None)
    lifecycle = Lifecycle(jobs, bench, loading, Journal(float), lambda: None)
    lifecycle.open(job)
    lifecycle.close(1, "closespider_pagecount")
    bench.add([replace(candidate(9), job=1)])

    lifecycle.steer(job, job.control.then(RUNNING, ""))

    assert [want.after for want in bench.wants(8)] == [LOWEST]
