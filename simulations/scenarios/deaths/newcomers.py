"""Masters come with empty disks and lose them again: at the moment at which they have taken over what is theirs, or a
little later, while what they have is still being compared with its copies.

Everything is whole before they come, so each such loss is one that the copies make up for.
"""

from __future__ import annotations

import asyncio

from ...play.scenario import Scenario
from ...play.stage import Stage
from ...world.machines import Machine

LOOK_S = 0.001
AFTER_S = (0.0, 0.03, 0.3, 2.0)
"""How long after the last of them has taken over they lose what they have: before, within and behind a sync."""
DISK_S = 0.02
"""What each access to the others' disks takes meanwhile: a sync is not over at once."""


async def faults(stage: Stage) -> None:
    count = min(stage.options.replicas - 1, len(stage.up) - 1)
    for turn, share in enumerate((0.15, 0.3, 0.45, 0.6)):
        await stage.progress(share)
        hit = stage.some(count)
        await bring_empty(stage, hit)
        await asyncio.sleep(AFTER_S[turn])
        stage.wipe(hit)
        stage.quicken(stage.machines)
        await stage.pause(3.0)
        for machine in hit:
            stage.start(machine)
        await stage.sync()


async def bring_empty(stage: Stage, hit: list[Machine]) -> None:
    """Takes these away with their disks, and brings them back when all is whole without them; returns when they serve
    all that is theirs."""
    stage.wipe(hit)
    # They are missed and no more waited for.
    await stage.agree()
    await stage.sync()
    stage.slow([m for m in stage.machines if m not in hit], DISK_S)
    for machine in hit:
        stage.start(machine)
    await taken_over(stage, hit)


async def taken_over(stage: Stage, hit: list[Machine]) -> None:
    """Looks more often than ``Stage.until``: it is the moment that matters."""
    while not all(_serves_its_own(machine, len(stage.up)) for machine in hit):  # noqa: ASYNC110
        await asyncio.sleep(LOOK_S)


def _serves_its_own(machine: Machine, masters: int) -> bool:
    if machine.lead is None or len(machine.members()) < masters:
        return False
    ownership = machine.lead.cluster.ownership
    return len(ownership.weights) == masters and not ownership.syncing


SCENARIO = Scenario(
    "R-1 masters at once come with empty disks, and lose them when they have just taken over", faults, replicas_min=2
)
