"""A job is ended as a whole only while nobody has decided otherwise."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from p2pcrawl.core.control import CANCELLED, DELETED, PAUSED, RUNNING, Control
from p2pcrawl.master.jobs.job import Job, job_of
from p2pcrawl.master.steering import Steering
from p2pcrawl.model.crawl.job import JobId, JobSpec, SpiderRef


def steering(asked: list[int]) -> Steering:
    """Returns one that has no certificate of any job; ``asked``: of which it would have had one."""
    ground = SimpleNamespace(journal=None)
    cluster: Any = SimpleNamespace(master=None, peers=None, neighbours=SimpleNamespace(ground=ground))
    made = Steering(cluster, cluster, cluster)

    async def certificate(job: Job, view: int) -> None:
        asked.append(job.id)

    made.__dict__["_certificate"] = certificate
    return made


class Told:
    """A cluster of which somebody lets a job go on while others are told that it rests, and its disk."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.on_disk = ""
        self.master = SimpleNamespace(admission=self, lifecycle=self)
        self.peers = SimpleNamespace(missing=list)
        self.neighbours = SimpleNamespace(ground=SimpleNamespace(journal=None))

    def steer(self, job: Job, control: Control) -> None:
        job.control = control

    async def write(self, job: Job) -> None:
        self.on_disk = job.state

    async def spread(self, job: Job) -> None:
        job.control = job.control.then(RUNNING)


async def test_nobody_is_told_of_a_state_that_is_not_on_disk_also_where_another_one_asked_for_it() -> None:
    job = job_of(JobSpec(JobId(7), "quotes", SpiderRef(file="a.py", qualname="A")), Control(3))
    cluster: Any = Told(job)

    answer = await Steering(cluster, cluster, cluster).steer(job, "pause")

    assert answer["state"] == cluster.on_disk == RUNNING


@pytest.mark.parametrize("state", [CANCELLED, DELETED, PAUSED, RUNNING])
async def test_what_was_cancelled_or_paused_while_it_was_looked_at_is_not_finished(state: str) -> None:
    job = job_of(JobSpec(JobId(7), "quotes", SpiderRef(file="a.py", qualname="A")), Control(3).then(state))
    asked: list[int] = []

    await steering(asked).conclude(job, view=1)

    assert asked == ([7] if state == RUNNING else [])
    assert job.control == Control(3).then(state)
