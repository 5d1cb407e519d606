"""The company of a scenario, drawn: other jobs, what people ask for, and faults that are aimed.

All of it is a list of faults and aims, as a plan in a file has them, so that what does not matter to a failure can be
taken away.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from random import Random
from typing import Final

from ..kernel.moments import ASKED, CAME, COMES, COMMITS, COMMITTED, LEAVES, LEFT, TOLD
from ..play.aims import BOTH, NODE, PEER, Aim, elsewhere
from ..play.faults import Fault
from ..play.options import KEYS, Options
from ..world.sinks import STEP
from .closings import drawn_closings
from .letters import drawn_letters
from .stalls import drawn_hesitations, with_stalls

AIMS: Final = (2, 5)
STEPS: Final = 60
"""About so many batches and files are brought to the sinks of a run."""
DEPTHS: Final = (0, 10_000, 20_000, 30_000)
VERBS: Final = (2, 5)
WHOLE_MAX: Final = 120
"""Pages of a web that another job crawls as a whole."""
SOME: Final = (4, 12)
"""Pages of another job that crawls some."""
FOR_S: Final = (0.3, 2.0, 5.8, 9.0, 15.0)
"""Who stands still for the third of these knows that its slaves have stopped, and is not declared dead yet."""
RESTS_S: Final = (0.5, 4.0, 12.0)
DELAYS_S: Final = (0.0, 2.0, 4.0)
"""Of hosts that people change; 0 lets them rest."""
UNAIMED: Final = frozenset({"alone", "newcomers", "clearing", "inject", "boards", "reextraction"})
"""Scenarios that count on nothing else happening, or lose disks that nothing else may be lost with."""
KEEPS_DISKS: Final = frozenset({"majority", "massacre", "wiped", "swarm", "aimed"})
"""Scenarios in which disks are lost already: aims take no more of them."""

OPEN: Final = frozenset({"churn", "clocks", "hot-host", "lying-disks", "rolling", "slow-owner", "steady"})
"""Scenarios in which the network may be cut, and who is down be started, at any time."""

_MESSAGE, _STORE = (LEAVES, LEFT, COMES, CAME), (COMMITS, COMMITTED)
KINDS: Final[dict[str, tuple[tuple[str, ...], int]]] = {
    "Adopted": (_MESSAGE, 3),
    "AskElectorate": (_MESSAGE, 3),
    "Beat": (_MESSAGE, 297),
    "Borrow": (_MESSAGE, 12),
    "Buckets.forget": (_STORE, 5),
    "Bye": (_MESSAGE, 2),
    "CalledIn": (_MESSAGE, 3),
    "CallIn": (_MESSAGE, 3),
    "Claim": (_MESSAGE, 37),
    "CloseJob": (_MESSAGE, 4),
    "Compared": (_MESSAGE, 230),
    "Copied": (_MESSAGE, 300),
    "Copy": (_MESSAGE, 300),
    "CopyStore._drop": (_STORE, 53),
    "CopyStore.put": (_STORE, 300),
    "CopyStore.set_standings": (_STORE, 132),
    "CopyStore.spool": (_STORE, 5),
    "Delivered": (_MESSAGE, 12),
    "Discover": (_MESSAGE, 52),
    "DropCopies": (_MESSAGE, 50),
    "Dropped": (_MESSAGE, 50),
    "Elected": (_MESSAGE, 3),
    "Forget": (_MESSAGE, 6),
    "Forgotten": (_MESSAGE, 22),
    "Grant": (_MESSAGE, 100),
    "Halt": (_MESSAGE, 2),
    "Hello": (_MESSAGE, 2),
    "HostsOrdered": (_MESSAGE, 3),
    "JobClosing": (_MESSAGE, 4),
    "Leaving": (_MESSAGE, 2),
    "Lent": (_MESSAGE, 12),
    "ListKeys": (_MESSAGE, 7),
    "Marked": (_MESSAGE, 12),
    "Merge": (_MESSAGE, 5),
    "Mirrored": (_MESSAGE, 4),
    "MirrorJob": (_MESSAGE, 4),
    "Noted": (_MESSAGE, 79),
    "Offer": (_MESSAGE, 11),
    "Offered": (_MESSAGE, 10),
    "OrderHosts": (_MESSAGE, 3),
    "Orphans": (_MESSAGE, 3),
    "Pull": (_MESSAGE, 20),
    "PullCopies": (_MESSAGE, 26),
    "Pulled": (_MESSAGE, 20),
    "PulledCopies": (_MESSAGE, 26),
    "PullKeys": (_MESSAGE, 5),
    "Released": (_MESSAGE, 37),
    "Renewed": (_MESSAGE, 297),
    "Repaid": (_MESSAGE, 12),
    "Repay": (_MESSAGE, 12),
    "Report": (_MESSAGE, 102),
    "ReportsDurable": (_MESSAGE, 102),
    "Returned": (_MESSAGE, 1),
    "Settled": (_MESSAGE, 51),
    "Store.commit": (_STORE, 284),
    "Store.life": (_STORE, 2),
    "Store.recover": (_STORE, 1),
    "Synced": (_MESSAGE, 25),
    "Taken": (_MESSAGE, 22),
    "Voted": (_MESSAGE, 3),
    "Welcome": (_MESSAGE, 2),
    "Whole": (_MESSAGE, 83),
}
"""The kinds of moments that are aimed at, and about how many of each come in a run where there are any: loans come with
another key than the host, votes with a majority, batches with sinks, orphans with slaves on machines of their own."""
_NEEDS: Final[dict[str, frozenset[str]]] = {
    "loans": frozenset({"Borrow", "Lent", "Repay", "Repaid"}),
    "sinks": frozenset({"Delivered", "Marked"}),
    "majority": frozenset({"AskElectorate", "Elected", "Voted", "Halt", "CallIn", "CalledIn"}),
    "slaves": frozenset({"Orphans", "Adopted", "Bye"}),
}


def drawn_beside(options: Options) -> tuple[Fault | Aim, ...]:
    """Draws what happens besides, as far as the options say that anything does."""
    drawn: list[Fault | Aim] = []
    if "jobs" in options.draws:
        drawn += drawn_jobs(options)
    if "closings" in options.draws:
        drawn += drawn_closings(options)
    if "verbs" in options.draws:
        drawn += drawn_verbs(options)
    if "aims" in options.draws and options.scenario not in UNAIMED:
        drawn += drawn_aims(options)
    if "hesitation" in options.draws:
        drawn += drawn_hesitations(options)
    if "letters" in options.draws and options.sinks:
        drawn += drawn_letters(options)
    return tuple(drawn)


def drawn_jobs(options: Options) -> list[Fault]:
    """Draws one or two other jobs, and what becomes of them."""
    dice = Random(f"{options.seed}/jobs")
    made: list[Fault] = []
    for label in ("b", "c")[: dice.choice((1, 1, 2))]:
        whole = options.pages <= WHOLE_MAX and dice.random() < 0.4
        change = {"job": label, "key": dice.choice(KEYS), "pages": 0 if whole else dice.randint(*SOME)}
        began = round(dice.uniform(0.0, 0.6), 2)
        made.append(_said(dice, options, "submit", began, change, f"job {label}"))
        for turn in range(dice.choice((0, 1, 2))):
            do = dice.choice(("pause-job", "results", "results", "inject", "cancel-job", "delete-job", "delete-job"))
            then: dict[str, object] = {"job": label}
            if do == "inject":
                then["pages"] = 2
            late = round(dice.uniform(began, 0.98), 2)
            for_s = dice.choice(RESTS_S) if do == "pause-job" else None
            made.append(_said(dice, options, do, late, then, f"job {label}, {turn + 1}", for_s))
    return made


def drawn_verbs(options: Options) -> list[Fault]:
    """Draws what people ask masters for."""
    dice = Random(f"{options.seed}/verbs")
    made: list[Fault] = []
    for number in range(dice.randint(*VERBS)):
        do = dice.choice(("pause-job", "results", "results", "inject", "inject", "retry-job", "set-host", "ask"))
        change: dict[str, object] = {"job": ""}
        for_s = None
        match do:
            case "inject":
                change["pages"] = dice.randint(1, 6)
            case "pause-job":
                for_s = dice.choice(RESTS_S)
            case "set-host":
                change = {"host": dice.randrange(options.hosts_of_web), "delay": dice.choice(DELAYS_S)}
                for_s = dice.choice(RESTS_S)
            case "ask":
                change = {}
        share = round(dice.uniform(0.02, 0.98), 2)
        made.append(_said(dice, options, do, share, change, f"verb {number + 1}", for_s))
    return made + _drawn_settings(options) + _drawn_restarts(options)


def _drawn_restarts(options: Options) -> list[Fault]:
    """Draws that people have the entries of the job begun anew, by dice of its own. What is in part files is not known
    by its key there: items of a second visit would be there twice.
    """
    dice = Random(f"{options.seed}/restarts")
    return [
        _said(dice, options, "restart-job", round(dice.uniform(0.4, 0.98), 2), {"job": ""}, f"restart {number + 1}")
        for number in range(dice.choice((0, 0, 1)))
        if not options.buckets
    ]


def _drawn_settings(options: Options) -> list[Fault]:
    """Draws what people change of the job's settings: what no page of such a web comes to, by dice of its own."""
    dice = Random(f"{options.seed}/settings")
    return [
        _said(
            dice, options, "set-job", round(dice.uniform(0.02, 0.9), 2), {"job": "", "depth": dice.choice(DEPTHS)},
            f"setting {number + 1}",
        )
        for number in range(dice.choice((0, 0, 2, 3)))
    ]  # fmt: skip


