"""The budget of a host: its pages are asked again one after the other, so that no hour sees more than so many.

Of the revisits of a host a bounded number waits in its queue, where its delay holds: what is overdue, because this
master was down or the host was, comes back spread, in the order in which it was due, and never at once. Where there is
a budget they begin at a distance of each other besides, an hour through the budget. Without one those that are looked
at together begin together: a master looks once a second, and a distance would leave it one visit of a host each time.

A budget holds though masters change: whoever has just begun to look after a host lets the distance pass first, for
somebody else may have spent it. Invariant: of a host with a budget B, at most B visits are asked for in any hour. To
that end the distance is longer than an hour through B: what has begun and waits in its queue may be asked for late.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

HOUR_S: Final = 3600.0
AHEAD: Final = 32
"""Visits of a host that are begun and not over, where it has no budget."""
AHEAD_PART: Final = 20
"""Of a budget, one part in so many may be begun and not over."""
LONGEST_S: Final = 3600.0
"""A visit is put off by no more than this at a time."""
_KEPT: Final = 50_000


@dataclass(slots=True)
class _HostTurn:
    next_at: float
    """When the next visit may begin,"""
    tail_at: float
    """and when the last one of those that were put off."""
    open: int = 0
    """Visits that have begun and are not over."""


@dataclass(slots=True)
class HostBudget:
    """The budgets of one job. Times are those of one clock, whichever.

    ``per_hour``: 0 for none. ``spacing_s``: the distance at which visits are put off where there is no budget.
    """

    per_hour: float = 0.0
    spacing_s: float = 0.05
    _hosts: dict[int, _HostTurn] = field(default_factory=dict)

    @property
    def ahead(self) -> int:
        """The number of visits of a host that may be begun and not over."""
        return min(AHEAD, max(1, int(self.per_hour / AHEAD_PART))) if self.per_hour else AHEAD

    @property
    def distance_s(self) -> float:
        """Returns the least time between two beginnings, or, without a budget, between two that are put off."""
        if not self.per_hour:
            return self.spacing_s
        return HOUR_S / max(0.5, self.per_hour - self.ahead)

    @property
    def open(self) -> int:
        """Counts the visits that have begun and are not over."""
        return sum(standing.open for standing in self._hosts.values())

    def begin(self, host: int, now: float) -> float:
        """Begins a visit, and returns 0; or returns when to ask again, for the host has no room for one now."""
        standing = self._hosts.get(host)
        if standing is None:
            self._tidy(now)
            first_at = now + self.distance_s if self.per_hour else now
            standing = self._hosts[host] = _HostTurn(first_at, first_at)
        if (now >= standing.next_at or not self.per_hour) and standing.open < self.ahead:
            standing.open += 1
            standing.next_at = now + self.distance_s
            return 0.0
        standing.tail_at = max(standing.tail_at, standing.next_at, now) + self.distance_s
        if standing.tail_at > now + LONGEST_S:
            # Farther than that nobody knows how it will be; they come in their order again.
            standing.tail_at = now + LONGEST_S
        return standing.tail_at

    def again(self, host: int) -> None:
        """Counts one more fetch of a visit that is under way: it is tried again."""
        if self.per_hour and (standing := self._hosts.get(host)) is not None:
            standing.next_at += self.distance_s

    def over(self, host: int) -> None:
        """Takes note that a visit is over."""
        if (standing := self._hosts.get(host)) is not None and standing.open:
            standing.open -= 1

    def clear(self, host: int) -> None:
        """Takes note that nothing of a host waits any more: it is down."""
        if (standing := self._hosts.get(host)) is not None:
            standing.open = 0

    def _tidy(self, now: float) -> None:
        """Forgets hosts at which nothing is open, and that might be asked at once."""
        if len(self._hosts) < _KEPT:
            return
        long_ago = now - 2 * self.distance_s
        self._hosts = {key: each for key, each in self._hosts.items() if each.open or each.tail_at > long_ago}
