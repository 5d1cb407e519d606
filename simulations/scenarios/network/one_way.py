"""A machine is not heard by some others, though it hears them; then it is the other way round."""

from __future__ import annotations

import asyncio

from ...play.scenario import Scenario
from ...play.stage import Stage

LENGTHS_S = (5.0, 15.0, 40.0)


async def faults(stage: Stage) -> None:
    for share in (0.2, 0.45):
        await stage.progress(share)
        await stage.until(lambda: len(stage.up) > 1 or stage.ended)
        if len(stage.up) < 2:
            break
        machine, *others = stage.random.sample(stage.up, len(stage.up))
        deaf = others[: stage.random.randint(1, len(others))]
        if share < 0.4:
            stage.silence([machine], deaf)
        else:
            stage.silence(deaf, [machine])
        await asyncio.sleep(stage.random.choice(LENGTHS_S))
        stage.join()
        await stage.agree()


SCENARIO = Scenario("some are not heard by others whom they hear", faults)
