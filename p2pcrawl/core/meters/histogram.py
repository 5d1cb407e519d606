"""A histogram: how many values there were up to each of some bounds.

It forgets the values themselves, so it never grows, and what several masters counted can be added up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


class Histogram:
    """Counts values by ``bounds``, which rise; one more count is of those above the last bound."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0
        """The sum of all values."""

    def note(self, value: float) -> None:
        """Counts a value in, under the first bound that it does not exceed."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


def quantile(bounds: Sequence[float], counts: Sequence[int], share: float) -> float | None:
    """Returns the value below which this share of what was counted lies, as far as the bounds tell; None when nothing
    was counted. Beyond the last bound nothing more is known than that bound.
    """
    wanted = share * sum(counts)
    if not wanted:
        return None
    below, lower = 0, 0.0
    for upper, count in zip(bounds, counts, strict=False):
        if count and below + count >= wanted:
            return lower + (upper - lower) * (wanted - below) / count
        below, lower = below + count, upper
    return lower
