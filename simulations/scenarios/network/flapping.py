"""One machine's network comes and goes, in spells around the time after which others give it up."""

from __future__ import annotations

import asyncio

from ...play.scenario import Scenario
from ...play.stage import Stage

OFF_S = (0.5, 3.0, 7.0, 12.0)
ON_S = (0.5, 3.0, 10.0)


async def faults(stage: Stage) -> None:
    await stage.progress(0.15)
    (machine,) = stage.some(1)
    others = [m for m in stage.machines if m is not machine]
    for _ in range(8):
        stage.split([machine], others)
        await asyncio.sleep(stage.random.choice(OFF_S))
        stage.join()
        await asyncio.sleep(stage.random.choice(ON_S))
    await stage.agree()


SCENARIO = Scenario("one machine's network comes and goes", faults)
