"""All but one stand still; that one takes over everything, crawls on alone, and leaves. Then the others wake."""

from __future__ import annotations

import asyncio

from ...play.scenario import Scenario
from ...play.stage import Stage

ALONE_S = 10.0
"""For how long it crawls on alone."""
AWAY_S = 90.0
"""Long enough for the others to come to an end with what they know."""


async def faults(stage: Stage) -> None:
    await stage.progress(0.2)
    last, *others = stage.random.sample(stage.up, len(stage.up))
    stage.freeze(others)
    await stage.until(lambda: last.members() == {last.id})
    await asyncio.sleep(ALONE_S)
    await stage.leave(last)
    stage.thaw(others)
    await asyncio.sleep(AWAY_S)
    stage.start(last)
    await stage.agree()


SCENARIO = Scenario("all but one stand still, and that one crawls on alone and leaves", faults, masters_min=2)
