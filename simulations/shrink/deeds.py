"""Deeds: what the code of a scenario did to the machines, as faults of a plan, each at its time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..observe.incidents import Deed
from ..play.faults import WORDS, Fault

UNDONE_BY = {"freeze": "thaw", "split": "join", "silence": "join", "ring": "join"}
"""Anything else is undone by a start."""
LONG_S = 3600.0
"""For what was not undone: otherwise it would be as soon as nothing else is to come."""
DIGITS = 6
"""Times are told to the microsecond, as they are written."""


def faults_of(deeds: Iterable[Deed], job_s: float) -> Iterator[Fault]:
    """Yields the faults that these deeds are. ``job_s``: when the job began, which a plan counts from."""
    known = list(deeds)
    for place, deed in enumerate(known):
        if deed.do not in WORDS or deed.at_s < job_s or _is_part(known, place):
            continue
        undo = UNDONE_BY.get(deed.do, "start")
        ends = (d.at_s for d in known[place + 1 :] if d.do == undo and (undo == "join" or set(d.who) & set(deed.who)))
        until_s = next(ends, None)
        for_s = None if until_s is None or deed.do == "bury" else max(round(until_s - deed.at_s, DIGITS), 0.001)
        if WORDS[deed.do].end is not None and for_s is None:
            for_s = LONG_S
        who, groups, change = () if deed.groups else deed.who, deed.groups, dict[str, Any]()
        if deed.do == "silence":
            (who, deaf), groups = deed.groups, ()
            change["unheard_by"] = list(deaf)
        yield Fault(
            place=f"fault {place + 1}", do=deed.do, at_s=round(deed.at_s - job_s, DIGITS), for_s=for_s,
            who=who, groups=groups, change=change,
        )  # fmt: skip


def _is_part(known: list[Deed], place: int) -> bool:
    """Tells whether the next deed is the same one, and more: who loses its disk loses its power first."""
    deed, then = known[place], known[place + 1] if place + 1 < len(known) else None
    return then is not None and (then.at_s, then.who) == (deed.at_s, deed.who) and then.do in ("wipe", "bury")
