"""One after the other leaves in order and comes back, as when machines are updated."""

from __future__ import annotations

import asyncio

from ...play.scenario import Scenario
from ...play.stage import Stage

AWAY_S = 3.0


async def faults(stage: Stage) -> None:
    for number, machine in enumerate(stage.machines):
        await stage.progress(0.15 + 0.6 * number / len(stage.machines))
        await stage.leave(machine)
        await asyncio.sleep(AWAY_S)
        stage.start(machine)
        await stage.agree()


SCENARIO = Scenario("one after the other leaves in order and comes back", faults)
