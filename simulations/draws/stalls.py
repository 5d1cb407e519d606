"""Stalls, drawn: what is held up for seconds where it usually takes milliseconds, and who is struck meanwhile.

Much of a protocol is there for what happens while somebody waits: a second look after an answer, an epoch that is
raised meanwhile, a word that comes when all is otherwise by now. On a good network, and a good disk, such a window is
a few milliseconds wide, and hardly anything falls into it. So some seeds have machines that hesitate, and about half of
the aims hold something up: long enough for a death to be noticed, and for the views of all to change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import exp, log
from random import Random
from typing import Final

from ..kernel.moments import COMES, COMMITTED, LEAVES
from ..play.aims import BOTH, NODE, PEER, STALL, Aim, elsewhere
from ..play.faults import Fault
from ..play.options import Options

SHARE: Final = 0.5
"""The share of the drawn aims that hold something up in place of what they would do,"""
MORE: Final = (2, 5)
"""and so many more do, at least and at most: many kinds of moments come in few runs."""
FOR_S: Final = (0.3, 1.0, 3.0, 6.0, 9.0, 9.5, 12.0)
"""A call to another master is given up after 10 s."""
THEN_SHARE: Final = 0.7
"""Somebody is struck meanwhile in so many of them."""
THEN: Final = ("crash", "crash", "power-loss", "freeze", "freeze", "split", "leave", "wipe", "start", "start")
THEN_FOR_S: Final = (0.3, 2.0, 5.8, 9.0, 15.0)
APART_S: Final = (0.001, 0.05, 0.3, 1.0)

MESSAGES: Final[dict[str, int]] = {
    "AskElectorate": 3,
    "Borrow": 12,
    "CallIn": 3,
    "Claim": 37,
    "CloseJob": 4,
    "Compare": 233,
    "Copy": 300,
    "Discover": 52,
    "DropCopies": 50,
    "Forget": 6,
    "JobAtMaster": 141,
    "ListKeys": 7,
    "MirrorJob": 4,
    "Noted": 79,
    "Offer": 11,
    "OpenJob": 5,
    "Pull": 20,
    "PullCopies": 26,
    "PullKeys": 5,
    "Query": 91,
    "Quiet": 142,
    "Released": 37,
    "Repay": 12,
    "Report": 102,
    "Settled": 51,
    "Sync": 25,
    "Taken": 22,
}
"""The messages that are held up, and about how many of each there are in a run: as they leave, or as they come, which
holds up their answers."""
STORES: Final[dict[str, int]] = {
    "Buckets.forget": 5,
    "CopyStore._drop": 53,
    "CopyStore.put": 300,
    "CopyStore.set_accounts": 90,
    "CopyStore.set_standings": 132,
    "CopyStore.spool": 5,
    "CopyStore.unspool": 4,
    "Store.add_job": 1,
    "Store.commit": 284,
    "Store.life": 2,
    "Store.recover": 1,
    "Store.set_slices": 57,
}
"""What is stored and held up, likewise."""
FEWER: Final = {
    "loans": frozenset({"Borrow", "Repay", "Lent"}),
    "majority": frozenset({"AskElectorate", "CallIn", "Voted"}),
}
"""Those that come in some runs only."""

ANSWERS: Final[dict[str, int]] = {
    "Copied": 300,
    "Dropped": 50,
    "Forgotten": 22,
    "Lent": 12,
    "Noted": 79,
    "Pulled": 20,
    "PulledCopies": 26,
    "Released": 37,
    "Settled": 51,
    "Synced": 25,
    "Voted": 3,
}
"""The answers that are held up while whoever asked stands still, and about how many of each there are in a run."""
OUTLASTS_SHARE: Final = 0.25
"""In so many of the runs with aims there is one such stall,"""
OUTLASTS_S: Final = (6.0, 9.0, 9.5)
"""for so long,"""
STILL_S: Final = (5.4, 5.8)
"""and so long who asked stands still: it knows that it did, and nobody has declared it dead. So that may be at any
time, also while somebody else is away, as is so wherever buckets change hands."""

SLOW_SHARE: Final = 0.6
"""In so many of the runs with aims some kinds are slow: again and again one of these is held up,"""
SLOW_KINDS: Final = (1, 2, 3)
SLOW_TIMES: Final = (4, 10)
"""so often, at least and at most,"""
SLOW_EVERY: Final = (1, 1, 2, 5)
"""each one of them, or one of a few,"""
SLOW_FOR_S: Final = (0.3, 1.0, 2.0, 3.0, 6.0, 9.5, 12.0)
"""for so long, each."""
SLOW_STILL_SHARE: Final = 0.2
"""In so many of them one of the two stands still meanwhile, and knows it,"""
SLOW_THEN_SHARE: Final = 0.15
"""and in so many somebody is struck: views change by whatever else happens, too."""
OF_SLAVES: Final[dict[str, int]] = {"Adopted": 3, "Beat": 297, "Grant": 100, "Orphans": 3, "Renewed": 297}
"""What is held up between masters and the slaves on machines of their own, besides."""

SHARES: Final = (0.002, 0.005, 0.01, 0.02)
LONGEST_S: Final = (0.3, 1.0, 2.0)


def with_stalls(aims: Sequence[Aim], options: Options, allowed: Collection[str], *, majority: bool) -> list[Aim]:
    """Returns these aims, about half of them replaced by stalls, and some more stalls, by dice of their own: the others
    are as they were. Meanwhile strikes what is allowed.
    """
    fewer = {"loans": options.key == "host", "majority": not majority}
    never = frozenset[str]().union(*(kinds for what, kinds in FEWER.items() if fewer[what]))
    counts = {kind: count for kind, count in (MESSAGES | STORES).items() if kind not in never}
    does = [do for do in THEN if do in allowed]
    made: list[Aim] = []
    for aim in aims:
        dice = Random(f"{options.seed}/stalls: {aim.place}")
        made.append(_drawn(dice, options, counts, does, aim.place) if dice.random() < SHARE else aim)
    more = Random(f"{options.seed}/more stalls: {aims[0].place}")
    made += [
        _drawn(more, options, counts, does, f"stall {number + 1} with {aims[0].place}")
        for number in range(more.randint(*MORE))
    ]
    answers = {kind: count for kind, count in ANSWERS.items() if kind not in never}
    made += _drawn_outlasting(options, answers, f"answer with {aims[0].place}")
    return made + _drawn_slow(options, counts | answers, does, f"with {aims[0].place}")


def _drawn_outlasting(options: Options, counts: Mapping[str, int], place: str) -> list[Aim]:
    """Draws an answer that comes when whoever asked has stood still meanwhile, by dice of its own, in some runs."""
    dice = Random(f"{options.seed}/outlasting: {place}")
    if dice.random() >= OUTLASTS_SHARE:
        return []
    (kind,) = dice.choices(list(counts), [1.0 / log(count + 2.0) for count in counts.values()])
    return [
        Aim(
            kind=kind,
            phase=LEAVES,
            do=STALL,
            nth=round(exp(dice.uniform(0.0, log(counts[kind])))),
            for_s=dice.choice(OUTLASTS_S),
            side=PEER,
            then="freeze",
            apart_s=dice.choice(APART_S),
            then_for_s=dice.choice(STILL_S),
            beyond=True,
            place=place,
        )
    ]


def _drawn_slow(options: Options, counts: Mapping[str, int], does: Sequence[str], place: str) -> list[Aim]:
    """Draws kinds of which one after the other is held up, by dice of their own, in some runs. What is held up once a
    run seldom falls together with what else there is; where each answer of a kind takes its time, all that happens
    meanwhile happens while somebody waits.
    """
    dice = Random(f"{options.seed}/slow: {place}")
    if dice.random() >= SLOW_SHARE:
        return []
    there = {**counts, **(OF_SLAVES if options.slaves else {})}
    made: list[Aim] = []
    for _ in range(dice.choice(SLOW_KINDS)):
        (kind,) = dice.choices(list(there), [1.0 / log(count + 2.0) for count in there.values()])
        phase = COMMITTED if kind in STORES else LEAVES if kind in ANSWERS else dice.choice((LEAVES, COMES))
        every, nth = dice.choice(SLOW_EVERY), round(exp(dice.uniform(0.0, log(there[kind]) / 2)))
        for number in range(dice.randint(*SLOW_TIMES)):
            aim = Aim(
                kind=kind,
                phase=phase,
                do=STALL,
                nth=nth + number * every,
                for_s=dice.choice(SLOW_FOR_S),
                place=f"slow {kind} {number + 1} {place}",
            )
            made.append(_with_company(dice, aim, does))
    return made


def _with_company(dice: Random, aim: Aim, does: Sequence[str]) -> Aim:
    """Draws what happens while a slow one is held up, if anything does."""
    which, apart_s = dice.random(), dice.choice(APART_S)
    side = NODE if aim.kind in STORES else dice.choice((NODE, PEER))
    if which < SLOW_STILL_SHARE:
        for_s = dice.choice(STILL_S)
        return replace(aim, then="freeze", side=side, apart_s=apart_s, then_for_s=for_s, beyond=True)
    if does and which < SLOW_STILL_SHARE + SLOW_THEN_SHARE:
        return replace(aim, then=dice.choice(does), side=side, apart_s=apart_s, then_for_s=dice.choice(THEN_FOR_S))
    return aim


def drawn_hesitations(options: Options) -> list[Fault]:
    """Draws which machines hesitate, and how much: in about half of the seeds all, or some, or none."""
    dice = Random(f"{options.seed}/hesitations")
    change: dict[str, object] = {"share": dice.choice(SHARES), "longest": dice.choice(LONGEST_S)}
    names = [f"m{number}" for number in range(options.masters)]
    who = names if dice.random() < 0.4 else dice.sample(names, dice.randint(1, len(names)))
    return [Fault(place="hesitation", do="hesitate", at_s=0.0, who=tuple(who), change=change)]


def _drawn(dice: Random, options: Options, counts: Mapping[str, int], does: Sequence[str], place: str) -> Aim:
    (kind,) = dice.choices(list(counts), [1.0 / log(count + 2.0) for count in counts.values()])
    aim = Aim(
        kind=kind,
        phase=COMMITTED if kind in STORES else dice.choice((LEAVES, COMES)),
        do=STALL,
        nth=round(exp(dice.uniform(0.0, log(counts[kind])))),
        for_s=dice.choice(FOR_S),
        place=place,
    )
    if not does or dice.random() > THEN_SHARE:
        return aim
    who = elsewhere(dice, options.masters, options.slaves)
    side = NODE if who or kind in STORES else dice.choice((NODE, NODE, PEER, PEER, BOTH))
    return replace(
        aim, who=who, side=side, then=dice.choice(does), apart_s=dice.choice(APART_S),
        then_for_s=dice.choice(THEN_FOR_S),
    )  # fmt: skip
