"""Masters crash again and again and come back with their disks, never more of them at once than copies allow."""

from __future__ import annotations

import asyncio

from simulations.machines import Machine
from simulations.scenarios.scenario import Scenario
from simulations.stage import Stage

BETWEEN_S = 15.0
"""The mean time between two crashes."""
AWAY_S = 20.0
"""The mean time until one is back: some before anybody missed them, some long after."""


async def faults(stage: Stage) -> None:
    away: set[Machine] = set()
    returns: list[asyncio.Task[None]] = []

    async def come_back(machine: Machine) -> None:
        await stage.pause(AWAY_S)
        stage.start(machine)
        await stage.agree()
        away.discard(machine)

    try:
        while stage.share() < 0.9 and not stage.ended:
            await stage.pause(BETWEEN_S)
            spare = max(1, stage.options.replicas - 1) - len(away)
            if spare <= 0 or len(stage.up) < 2:
                continue
            for machine in stage.some(1):
                away.add(machine)
                stage.crash([machine], power=stage.random.random() < 0.5)
                returns.append(asyncio.create_task(come_back(machine)))
        await asyncio.gather(*returns)
    finally:
        for task in returns:
            task.cancel()


SCENARIO = Scenario("masters crash and come back with their disks, again and again", faults)
