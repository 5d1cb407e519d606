"""One host has most of the pages, and links from everywhere; its owner crashes, and then the next one."""

from __future__ import annotations

from ...play.scenario import Scenario
from ...play.stage import Stage
from ...world.web import WebPlan

AWAY_S = 15.0


async def faults(stage: Stage) -> None:
    for share in (0.25, 0.5):
        await stage.progress(share)
        owners = stage.owners_of(stage.web.start)
        stage.crash(owners, power=stage.random.random() < 0.5)
        await stage.pause(AWAY_S)
        for machine in owners:
            stage.start(machine)
        await stage.sync()


SCENARIO = Scenario(
    "one host has most of the pages, and its owner crashes", faults, web=WebPlan(zipf=3.0, across=0.5, hot=0.7)
)
