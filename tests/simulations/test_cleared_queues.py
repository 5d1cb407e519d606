"""Queues are cleared while masters die: every page is somewhere, and no item is lost or doubled by it."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing, suppress
from functools import partial

import pytest

from p2pcrawl.model.errors import P2PCrawlError
from simulations.kernel.life import NodeDown
from simulations.play import people
from simulations.play.options import Options
from simulations.play.stage import Stage
from simulations.whole.plan import Plan
from simulations.whole.simulation import Simulation
from simulations.world.machines import Machine
from simulations.world.web import Kind

pytestmark = pytest.mark.slow

OF_THE_COUNTS = {"conservation", "items", "durability", "copies", "finish", "acknowledged"}
"""Coverage is none of them: what was cleared behind pages that were visited before is not found again."""


async def cleared(stage: Stage, *, restart: bool) -> int:
    """Clears the queue; asks again until somebody answers. Returns how many pages that were."""
    while True:
        with suppress(NodeDown, P2PCrawlError, TimeoutError):
            async with asyncio.timeout(60.0):
                asked = {"job": stage.job, "queue": "all", "restart": restart}
                return int((await stage.some(1)[0].tell("clear", asked))["cleared"])
        await asyncio.sleep(1.0)


async def one_dies_meanwhile(stage: Stage, gone: list[int]) -> None:
    await stage.progress(0.3)
    await stage.sync()
    began_s = stage.world.now
    call = asyncio.create_task(cleared(stage, restart=False))
    await stage.pause(0.1)
    hit = stage.some(1)
    stage.crash(hit, power=True)
    gone.append(await call)
    await stage.pause(10.0)
    stage.start(hit[0])
    await stage.agree()
    gone.append(await cleared(stage, restart=True))
    # What is visited again may lead to pages that were visited already.
    stage.injections.append((began_s, stage.world.now + 60.0))


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_job_whose_queue_is_cleared_and_begun_anew_adds_up_though_a_master_dies(seed: int) -> None:
    gone: list[int] = []
    options = Options(masters=3, pages=80, hosts=10, seed=seed, limit_s=900.0)

    report = Simulation(Plan(options, faults=partial(one_dies_meanwhile, gone=gone))).run()

    assert sum(gone) > 0
    assert not [violation for violation in report.violations if violation.checker in OF_THE_COUNTS]


async def what_was_a_link_is_put_in(stage: Stage, visited: list[tuple[int, int]]) -> None:
    """Puts a page into the job that pages have led to, takes the disks of all that were told but one, and has the
    entries begun anew.
    """
    await stage.progress(0.6)
    await stage.sync()
    starts, url = set(stage.web.starts), next(v.url for v in stage.web.visits if _is_plain(stage, v.url))
    assert url not in starts
    await people.persist(stage, (), "inject", {"job": stage.job, "urls": [url]})
    hit = next(machine for machine in stage.up if url in owned_by(machine))
    stage.wipe([hit])
    await stage.pause(10.0)
    stage.start(hit)
    await stage.sync()
    before = times(stage, url)
    await people.restart(stage, (), "")
    await stage.until(lambda: times(stage, url) > before or stage.ended)
    visited.append((before, times(stage, url)))


def _is_plain(stage: Stage, url: str) -> bool:
    page = stage.web.pages.get(url)
    return page is not None and page.kind is Kind.PLAIN and url not in stage.web.starts


def owned_by(machine: Machine) -> set[str]:
    """Returns the URLs that are in a machine's frontier."""
    with closing(sqlite3.connect(f"file:{machine.folder / 'frontier.db'}?mode=ro", uri=True)) as db:
        return {url for (url,) in db.execute("SELECT url FROM record")}


def times(stage: Stage, url: str) -> int:
    return sum(visit.url == url and visit.answered for visit in stage.web.visits)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_link_that_is_put_into_a_job_is_begun_anew_though_its_owner_loses_its_disk(seed: int) -> None:
    visited: list[tuple[int, int]] = []
    options = Options(masters=3, pages=60, hosts=8, seed=seed, limit_s=600.0)

    report = Simulation(Plan(options, faults=partial(what_was_a_link_is_put_in, visited=visited))).run()

    assert visited == [(1, 2)]
    assert report.violations == []
