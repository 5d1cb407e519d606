"""Masters die and lose their disks while a web is crawled on which many pages say the same."""

from __future__ import annotations

from ...play.scenario import Scenario
from ...play.spiders import Repeater
from ...play.stage import Stage
from ...world.web import WebPlan


async def faults(stage: Stage) -> None:
    for share, lost in ((0.15, True), (0.3, False), (0.45, True), (0.6, False), (0.75, True)):
        await stage.progress(share)
        # Who has no copies yet is as good as away: with it the others would be more than copies stand in for.
        await stage.sync()
        if lost:
            await stage.until(lambda: stage.unharmed)
        hit = stage.some(min(stage.options.replicas - 1, len(stage.up) - 1))
        if lost:
            stage.wipe(hit)
        else:
            stage.crash(hit)
        await stage.pause(5.0)
        for machine in hit:
            stage.start(machine)
    await stage.sync()


SCENARIO = Scenario(
    "masters die, some with their disks, while pages are told that say the same",
    faults,
    replicas_min=2,
    masters_min=3,
    web=WebPlan(texts=40, across=0.5),
    spider=Repeater,
    share=0.1,
)
