"""Steady: nothing happens."""

from __future__ import annotations

from ..play.scenario import Scenario
from ..play.stage import Stage


async def faults(stage: Stage) -> None:
    await stage.progress(1.0)


SCENARIO = Scenario("nothing happens", faults)
