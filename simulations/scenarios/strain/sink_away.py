"""The databases that the items are brought into are away for most of the crawl, while masters die and come back."""

from __future__ import annotations

import asyncio

from ...play.scenario import Scenario
from ...play.stage import Stage

AWAY_S = 15.0


async def faults(stage: Stage) -> None:
    first, *others = stage.sinks.values()
    first.picky = True
    await stage.progress(0.1)
    for sink in stage.sinks.values():
        sink.away = True
    for share in (0.2, 0.35, 0.5, 0.65, 0.8):
        await stage.progress(share)
        await stage.until(lambda: stage.spare > 0 and len(stage.up) > 1)
        (victim,) = stage.some(1)
        stage.crash([victim], power=stage.random.random() < 0.5)
        # While a master is away its heir brings what it did not, and what it did once more.
        for sink in others:
            sink.away = not sink.away
        await stage.pause(AWAY_S)
        stage.start(victim)
    await stage.progress(0.9)
    await asyncio.sleep(AWAY_S)


SCENARIO = Scenario(
    "the databases for the items are away for most of the crawl, while masters die",
    faults,
    sinks_min=2,
    masters_min=2,
    share=0.04,
)
