"""Queues are cleared while masters die: every page is somewhere, and no item is lost or doubled by it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial

import pytest

from p2pcrawl.model.errors import P2PCrawlError
from simulations.kernel.life import NodeDown
from simulations.play.options import Options
from simulations.play.stage import Stage
from simulations.whole.plan import Plan
from simulations.whole.simulation import Simulation

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


@pytest.mark.parametrize("seed", [1, 2])
def test_job_whose_queue_is_cleared_and_begun_anew_adds_up_though_a_master_dies(seed: int) -> None:
    gone: list[int] = []
    options = Options(masters=3, pages=80, hosts=10, seed=seed, limit_s=900.0)

    report = Simulation(Plan(options, faults=partial(one_dies_meanwhile, gone=gone))).run()

    assert sum(gone) > 0
    assert not [violation for violation in report.violations if violation.checker in OF_THE_COUNTS]
