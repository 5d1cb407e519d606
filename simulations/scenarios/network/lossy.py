"""The network loses, doubles and reorders packets all the time."""

from __future__ import annotations

from ...kernel.paths import Law
from ...play.scenario import Scenario
from ...play.stage import Stage


async def faults(stage: Stage) -> None:
    await stage.progress(1.0)


SCENARIO = Scenario(
    "the network loses, doubles and reorders packets", faults, Law(loss=0.05, duplicate=0.02, reorder=0.05)
)
