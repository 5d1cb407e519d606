"""Faults that are aimed: at named moments, of drawn kinds, while masters leave, come back, lose disks and are asked.

What is drawn is a list of faults and a list of aims, as a plan in a file has them, so that a run that fails can be
written as a plan, and what does not matter be taken away from it.
"""

from __future__ import annotations

import asyncio
from math import exp, log
from random import Random
from typing import Final

from ..draws.stalls import with_stalls
from ..kernel.moments import ASKED, CAME, COMES, COMMITS, COMMITTED, LEAVES, LEFT, TOLD
from ..play.aims import BOTH, NODE, PEER, Aim, elsewhere, strike
from ..play.faults import Fault, play
from ..play.options import Options
from ..play.scenario import Scenario
from ..play.stage import Stage

AIMS = (3, 8)
"""How many are drawn, at least and at most. Not all come to it: some wait for what never happens in that run."""
EVENTS = (3, 6)
BEFORE: Final = ("leave", "leave", "crash", "power-loss", "wipe", "freeze", "split", "ask", "ask")
"""The faults that make masters hand over, take over and heal, in which most kinds of messages are sent."""
DOES: Final = ("crash", "power-loss", "power-loss", "wipe", "wipe", "freeze", "split")
FOR_S: Final = (0.3, 2.0, 5.8, 9.0, 15.0)
"""Who stands still for the third of these knows that its slaves have stopped, and is not declared dead yet."""
APART_S: Final = (0.0, 0.0, 0.001, 0.005, 0.02, 0.1, 0.5)

MESSAGE, STORE, VERB = (LEAVES, LEFT, COMES, CAME), (COMMITS, COMMITTED), (ASKED, TOLD)
COUNTS: Final[dict[str, tuple[tuple[str, ...], int]]] = {
    "Answered": (MESSAGE, 96),
    "Beat": (MESSAGE, 297),
    "Buckets.forget": (STORE, 5),
    "Claim": (MESSAGE, 37),
    "Closed": (MESSAGE, 3),
    "Compare": (MESSAGE, 233),
    "Compared": (MESSAGE, 230),
    "Copied": (MESSAGE, 300),
    "Copy": (MESSAGE, 305),
    "CopyStore._drop": (STORE, 53),
    "CopyStore.put": (STORE, 304),
    "CopyStore.set_accounts": (STORE, 90),
    "CopyStore.set_standings": (STORE, 132),
    "CopyStore.spool": (STORE, 5),
    "CopyStore.unspool": (STORE, 4),
    "Discover": (MESSAGE, 52),
    "DropCopies": (MESSAGE, 50),
    "Dropped": (MESSAGE, 50),
    "Forget": (MESSAGE, 6),
    "Forgotten": (MESSAGE, 22),
    "Grant": (MESSAGE, 100),
    "Hello": (MESSAGE, 2),
    "Introduce": (MESSAGE, 14),
    "JobAtMaster": (MESSAGE, 141),
    "JobMarks": (MESSAGE, 17),
    "JobOver": (MESSAGE, 4),
    "JobsDiffering": (MESSAGE, 17),
    "ListKeys": (MESSAGE, 7),
    "Listed": (MESSAGE, 7),
    "MirrorJob": (MESSAGE, 4),
    "Mirrored": (MESSAGE, 4),
    "Noted": (MESSAGE, 79),
    "Offer": (MESSAGE, 11),
    "Offered": (MESSAGE, 10),
    "OpenJob": (MESSAGE, 5),
    "Pull": (MESSAGE, 20),
    "PullCopies": (MESSAGE, 26),
    "Pulled": (MESSAGE, 20),
    "PulledCopies": (MESSAGE, 26),
    "Query": (MESSAGE, 91),
    "Quiet": (MESSAGE, 142),
    "Released": (MESSAGE, 37),
    "Renewed": (MESSAGE, 297),
    "Report": (MESSAGE, 102),
    "ReportsDurable": (MESSAGE, 102),
    "Returned": (MESSAGE, 1),
    "Settled": (MESSAGE, 51),
    "Store.add_job": (STORE, 1),
    "Store.commit": (STORE, 284),
    "Store.life": (STORE, 2),
    "Store.recover": (STORE, 1),
    "Store.set_slices": (STORE, 57),
    "Sync": (MESSAGE, 25),
    "Synced": (MESSAGE, 25),
    "Taken": (MESSAGE, 22),
    "Welcome": (MESSAGE, 2),
    "Whole": (MESSAGE, 83),
    "verb job": (VERB, 6),
    "verb results": (VERB, 3),
    "verb statistics": (VERB, 4),
}
"""The kinds of moments with their phases, and about how many of each come in a run of 80 pages: counted in runs without
aims. A kind that is seldom is aimed at almost as often as one that comes all the time."""


def drawn_faults(options: Options) -> list[Fault]:
    """Draws what happens beside the aims: one thing after the other, each when all copies are whole."""
    dice = Random(f"{options.seed}/aimed/faults")
    words = [word for word in BEFORE if word != "wipe" or _may_lose_disks(options)]
    made: list[Fault] = []
    for number in range(dice.randint(*EVENTS)):
        do, who = dice.choice(words), f"m{dice.randrange(options.masters)}"
        for_s = None if do == "ask" else dice.choice(FOR_S)
        share = round(dice.uniform(0.02, 0.85), 2)
        made.append(Fault(place=f"fault {number + 1}", do=do, at_share=share, for_s=for_s, whole=True, who=(who,)))
    return made


def drawn_aims(options: Options) -> list[Aim]:
    """Draws the aims of a run."""
    dice = Random(f"{options.seed}/aimed")
    kinds = sorted(COUNTS)
    weights = [1.0 / log(COUNTS[kind][1] + 2.0) for kind in kinds]
    does = [do for do in DOES if do != "wipe" or _may_lose_disks(options)]
    made: list[Aim] = []
    for number in range(dice.randint(*AIMS)):
        (kind,) = dice.choices(kinds, weights)
        phases, count = COUNTS[kind]
        do, side = dice.choice(does), NODE
        who = elsewhere(Random(f"{options.seed}/aimed elsewhere {number}"), options.masters, options.slaves)
        if phases is MESSAGE and not who:
            side = dice.choice((NODE, NODE, PEER, PEER, BOTH))
        both = side == BOTH and do != "split"
        made.append(
            Aim(
                kind=kind,
                phase=dice.choice(phases),
                who=who,
                do=do,
                nth=round(exp(dice.uniform(0.0, log(count)))),
                side=side,
                peer_do=dice.choice(("", "crash", "freeze")) if both else "",
                apart_s=dice.choice(APART_S) if both else 0.0,
                for_s=dice.choice(FOR_S),
                place=f"aim {number + 1}",
            )
        )
    majority = options.partition == "majority"
    return with_stalls(made, options, [*does, "start"] if majority else [*does, "start", "leave"], majority=majority)


def _may_lose_disks(options: Options) -> bool:
    """Tells whether disks may be lost at any moment: with a majority, not before all have a vote (docs/majority.md)."""
    return options.replicas > 1 and options.partition != "majority"


def drawn_parts(options: Options) -> list[Fault | Aim]:
    """Draws all that happens."""
    return [*drawn_faults(options), *drawn_aims(options)]


async def faults(stage: Stage) -> None:
    options = stage.options
    await asyncio.gather(play(stage, drawn_faults(options)), strike(stage, drawn_aims(options)))


SCENARIO = Scenario(
    "machines die, stand still or are cut off at drawn moments: as a message leaves or comes, or something is stored",
    faults,
    parts=drawn_parts,
    masters_min=3,
    share=0.3,
)
