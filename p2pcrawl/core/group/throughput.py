"""The speed of a group's slaves, measured while they work.

A slave shows its speed only while it has more in hand than it can work on. One that was starved, however few pages it
ended, may be the fastest: what it did is then a lower bound, and can only raise its weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from p2pcrawl.core.group.bounded_load import WEIGHT_MEAN, measured_weight

WINDOW_S = 10.0
FULL_PART = 0.8
"""The part of a window in which a slave must have had enough to do for its speed to be known."""
PAGES_MIN = 100
"""Fewer pages per slave and window are chance: their number would vary by more than a tenth."""


class WorkDone(NamedTuple):
    """The work that a slave has done since it came, and whether all of its workers are busy."""

    ended: int
    full: bool


class Rate(NamedTuple):
    """A slave in one window. ``full``: it never waited for work, or hardly ever."""

    pages_per_s: float
    full: bool


@dataclass(slots=True)
class _SlaveMeter:
    ended: int
    full: bool
    full_s: float = 0.0


class Throughput:
    """Told of the slaves at every turn, it says once per window how fast each was."""

    def __init__(self) -> None:
        self._began = self._looked = 0.0
        self._meters: dict[int, _SlaveMeter] = {}

    def look(self, now: float, slaves: Mapping[int, WorkDone]) -> dict[int, Rate]:
        """Returns the rates of the slaves that were there for the whole window that ends now; else nothing."""
        for number, work in slaves.items():
            meter = self._meters.get(number)
            if meter is not None:
                meter.full_s += (now - self._looked) * meter.full
                meter.full = work.full
        self._looked = now
        seconds = now - self._began
        if seconds < WINDOW_S:
            return {}
        rates = {
            number: Rate((slaves[number].ended - meter.ended) / seconds, meter.full_s >= FULL_PART * seconds)
            for number, meter in self._meters.items()
            if number in slaves
        }
        self._began = now
        self._meters = {number: _SlaveMeter(work.ended, work.full) for number, work in slaves.items()}
        return rates


def weights_of(rates: Mapping[int, Rate], weights: Mapping[int, int]) -> dict[int, int]:
    """Returns the weights that change, by what was measured; ``weights`` are the present ones.

    Speeds are compared among those that were full. Unless that was everybody, these keep their mean weight: nothing
    is known of how they compare with the others.
    """
    full = [number for number, rate in rates.items() if rate.full]
    if not full:
        return {}
    mean = fmean(rates[number].pages_per_s for number in full)
    if mean * WINDOW_S < PAGES_MIN:
        return {}
    if len(full) < len(weights):
        mean *= WEIGHT_MEAN / fmean(weights[number] for number in full)
    changed = {}
    for number, rate in rates.items():
        weight = measured_weight(rate.pages_per_s, mean, weights[number])
        if weight > weights[number] or (rate.full and weight != weights[number]):
            changed[number] = weight
    return changed
