"""Jobs that are closed before their queues are empty, drawn: by a limit, by their spider or by a person; and what
people ask of them afterwards, which is refused.
"""

from __future__ import annotations

from random import Random
from typing import Final

from ..play.faults import Fault
from ..play.options import KEYS, Options
from ..play.other_jobs import CLOSES

LATE: Final = ("inject", "restart-job", "set-job")
"""What people ask of a job that is over."""


def drawn_closings(options: Options) -> list[Fault]:
    """Draws one or two jobs that something closes, and sometimes one that a person ends."""
    dice = Random(f"{options.seed}/closings")
    made: list[Fault] = []
    for label in ("x", "y")[: dice.choice((1, 2))]:
        change = {"job": label, "key": dice.choice(KEYS), "pages": 0, "closed_by": dice.choice(list(CLOSES))}
        made.append(_said(dice, options, "submit", round(dice.uniform(0.0, 0.5), 2), change, f"job {label}"))
        made += _late(dice, options, label)
    if dice.random() < 0.4:
        began = round(dice.uniform(0.0, 0.3), 2)
        ends = round(dice.uniform(began, 0.6), 2)
        change = {"job": "z", "key": dice.choice(KEYS), "pages": 0}
        made.append(_said(dice, options, "submit", began, change, "job z"))
        made.append(_said(dice, options, "cancel-job", ends, {"job": "z"}, "the end of job z"))
        made += _late(dice, options, "z")
    return made


def _late(dice: Random, options: Options, label: str) -> list[Fault]:
    """Draws what people ask of a job when it may be over."""
    made: list[Fault] = []
    for do in dice.sample(LATE, dice.choice((0, 1, 2))):
        change: dict[str, object] = {"job": label}
        change |= {"pages": 2} if do == "inject" else {"depth": 20_000} if do == "set-job" else {}
        # What is in part files is not known by its key there.
        if do != "restart-job" or not options.buckets:
            made.append(_said(dice, options, do, round(dice.uniform(0.7, 0.98), 2), change, f"{do} of job {label}"))
    return made


def _said(dice: Random, options: Options, do: str, share: float, change: dict[str, object], place: str) -> Fault:
    who = (f"m{dice.randrange(options.masters)}",)
    return Fault(place=place, do=do, at_share=share, who=who, change=change)
