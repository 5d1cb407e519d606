"""Masters of unequal weight: the share of each follows its own, also while one is away. Slaves come and go in order."""

from __future__ import annotations

from ...play.scenario import Scenario
from ...play.stage import Stage

WEIGHTS = (1, 2, 4, 8)


async def faults(stage: Stage) -> None:
    for share in (0.15, 0.35):
        await stage.progress(share)
        for slave in stage.random.sample(stage.up_slaves, len(stage.up_slaves) // 2):
            await stage.leave(slave)
            await stage.pause(2.0)
            stage.start(slave)
    await stage.progress(0.5)
    heaviest = max(stage.up, key=lambda machine: machine.weight)
    await stage.leave(heaviest)
    await stage.pause(10.0)
    stage.start(heaviest)
    await stage.agree()
    await stage.progress(1.0)
    stage.figures["load"] = {
        machine.name: {
            "weight": machine.weight,
            "buckets": len(machine.served()[1]),
            "pages": sum(v.answered and not v.is_robots and v.master == machine.name for v in stage.web.visits),
        }
        for machine in stage.machines
    }


SCENARIO = Scenario(
    "masters of unequal weight; slaves and the heaviest master leave in order and come back",
    faults,
    slaves_min=1,
    weights=WEIGHTS,
)
