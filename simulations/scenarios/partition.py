"""The network falls into two parts that both go on, and becomes one again."""

from __future__ import annotations

import asyncio

from simulations.scenarios.scenario import Scenario
from simulations.stage import Stage

LENGTHS_S = (5.0, 20.0, 60.0)


async def faults(stage: Stage) -> None:
    for share in (0.2, 0.5):
        await stage.progress(share)
        machines = stage.random.sample(stage.up, len(stage.up))
        edge = stage.random.randint(1, max(1, len(machines) - 1))
        stage.split(machines[:edge], machines[edge:])
        await asyncio.sleep(stage.random.choice(LENGTHS_S))
        stage.join()
        await stage.agree()


SCENARIO = Scenario("the network falls into two parts and becomes one again", faults)
