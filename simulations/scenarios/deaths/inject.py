"""URLs are put into the job while masters die: before they are acknowledged, and at once afterwards, with their disks.

The spider begins at one start URL, and comes with no other. A call that nobody answers is made again, at somebody else:
what was acknowledged must be crawled, and nothing twice. In the end one more comes when all is done.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from p2pcrawl.model.errors import P2PCrawlError

from ...kernel.life import NodeDown
from ...play.scenario import Scenario
from ...play.spiders import Beginner
from ...play.stage import Stage
from ...world.machines import Machine
from ...world.web import WebPlan

AWAY_S = 10.0
AGAIN_S = 1.0
CALL_S = 0.1
"""About how long a call is under way when somebody dies."""


async def faults(stage: Stage) -> None:
    await stage.progress(0.05)
    # Where links lead to every host, there is none but the one where the spider begins.
    *others, last = stage.web.starts[1:] or stage.web.starts
    for number, url in enumerate(others):
        await stage.until(lambda: stage.spare > 0 and len(stage.up) > 1)
        await stage.sync()
        asked, other = stage.some(2)
        call = asyncio.create_task(injected(stage, asked, url))
        if number % 2:
            # Whoever was asked is gone with its disk as soon as it has answered.
            await call
            stage.wipe([asked])
            gone = asked
        else:
            await stage.pause(CALL_S)
            gone = asked if stage.random.random() < 0.5 else other
            stage.crash([gone], power=stage.random.random() < 0.5)
            await call
        await stage.pause(AWAY_S)
        stage.start(gone)
        await stage.agree()
    await stage.until(lambda: stage.ended)
    await injected(stage, stage.some(1)[0], last)
    await asyncio.sleep(AWAY_S)


async def injected(stage: Stage, machine: Machine, url: str) -> None:
    """Puts a URL into the job; returns when somebody has acknowledged it."""
    began_s = stage.world.now
    while True:
        with suppress(NodeDown, P2PCrawlError):
            async with asyncio.timeout(60.0):
                await machine.tell("inject", {"job": stage.job, "urls": [url]})
            stage.injections.append((began_s, stage.world.now))
            return
        await asyncio.sleep(AGAIN_S)
        machine = stage.some(1)[0]


SCENARIO = Scenario(
    "URLs are put into the job while masters die, before they are acknowledged and at once after that",
    faults,
    replicas_min=2,
    masters_min=3,
    web=WebPlan(private=0.5),
    spider=Beginner,
    besides=("limits", "jobs"),
    share=0.05,
)
