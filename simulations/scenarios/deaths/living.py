"""Pages are visited again and again, while masters die one after the other and come back, and once all at a time."""

from __future__ import annotations

import asyncio

from ...play.scenario import Scenario
from ...play.spiders import Returner
from ...play.stage import Stage
from ...world.web import WebPlan

DEATHS = 4
AWAY_S = 25.0
"""Long enough for others to take over."""
CALM_S = 20.0


async def faults(stage: Stage) -> None:
    await stage.progress(0.2)
    for _ in range(DEATHS):
        victim = stage.random.choice(stage.up)
        stage.crash([victim])
        await asyncio.sleep(AWAY_S)
        stage.start(victim)
        await stage.agree()
        await asyncio.sleep(CALM_S)
    everybody = list(stage.up)
    stage.crash(everybody)
    await asyncio.sleep(AWAY_S)
    for machine in everybody:
        stage.start(machine)
    await stage.agree()


SCENARIO = Scenario(
    "each page is visited three times, while masters die and come back",
    faults,
    replicas_min=2,
    masters_min=3,
    web=WebPlan(tagged=True),
    spider=Returner,
    besides=("limits",),
    pages_max=60,
    share=0.07,
)
