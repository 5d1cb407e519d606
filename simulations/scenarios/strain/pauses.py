"""Masters stand still (SIGSTOP, a stopped virtual machine) for a moment or for longer than others wait for them."""

from __future__ import annotations

import asyncio

from ...play.scenario import Scenario
from ...play.stage import Stage

LENGTHS_S = (1.0, 4.0, 6.5, 9.0, 25.0, 60.0)


async def faults(stage: Stage) -> None:
    for number in range(8):
        await stage.progress(0.1 + 0.08 * number)
        machines = stage.some(1)
        stage.freeze(machines)
        await asyncio.sleep(stage.random.choice(LENGTHS_S) * (0.8 + 0.4 * stage.random.random()))
        stage.thaw(machines)
        await stage.pause(3.0)
    await stage.agree()


SCENARIO = Scenario("masters stand still for a moment or for long", faults)
