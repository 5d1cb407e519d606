"""All stores of some buckets are away for a while: what they have is out of reach till they are back, and not lost.

No disk is taken. So in the end, when all are back, everything is whole, whatever was told meanwhile.
"""

from __future__ import annotations

import asyncio
from random import Random

from p2pcrawl.model.errors import P2PCrawlError

from ...play.scenario import Scenario
from ...play.stage import Stage
from ...world.machines import Machine

SHARES = (0.05, 0.7)
"""Of the web, when it begins: at least and at most."""
MORE_S = 10.0
"""How long the crawl goes on, about, between two changes that are not waited for."""


def dice_of(stage: Stage) -> Random:
    """Returns dice of a scenario's own."""
    return Random(f"{stage.options.seed}/losses")


def stores(stage: Stage, dice: Random) -> list[Machine]:
    """Draws so many machines that all stores of some buckets are among them, and leaves one at least."""
    up = stage.up
    most = len(up) - 1
    return dice.sample(up, dice.randint(min(stage.options.replicas, most), most))


async def begin(stage: Stage, dice: Random) -> None:
    """Waits until a part of the web has answered, and everything is whole."""
    await stage.progress(dice.uniform(*SHARES))
    await stage.sync()


async def stores_away(stage: Stage) -> None:
    """Crashes all stores of some buckets, and brings them back one after the other."""
    dice = dice_of(stage)
    await begin(stage, dice)
    hit = stores(stage, dice)
    stage.crash(hit, power=dice.random() < 0.5)
    await stage.observer.reckoning.hear()
    await come_back(stage, dice, hit)


async def come_back(stage: Stage, dice: Random, away: list[Machine]) -> None:
    """Brings these back in a drawn order; what is told is heard in between, or not waited for."""
    for machine in dice.sample(away, len(away)):
        stage.start(machine)
        if dice.random() < 0.5:
            await stage.observer.reckoning.hear()
        else:
            await asyncio.sleep(dice.expovariate(1.0 / MORE_S))


async def blackout(stage: Stage) -> None:
    """Takes the power from all, and gives it back to some of them first, R fewer or R-1 fewer than there were."""
    dice = dice_of(stage)
    await begin(stage, dice)
    machines = dice.sample(stage.up, len(stage.up))
    fewer = min(max(1, stage.options.replicas - dice.randint(0, 1)), len(machines) - 1)
    stage.crash(machines, power=True)
    for machine in machines[fewer:]:
        await asyncio.sleep(dice.choice((0.0, 0.5, 5.0)))
        stage.start(machine)
    await stage.observer.reckoning.hear()
    await come_back(stage, dice, machines[:fewer])


async def forgotten(stage: Stage) -> None:
    """Takes some away, lets a person forget them, and brings some back all the same; the last ones with the others,
    when all is said to be over."""
    dice = dice_of(stage)
    await begin(stage, dice)
    hit = stores(stage, dice)
    stage.crash(hit)
    await stage.agree()
    if dice.random() < 0.5:
        await stage.observer.reckoning.hear()
    for machine in hit:
        await forget(stage, dice, machine)
    await stage.observer.reckoning.hear()
    await come_back(stage, dice, hit[: dice.randint(0, len(hit))])


async def forget(stage: Stage, dice: Random, machine: Machine) -> None:
    """Tells a master that one that is dead will not come back."""
    while True:
        try:
            await dice.choice(stage.up).tell("forget", {"peer": machine.id})
        except P2PCrawlError as error:
            stage.world.note(f"{machine.name} is not forgotten: {error}")
            await asyncio.sleep(1.0)
        else:
            break
    stage.forget(machine)
    # The others hear of it by gossip.
    await asyncio.sleep(5.0)


AWAY = Scenario(
    "all stores of some buckets die at once, and come back one by one", stores_away, masters_min=2, drawn=False
)
BLACKOUT = Scenario("all lose power; some come back later than the others", blackout, masters_min=2, drawn=False)
FORGOTTEN = Scenario(
    "all stores of some buckets die and are forgotten, and come back with their disks", forgotten, masters_min=2,
    drawn=False,
)  # fmt: skip
