"""Massacre: as many masters as the copies allow die at the same moment, with their disks, and never come back."""

from __future__ import annotations

from ...play.scenario import Scenario
from ...play.stage import Stage


async def faults(stage: Stage) -> None:
    await stage.progress(0.1 + 0.5 * stage.random.random())
    # What is aimed besides may have taken a disk, or somebody who has what it had.
    await stage.until(lambda: stage.unharmed)
    stage.bury(stage.some(min(stage.options.replicas - 1, len(stage.up) - 1)))


SCENARIO = Scenario("R-1 masters die at once with their disks, for good", faults, replicas_min=2)
