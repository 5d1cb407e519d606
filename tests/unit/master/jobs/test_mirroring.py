"""What masters tell each other of jobs: nothing that a crash of whoever tells it would undo."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from p2pcrawl.core.control import FINISHED
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.jobs.job import job_of, mirror_of
from p2pcrawl.model.crawl.job import JobId, JobSpec, SpiderRef
from tests.unit.master.fake_slaves import page_of
from tests.unit.master.masters import FakeMaster, finished, submit, town_of

ROUNDS = 200
"""Rounds of the loop in which all that waits for no disk is through."""


@contextmanager
def disk_stands_still(house: FakeMaster) -> Iterator[None]:
    """Lets nothing be stored in a master's frontier."""
    goes_on = threading.Event()

    def wait(store: Store) -> None:
        goes_on.wait()

    house.master.recorder.run(wait)
    try:
        yield
    finally:
        goes_on.set()


async def test_nobody_hears_of_a_jobs_change_before_it_is_on_the_disk_of_whoever_tells_it(tmp_path: Path) -> None:
    """A round of telling all what they lack comes at any moment, also while a change is being stored."""
    async with town_of(tmp_path, "1", "2", answer=page_of) as (_, houses):
        job = await submit(houses[0])
        await finished(houses)
        mirroring, mirror = houses[0].cluster.mirroring, houses[1].master.jobs[job.id]

        with disk_stands_still(houses[0]):
            houses[0].master.lifecycle.steer(job, job.control.then(FINISHED, "told"))
            telling = asyncio.ensure_future(mirroring.send_missing())
            for _ in range(ROUNDS):
                await asyncio.sleep(0)
            heard = mirror.reason
        await telling

        assert heard == ""
        assert mirror.reason == "told"


async def test_master_that_is_told_what_it_has_just_decided_says_yes_when_that_is_on_its_disk(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", answer=page_of) as (_, houses):
        job = await submit(houses[0])
        await finished(houses)

        with disk_stands_still(houses[0]):
            houses[0].master.lifecycle.steer(job, job.control.then(FINISHED, "told"))
            telling = asyncio.ensure_future(houses[0].master.admission.mirror(job.spec, job.control))
            for _ in range(ROUNDS):
                await asyncio.sleep(0)
            said_yes = telling.done()
        await telling

        assert not said_yes


def test_where_code_lies_is_told_to_nobody() -> None:
    here = job_of(JobSpec(JobId(7), "shop", SpiderRef("/home/ada/shop.toml"), code="name = 'shop'"))

    told = mirror_of(here).job, here.slaves_wire(whole=True), here.slaves_wire(whole=False)

    assert [wire.file for wire in told] == ["shop.toml"] * 3
