"""A loss of one kind or another, drawn from the seed."""

from __future__ import annotations

from random import Random
from typing import Final

from ...play.scenario import Scenario
from ...play.stage import Stage
from .away import AWAY, BLACKOUT, FORGOTTEN
from .lost import BEYOND, LOST, ONE_BY_ONE
from .set_back import SET_BACK

KINDS: Final = {
    "stores-away": AWAY,
    "blackout": BLACKOUT,
    "forgotten": FORGOTTEN,
    "stores-lost": LOST,
    "one-by-one": ONE_BY_ONE,
    "set-back": SET_BACK,
    "lost-in-handover": BEYOND,
}


async def faults(stage: Stage) -> None:
    fit = sorted(name for name, each in KINDS.items() if each.replicas_min <= stage.options.replicas)
    kind = Random(f"{stage.options.seed}/losses/kind").choice(fit)
    stage.figures["loss"] = kind
    await KINDS[kind].faults(stage)


SCENARIO = Scenario("more is taken than the cluster bears, in one way or another", faults, masters_min=3, share=0.1)
