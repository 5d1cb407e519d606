"""All stores of some buckets lose their disks: what only they had is gone for good, and it is told for good."""

from __future__ import annotations

import asyncio
from random import Random

from ...play.aims import NODE, PEER, Aim, strike
from ...play.scenario import Scenario
from ...play.stage import Stage
from ...world.machines import Machine
from ..aimed import COUNTS, MESSAGE
from .away import begin, come_back, dice_of, forget, stores

GAPS_S = (0.0, 0.05, 0.5, 2.0, 6.0, 9.0)
"""Between two blows: shorter than it takes to make good what the one before has cost."""
SPENT_S = 12.0
"""How long a hit machine is away, about, before it comes back."""


async def stores_lost(stage: Stage) -> None:
    """Takes the disks of all stores of some buckets at the same moment; some come back empty, some never."""
    dice = dice_of(stage)
    await begin(stage, dice)
    hit = stores(stage, dice)
    stage.wipe(hit)
    await stage.observer.reckoning.hear()
    await after_it(stage, dice, hit)


async def after_it(stage: Stage, dice: Random, hit: list[Machine]) -> None:
    """Brings some back, and buries the others, of whom some are forgotten."""
    back = dice.sample(hit, dice.randint(0, len(hit)))
    never = [machine for machine in hit if machine not in back]
    stage.bury(never)
    await come_back(stage, dice, back)
    for machine in never:
        if dice.random() < 0.5:
            await forget(stage, dice, machine)
    await stage.observer.reckoning.hear()


async def one_by_one(stage: Stage) -> None:
    """Lets masters die faster than what they had can be copied, with their disks and without, while others leave and
    come back."""
    dice = dice_of(stage)
    await begin(stage, dice)
    going: list[asyncio.Task[None]] = []
    for machine in dice.sample(stage.up, len(stage.up) - 1):
        what = dice.choice(("wipe", "wipe", "crash", "crash", "leave"))
        going.append(asyncio.create_task(befall(stage, dice, machine, what)))
        await asyncio.sleep(dice.choice(GAPS_S))
    await asyncio.gather(*going)
    await stage.observer.reckoning.hear()


async def befall(stage: Stage, dice: Random, machine: Machine, what: str) -> None:
    """Lets one come to harm, or leave, and brings it back after a while."""
    away_s = dice.expovariate(1.0 / SPENT_S)
    if what == "leave":
        await stage.leave(machine)
    elif what == "wipe":
        stage.wipe([machine])
    else:
        stage.crash([machine], power=dice.random() < 0.5)
    await asyncio.sleep(away_s)
    if not machine.node.up:
        stage.start(machine)


async def aimed_beyond(stage: Stage) -> None:
    """Takes disks at drawn moments of a handover, be that borne or not."""
    dice = dice_of(stage)
    await begin(stage, dice)
    (machine,) = dice.sample(stage.up, 1)
    async with asyncio.TaskGroup() as group:
        group.create_task(befall(stage, dice, machine, dice.choice(("leave", "leave", "crash", "wipe"))))
        group.create_task(strike(stage, [drawn_aim(dice, place) for place in range(dice.randint(2, 4))]))
        # What never comes must not hold it up.
        await asyncio.sleep(4 * SPENT_S)
    stage.heal()
    await stage.observer.reckoning.hear()


HANDOVER = ("Claim", "Released", "Pull", "Pulled", "PullCopies", "PulledCopies", "Taken", "Forgotten", "Compare",
            "Compared", "Sync", "Synced", "Whole", "Noted", "DropCopies", "Dropped", "Copy", "Copied")  # fmt: skip
"""The messages by which buckets change hands, and copies are made."""


def drawn_aim(dice: Random, place: int) -> Aim:
    kind = dice.choice([kind for kind in HANDOVER if kind in COUNTS])
    return Aim(
        kind=kind,
        phase=dice.choice(MESSAGE),
        do=dice.choice(("wipe", "wipe", "power-loss", "crash")),
        nth=dice.randint(1, 12),
        side=dice.choice((NODE, PEER)),
        for_s=dice.choice((0.5, 5.0, 15.0, 40.0)),
        beyond=True,
        place=f"aim {place + 1}",
    )


LOST = Scenario("all stores of some buckets lose their disks at once", stores_lost, masters_min=2, drawn=False)
ONE_BY_ONE = Scenario(
    "masters die one after the other, faster than copies are made", one_by_one, masters_min=2, drawn=False
)
BEYOND = Scenario(
    "disks are lost at moments of a handover, be that borne or not", aimed_beyond, masters_min=2, drawn=False
)
