"""A machine without the key throws garbage and what it overheard at the masters, also at one that was restarted."""

from __future__ import annotations

from ...play.scenario import Scenario
from ...play.stage import Stage
from ...world.stranger import Stranger


async def faults(stage: Stage) -> None:
    stranger = Stranger(stage.world, stage.machines)
    stranger.start()
    await stage.progress(0.4)
    # What was said to its life before is thrown at the new one.
    restarted = stage.some(1)
    stage.crash(restarted)
    await stage.pause(10.0)
    for machine in restarted:
        stage.start(machine)
    await stage.agree()
    await stage.progress(1.0)
    stage.figures |= stranger.thrown
    stranger.stop()


SCENARIO = Scenario("a machine without the key throws garbage, replays and mutations at the masters", faults)
