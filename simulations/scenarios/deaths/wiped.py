"""Masters lose their disks and come back empty under their old names, the next when all copies are whole again."""

from __future__ import annotations

from ...play.scenario import Scenario
from ...play.stage import Stage


async def faults(stage: Stage) -> None:
    for share in (0.2, 0.4, 0.6):
        await stage.progress(share)
        await stage.sync()
        await stage.until(lambda: stage.unharmed)
        hit = stage.some(min(stage.options.replicas - 1, len(stage.up) - 1))
        stage.wipe(hit)
        await stage.pause(5.0)
        for machine in hit:
            stage.start(machine)
    await stage.sync()


SCENARIO = Scenario("R-1 masters at once lose their disks and come back empty", faults, replicas_min=2)
