"""The network falls apart in one way or another, all parts go on, and it becomes one again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ...play.scenario import Scenario
from ...play.stage import Stage
from ...world.machines import Machine

LENGTHS_S = (5.0, 20.0, 60.0)

Cut = Callable[[Stage, list[Machine]], None]


def halves(stage: Stage, machines: list[Machine]) -> None:
    """Cuts the network into two parts of any sizes."""
    edge = stage.random.randint(1, max(1, len(machines) - 1))
    stage.split(machines[:edge], machines[edge:])


def isolated(stage: Stage, machines: list[Machine]) -> None:
    """Parts one machine from all the others."""
    stage.split(machines[:1], machines[1:])


def bridge(stage: Stage, machines: list[Machine]) -> None:
    """Cuts the network into two halves, and one machine that is in touch with both."""
    _, *sides = machines
    stage.split(sides[::2], sides[1::2])


def ring(stage: Stage, machines: list[Machine]) -> None:
    """Leaves each in touch with its two neighbours only."""
    stage.ring(machines)


CUTS: tuple[Cut, ...] = (halves, isolated, bridge, ring)


def _twice(cut: Cut) -> Callable[[Stage], Awaitable[None]]:
    async def faults(stage: Stage) -> None:
        for share in (0.2, 0.5):
            await stage.progress(share)
            cut(stage, stage.random.sample(stage.up, len(stage.up)))
            await asyncio.sleep(stage.random.choice(LENGTHS_S))
            stage.join()
            await stage.agree()

    return faults


SCENARIO = Scenario("the network falls into two parts and becomes one again", _twice(halves), masters_min=2)
ISOLATED = Scenario("one machine is cut off from all others and comes back", _twice(isolated), masters_min=2)
BRIDGE = Scenario("only one machine is in touch with both halves, for a while", _twice(bridge), masters_min=3)
RING = Scenario("each machine hears only its two neighbours, for a while", _twice(ring), masters_min=4)