def drawn_aims(options: Options) -> list[Aim]:
    """Draws a few faults that are aimed, of kinds that come in such a run."""
    dice = Random(f"{options.seed}/aims")
    there = {"loans": options.key != "host", "sinks": options.sinks > 0, "slaves": options.slaves > 0}
    there["majority"] = options.partition == "majority" or options.scenario == "majority"
    never = frozenset[str]().union(*(kinds for what, kinds in _NEEDS.items() if not there[what]))
    kinds = [kind for kind in KINDS if kind not in never]
    weights = [1.0 / log(KINDS[kind][1] + 2.0) for kind in kinds]
    does = ["crash", "power-loss", "power-loss", "freeze", "freeze"]
    if options.replicas > 1 and options.scenario not in KEEPS_DISKS and not there["majority"]:
        does += ["wipe", "wipe"]
    made: list[Aim] = []
    for number in range(dice.randint(*AIMS)):
        (kind,) = dice.choices(kinds, weights)
        phases, count = KINDS[kind]
        who = elsewhere(Random(f"{options.seed}/aims elsewhere {number}"), options.masters, options.slaves)
        side = dice.choice((NODE, NODE, PEER, PEER, BOTH)) if phases is _MESSAGE and not who else NODE
        made.append(
            Aim(
                kind=kind,
                phase=dice.choice(phases),
                who=who,
                do=dice.choice(does),
                nth=round(exp(dice.uniform(0.0, log(count)))),
                side=side,
                peer_do=dice.choice(("", "crash", "freeze")) if side == BOTH else "",
                for_s=dice.choice(FOR_S),
                place=f"aim {number + 1} besides",
            )
        )
    allowed = [*does, *(("split", "start") if options.scenario in OPEN else ())]
    stalled = with_stalls(made, options, allowed, majority=there["majority"])
    return stalled + (_drawn_at_sinks(options, does) if options.sinks or options.buckets else [])


def _drawn_at_sinks(options: Options, does: Sequence[str]) -> list[Aim]:
    """Draws who is struck while a sink takes a batch, or a file of one, by dice of its own, in most such runs."""
    dice = Random(f"{options.seed}/at sinks")
    return [
        Aim(
            kind=STEP,
            phase=dice.choice((ASKED, TOLD)),
            do=dice.choice(does),
            nth=round(exp(dice.uniform(0.0, log(STEPS)))),
            for_s=dice.choice(FOR_S),
            place=f"at a sink, {number + 1}",
        )
        for number in range(dice.choice((0, 1, 1, 2)))
    ]


def _said(
    dice: Random, options: Options, do: str, share: float, change: dict[str, object], place: str,
    for_s: float | None = None,
) -> Fault:  # fmt: skip
    who = (f"m{dice.randrange(options.masters)}",)
    return Fault(place=place, do=do, at_share=share, for_s=for_s, who=who, change=dict(change))
