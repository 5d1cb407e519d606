"""A machine's disk is full for a while: its master stops or waits, the others go on, and nothing is lost."""

from __future__ import annotations

from ...play.scenario import Scenario
from ...play.stage import Stage

FULL_S = 25.0
"""The mean time until somebody makes room."""
AGAIN_S = 5.0
"""The mean time until a service that stopped is started again, room or not."""


async def faults(stage: Stage) -> None:
    for share in (0.2, 0.5):
        await stage.progress(share)
        full = stage.some(1)
        stage.fill(full)
        await stage.pause(FULL_S)
        for machine in full:
            if not machine.node.up and stage.random.random() < 0.5:
                stage.start(machine)
                await stage.pause(AGAIN_S)
        stage.free(full)
        for machine in full:
            if not machine.node.up:
                stage.start(machine)
        await stage.sync()


SCENARIO = Scenario("a machine's disk is full for a while", faults)
