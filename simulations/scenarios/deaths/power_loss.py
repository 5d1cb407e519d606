"""The whole cluster loses power at once and comes back in some order."""

from __future__ import annotations

from ...play.scenario import Scenario
from ...play.stage import Stage


async def faults(stage: Stage) -> None:
    for share in (0.25, 0.6):
        await stage.progress(share)
        stage.crash(stage.machines, power=True)
        for machine in stage.random.sample(stage.machines, len(stage.machines)):
            await stage.pause(4.0)
            stage.start(machine)
        await stage.agree()


SCENARIO = Scenario("the whole cluster loses power, twice", faults)
