"""Every machine's clock runs at a speed of its own, within what is allowed for, and wall clocks jump."""

from __future__ import annotations

from p2pcrawl.model.timings import TIMINGS

from ...play.scenario import Scenario
from ...play.stage import Stage


async def faults(stage: Stage) -> None:
    dice = stage.random
    for machine in stage.machines:
        machine.node.drift(1.0 + TIMINGS.drift * (2.0 * dice.random() - 1.0))
    for number in range(6):
        await stage.progress(0.1 + 0.1 * number)
        for machine in stage.some(1):
            machine.node.step_wall_clock(dice.choice((-86_400.0, -60.0, -1.0, 1.0, 60.0, 86_400.0)))
        if number in (2, 4):
            for machine in stage.some(1):
                stage.crash([machine])
                await stage.pause(10.0)
                stage.start(machine)
                await stage.agree()


SCENARIO = Scenario("clocks drift and jump, and a master crashes now and then", faults)
