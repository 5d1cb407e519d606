"""Old snapshots of disks are restored: machines come back with the state of a moment ago."""

from __future__ import annotations

import asyncio

from ...play.scenario import Scenario
from ...play.stage import Stage
from .away import begin, dice_of

OLD_S = (1.0, 5.0, 20.0, 60.0)
"""How old a snapshot is when it is restored."""
AWAY_S = (0.5, 3.0, 15.0, 40.0)
"""How long a machine is away meanwhile: shorter than others miss it, and longer."""


async def set_back(stage: Stage) -> None:
    """Restores snapshots of R-1 disks at the same moment, again and again, as often as everything was whole before."""
    dice = dice_of(stage)
    for _ in range(dice.randint(1, 3)):
        await begin(stage, dice)
        if stage.ended:
            return
        hit = dice.sample(stage.up, max(1, min(stage.options.replicas - 1, len(stage.up) - 1)))
        stage.snapshot(hit)
        await asyncio.sleep(dice.choice(OLD_S))
        await stage.sync()
        stage.set_back(hit)
        await asyncio.sleep(dice.choice(AWAY_S))
        for machine in hit:
            stage.start(machine)
    await stage.sync()


SET_BACK = Scenario(
    "R-1 machines come back with their disks as they were a while ago", set_back, replicas_min=2, masters_min=2,
    drawn=False,
)  # fmt: skip
