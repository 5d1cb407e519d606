"""Figures over time, in bounded memory: the last half hour in steps of ten seconds, and the last six hours in minutes.

Steps begin at multiples of their length, by a clock on the wall, so that those of several masters can be added up. A
step in which nobody counted is not there: that is another thing than one in which nothing happened.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

FINE_S: Final = 10
COARSE_S: Final = 60
FINE_KEPT: Final = 180
COARSE_KEPT: Final = 360
"""How many steps of each length are kept."""


class SeriesStep(NamedTuple):
    """The figures of one step, ``number`` times its length after 1970. ``counts`` happened in it; ``levels`` are as
    they were at its end."""

    number: int
    counts: tuple[int, ...]
    levels: tuple[int, ...]


class Series:
    """Keeps the steps of one length. ``kept``: how many."""

    def __init__(self, step_s: int, kept: int) -> None:
        self.step_s = step_s
        self._steps: deque[SeriesStep] = deque(maxlen=kept)

    def add(self, at: float, counts: Sequence[int], levels: Sequence[int]) -> None:
        """Adds what happened up to now since the last call: to the step that this moment is in."""
        number = int(at // self.step_s)
        if self._steps and self._steps[-1].number >= number:
            # The clock may have been set back: what happened is told all the same.
            last = self._steps.pop()
            number, counts = last.number, [one + other for one, other in zip(last.counts, counts, strict=True)]
        self._steps.append(SeriesStep(number, tuple(counts), tuple(levels)))

    def since(self, number: int) -> list[SeriesStep]:
        """Returns the steps from this one on."""
        return [step for step in self._steps if step.number >= number]


def added_up(parts: Sequence[Sequence[SeriesStep]]) -> dict[int, SeriesStep]:
    """Adds up the steps of several masters, by their numbers."""
    whole: dict[int, SeriesStep] = {}
    for step in (step for part in parts for step in part):
        known = whole.get(step.number)
        if known is None:
            whole[step.number] = step
            continue
        whole[step.number] = SeriesStep(
            step.number,
            tuple(one + other for one, other in zip(known.counts, step.counts, strict=True)),
            tuple(one + other for one, other in zip(known.levels, step.levels, strict=True)),
        )
    return whole
