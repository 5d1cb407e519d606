"""Disks that lie as disks do: what was not synced is gone, calls fail, bits turn over, pages are torn.

What is drawn is a list of faults and a list of aims, as a plan in a file has them. Aims are at transactions only: the
power goes, or the process is killed, in the middle of one or just behind it.
"""

from __future__ import annotations

import asyncio
from math import exp, log
from random import Random
from typing import Final

from ...play.aims import Aim, strike
from ...play.faults import Fault, play
from ...play.options import Options
from ...play.scenario import Scenario
from ...play.stage import Stage
from ...world.caches import DRAWN, LOST
from ...world.damages import LOSE, WAYS
from ...world.disk_errors import KINDS
from ..aimed import COUNTS, STORE

EVENTS = (3, 7)
AIMS = (2, 5)
NTH_MAX = 60
"""How many calls of its kind a disk takes before it refuses one, at most."""
GONE_SHARE: Final = 0.4
"""Of the databases that are spoilt so many are gone altogether."""
FOR_S: Final = (0.3, 2.0, 5.0, 9.0, 15.0)
DOES: Final = ("power-loss", "power-loss", "crash")


def drawn_faults(options: Options) -> list[Fault]:
    """Draws what happens beside the aims: one thing after the other, each when all copies are whole."""
    dice = Random(f"{options.seed}/lying-disks/faults")
    words = ["all", "io-error", "io-error", "io-error", *(WAYS if options.replicas > 1 else ())]
    made: list[Fault] = []
    for number in range(dice.randint(*EVENTS)):
        do, who = dice.choice(words), f"m{dice.randrange(options.masters)}"
        for_s, share = dice.choice(FOR_S), round(dice.uniform(0.02, 0.85), 2)
        kind, nth = dice.choice(KINDS), round(exp(dice.uniform(0.0, log(NTH_MAX))))
        unsynced = dice.choice((DRAWN, DRAWN, LOST))
        place = f"fault {number + 1}"
        match do:
            case "all":
                fault = Fault(
                    place=place, do="power-loss", at_share=share, for_s=for_s, whole=True, some=1.0,
                    change={"unsynced": unsynced},
                )  # fmt: skip
            case "io-error":
                fault = Fault(
                    place=place, do=do, at_share=share, for_s=max(for_s, 5.0), whole=True, who=(who,),
                    change={"kind": kind, "nth": nth},
                )  # fmt: skip
            case _:
                if Random(f"{options.seed}/lying-disks/gone {number}").random() < GONE_SHARE:
                    do = LOSE
                fault = Fault(place=place, do=do, at_share=share, for_s=for_s, whole=True, who=(who,))
        made.append(fault)
    return made


def drawn_aims(options: Options) -> list[Aim]:
    """Draws at which transactions the power goes, or the process is killed."""
    dice = Random(f"{options.seed}/lying-disks")
    kinds = {kind: count for kind, (phases, count) in sorted(COUNTS.items()) if phases is STORE}
    return [
        Aim(
            kind=(kind := dice.choice(list(kinds))),
            phase=dice.choice(STORE),
            do=dice.choice(DOES),
            nth=round(exp(dice.uniform(0.0, log(kinds[kind])))),
            for_s=dice.choice(FOR_S),
            place=f"aim {number + 1}",
        )
        for number in range(dice.randint(*AIMS))
    ]


def drawn_parts(options: Options) -> list[Fault | Aim]:
    """Draws all that happens."""
    return [*drawn_faults(options), *drawn_aims(options)]


async def faults(stage: Stage) -> None:
    options = stage.options
    await asyncio.gather(play(stage, drawn_faults(options)), strike(stage, drawn_aims(options)))


SCENARIO = Scenario(
    "disks lose what was not synced, refuse calls, and return something else than was written",
    faults,
    parts=drawn_parts,
    masters_min=2,
    share=0.08,
)
