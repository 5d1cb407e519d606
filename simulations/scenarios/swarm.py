"""Faults of all kinds, drawn at random: rounds of some of them at the same time, and quiet in between.

A round begins when everything is whole. In it, R-1 masters die at most, with their disks only if nothing else happens
in that round: who stands still or is out of touch has not got what is written meanwhile, and to lose the disk of
another would be to lose more than R-1.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ..kernel.paths import Law
from ..play.scenario import Scenario
from ..play.stage import Stage
from .network.partition import CUTS

ROUNDS_MAX = 12
BETWEEN_S = 6.0
TOGETHER_MAX = 3
"""Faults of one round."""
AWAY_S = 12.0
STILL_S = (1.0, 4.0, 6.5, 9.0, 25.0)
APART_S = (2.0, 6.0, 15.0, 40.0)
DISK_S = (0.05, 0.2, 0.4)
SPELL_S = 15.0
STEPS_S = (-86_400.0, -60.0, -1.0, 1.0, 60.0, 86_400.0)
BAD = Law(latency_s=0.05, jitter_s=0.02, loss=0.05, duplicate=0.02, reorder=0.05)

Fault = Callable[[Stage], Awaitable[None]]


async def crash(stage: Stage) -> None:
    """Crashes one, and starts it again."""
    if stage.spare > 0 and len(stage.up) > 1:
        hit = stage.some(1)
        stage.crash(hit, power=stage.random.random() < 0.5)
        await stage.pause(AWAY_S)
        for machine in hit:
            stage.start(machine)


async def pause(stage: Stage) -> None:
    """Lets one stand still for a while."""
    if len(stage.up) > 1:
        hit = stage.some(1)
        stage.freeze(hit)
        await asyncio.sleep(stage.random.choice(STILL_S))
        stage.thaw(hit)


async def cut(stage: Stage) -> None:
    """Lets the network fall apart, one way or another."""
    machines = stage.random.sample(stage.machines, len(stage.machines))
    stage.random.choice(CUTS)(stage, machines)
    await asyncio.sleep(stage.random.choice(APART_S))
    stage.join()


async def one_way(stage: Stage) -> None:
    """Keeps some others from hearing one."""
    machine, *others = stage.random.sample(stage.machines, len(stage.machines))
    stage.silence([machine], others[: stage.random.randint(1, len(others))])
    await asyncio.sleep(stage.random.choice(APART_S))
    stage.join()


async def loss(stage: Stage) -> None:
    """Makes the network lose, double and reorder packets."""
    stage.degrade(BAD)
    await stage.pause(SPELL_S)
    stage.restore()


async def slow_disk(stage: Stage) -> None:
    """Makes one late with everything that it stores."""
    hit = stage.some(1)
    stage.slow(hit, stage.random.choice(DISK_S))
    await stage.pause(SPELL_S)
    stage.quicken(hit)


async def full_disk(stage: Stage) -> None:
    """Fills the disk of one, which can store nothing then, and may stop."""
    if stage.spare > 0 and len(stage.up) > 1:
        hit = stage.some(1)
        stage.fill(hit)
        await stage.pause(SPELL_S)
        stage.free(hit)


async def clock(stage: Stage) -> None:
    """Lets a wall clock jump."""
    for machine in stage.some(1):
        machine.node.step_wall_clock(stage.random.choice(STEPS_S))


async def wipe(stage: Stage) -> None:
    """Takes the disks of as many as the copies allow, and starts these empty."""
    await stage.until(lambda: stage.unharmed)
    hit = stage.some(min(stage.options.replicas - 1, len(stage.up) - 1))
    stage.wipe(hit)
    await stage.pause(AWAY_S)
    for machine in hit:
        stage.start(machine)


async def leave(stage: Stage) -> None:
    """Lets one leave in order and come back."""
    (machine,) = stage.some(1)
    await stage.leave(machine)
    await stage.pause(AWAY_S)
    stage.start(machine)


TOGETHER: tuple[Fault, ...] = (crash, crash, pause, cut, one_way, loss, slow_disk, full_disk, clock)
ALONE: tuple[Fault, ...] = (wipe, leave)


async def faults(stage: Stage) -> None:
    kinds: dict[str, int] = {}
    for _ in range(ROUNDS_MAX):
        await stage.pause(BETWEEN_S)
        if stage.share() > 0.95 or stage.ended:
            break
        drawn = _draw(stage)
        for fault in drawn:
            kinds[fault.__name__] = kinds.get(fault.__name__, 0) + 1
        stage.world.note(f"a round of {', '.join(fault.__name__ for fault in drawn)}")
        async with asyncio.TaskGroup() as group:
            for fault in drawn:
                group.create_task(_later(stage, fault))
        stage.heal()
        await stage.sync()
    stage.figures["faults"] = kinds


def _draw(stage: Stage) -> list[Fault]:
    """Draws what happens in one round: of cuts one, for there is one network."""
    dice = stage.random
    if dice.random() < 0.25:
        return [dice.choice(ALONE if stage.options.replicas > 1 else (leave,))]
    drawn = [dice.choice(TOGETHER) for _ in range(dice.randint(1, TOGETHER_MAX))]
    networks = [fault for fault in drawn if fault in (cut, one_way)]
    return [fault for fault in drawn if fault not in (cut, one_way)] + networks[:1]


async def _later(stage: Stage, fault: Fault) -> None:
    """Begins a fault at some time of its round."""
    await stage.pause(BETWEEN_S / 2)
    await fault(stage)


SCENARIO = Scenario("faults of all kinds, drawn at random, some at the same time", faults, masters_min=2)
