"""The rule of who must have heard of a change, and from when on: what the pages promise of it, and no more.

Whoever is asked for a change has it on its disk when it answers, and keeps it for as long as it has that disk. All
others are told; those that are away, out of reach or slow hear of it when they are back. So in a *calm*, in which
nothing is in anybody's way, all that are there know after a while what any of them knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from typing import Final, NamedTuple

HEARD_S: Final = 15.0
"""So long into a calm all have heard: each tells some others each second, and a few such steps lead to everybody."""

Spells = Mapping[str, list[tuple[float, float]]]
"""From when until when each master must know something, by its name."""


class Calm(NamedTuple):
    """A time in which nothing was in the way of those who were there."""

    began_s: float
    ended_s: float
    who: frozenset[str]


class Loss(NamedTuple):
    """The loss of a disk."""

    at_s: float
    who: str


def heard(by: str, since_s: float, calms: Iterable[Calm], losses: Iterable[Loss]) -> Spells:
    """Returns when each master must know what one has on its disk since a moment."""
    events: list[tuple[float, frozenset[str], bool]] = [
        (loss.at_s, frozenset({loss.who}), True) for loss in losses if loss.at_s >= since_s
    ]
    for calm in calms:
        due_s = max(calm.began_s, since_s) + HEARD_S
        if due_s <= calm.ended_s:
            events.append((due_s, calm.who, False))
    spells: dict[str, list[tuple[float, float]]] = {by: [(since_s, inf)]}
    knowing = {by}
    for at_s, who, lost in sorted(events, key=lambda event: event[0]):
        if lost and who <= knowing:
            knowing -= who
            for name in who:
                spells[name][-1] = spells[name][-1][0], at_s
        elif not lost and knowing & who:
            for name in who - knowing:
                spells.setdefault(name, []).append((at_s, inf))
            knowing |= who
    return spells


def knows(spells: Spells, who: str, at_s: float) -> bool:
    """Tells whether a master must know it at a moment."""
    return any(began_s <= at_s < ended_s for began_s, ended_s in spells.get(who, ()))
