"""Masters lose their disks and come back empty under their old names."""

from __future__ import annotations

import asyncio

from simulations.scenarios.scenario import Scenario
from simulations.stage import Stage

SYNC_S = 45.0
"""Within this time the copies must be whole again, before the next may lose its disk."""


async def faults(stage: Stage) -> None:
    for share in (0.2, 0.4, 0.6):
        await stage.progress(share)
        hit = stage.some(min(stage.options.replicas - 1, len(stage.up) - 1))
        stage.wipe(hit)
        await stage.pause(5.0)
        for machine in hit:
            stage.start(machine)
        await stage.agree()
        await asyncio.sleep(SYNC_S)


SCENARIO = Scenario("R-1 masters at once lose their disks and come back empty", faults, replicas_min=2)
