"""Slaves are killed and come back, one by one and all of a master's at once; masters die, and orphan theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ...play.scenario import Scenario
from ...play.stage import Stage
from ...world.machines import PeerMachine

BETWEEN_S = 8.0
"""The mean time between two blows."""
AWAY_S = 6.0
"""The mean time until a slave is back: some before their session is over, some after."""
MASTER_AWAY_S = 20.0


async def faults(stage: Stage) -> None:
    dice = stage.random
    returns: list[asyncio.Task[None]] = []

    async def come_back(machine: PeerMachine, mean_s: float) -> None:
        await stage.pause(mean_s)
        stage.start(machine)

    def kill(hit: Sequence[PeerMachine], away_s: float) -> None:
        stage.crash(hit, power=dice.random() < 0.5)
        returns.extend(asyncio.create_task(come_back(machine, away_s)) for machine in hit)

    try:
        while stage.share() < 0.9 and not stage.ended:
            await stage.pause(BETWEEN_S)
            blow = dice.random()
            if blow < 0.5:
                kill(dice.sample(stage.up_slaves, min(1, len(stage.up_slaves))), AWAY_S)
            elif blow < 0.75:
                kill(stage.slaves_of(dice.choice(stage.up)), AWAY_S)
            elif stage.spare > 0 and len(stage.up) > 1:
                kill(stage.some(1), MASTER_AWAY_S)
        await asyncio.gather(*returns)
    finally:
        for task in returns:
            task.cancel()


SCENARIO = Scenario("slaves are killed and come back; masters die, and orphan theirs", faults, slaves_min=2)
