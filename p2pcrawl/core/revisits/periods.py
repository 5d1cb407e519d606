"""The period after which a page is asked again: never, fixed, or adaptive.

The theory of the adaptive one: a page changes by chance, at a rate of its own. Of a visit one learns only whether it
has changed since the one before, not how often. With n visits about T apart, of which x found a change, the rate is
about ``-ln((n - x + 1/2) / (n + 1)) / T``: as Cho and Garcia-Molina estimate it, but with half a change more, by
Jeffreys' prior. For what counts is what the rate may be on average, by all that is known: a page that was quiet n times
need not be quiet for ever, and the period of one that changes each few days would double and double until it is found
to. That half a change is spread over the time that a page of its like takes for it, too (``core.revisits.likes``), so
that a page of a quiet host is asked less often from the first. Earlier visits weigh less, so that a page that wakes up
is noticed: by little for a visit that found nothing, so that seldom changes are counted over a long time, and by more
for one that did.

The period goes with the square root of the time in which the page changes with a probability of
one half: of all ways to share out a number of visits over pages, that one lets what is new wait least, on average over
all that is new. (With period p and rate r a page costs 1/p and lets r * p / 2 wait; by Cauchy and Schwarz the sum of
the one, for a given sum of the other, is least where p goes with the root of 1/r.) A period at most doubles from visit
to visit, for a page that was quiet twice may not be a quiet one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto
from math import inf, log, sqrt
from typing import Final

from p2pcrawl.model.crawl.record import VISIT_MAX
from p2pcrawl.model.crawl.request import Kind
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.page_past import ADAPTIVE, PagePast

QUIET_LEAVES: Final = 0.99
"""What a visit that found no change leaves of the weight of those before it: some hundred count,"""
CHANGE_LEAVES: Final = 0.9
"""and what one leaves that did: some ten changes."""
GROWTH: Final = 2.0
_HALF: Final = log(2.0)
NEVER: Final = 0


class Came(Enum):
    """The result of a visit."""

    CHANGED = auto()
    """Its page was had, and says something else than before, or was had for the first time."""
    UNCHANGED = auto()
    GONE = auto()
    """The host says that there is no such page any more."""
    IN_VAIN = auto()
    """Nothing was learnt of the page."""


@dataclass(frozen=True, slots=True)
class Periods:
    """The rules of a job. Periods are in seconds; ``ADAPTIVE`` and ``NEVER`` stand for what they say."""

    index: int
    detail: int
    least: int
    greatest: int
    rounds: int
    """How often each page is visited at all; 0: for ever."""

    @classmethod
    def of(cls, settings: Settings) -> Periods:
        return cls(
            as_seconds(settings.revisit_index),
            as_seconds(settings.revisit_detail),
            max(1, int(settings.revisit_min)),
            max(1, int(settings.revisit_max)),
            settings.revisit_rounds,
        )

    def rule(self, kind: str, past: PagePast) -> int:
        """Returns the period by which a page is asked again, before anything is known of it."""
        return past.own or (self.detail if (past.kind or kind) == Kind.DETAIL else self.index)

    @property
    def busiest(self) -> float:
        """Returns the rate of a page for which the shortest period is right, in changes a second."""
        return 4.0 * _HALF / self.least

    def after(
        self, kind: str, past: PagePast, came: Came, visit: int, now: int, likely: float = inf
    ) -> tuple[PagePast, int]:
        """Returns what is remembered of a page behind a visit, and when it is due again, in seconds since 1970, or 0:
        never. ``visit``: the number of the one that has ended, from 0. ``likely``: how often pages of its like change,
        in changes a second; beyond ``busiest``, nothing is known of any.
        """
        rule = self.rule(kind, past)
        past = self._learnt(past, rule, came, visit, now, likely)
        if rule == NEVER or visit >= VISIT_MAX:
            return past, NEVER
        if self.rounds and (visit + 1 >= self.rounds or came is Came.GONE):
            # A page that is gone would hold up the end for as long as the longest period is.
            return past, NEVER
        return past, now + min(max(1, past.period), self.greatest)

    def sooner(self, kind: str, past: PagePast, visit: int, due: int, ended: int, now: int, share: float) -> int:
        """Returns when a page is due that waits for its next visit, now that these rules are in force, or 0: as it was.
        ``visit``, ``due``, ``ended``: its last one and its end, and when it was due by the rules before, 0 for never;
        ``share``: its own, from 0 to 1. What is late by these rules is spread by that over a period.
        """
        rule = self.rule(kind, replace(past, own=0))
        over = visit >= VISIT_MAX or 0 < self.rounds <= visit + 1
        if rule == NEVER or past.gone or over:
            return 0
        period = rule
        if rule == ADAPTIVE:
            period = self._adapted(past, inf) if past.visits else self.least
        then = (past.asked or ended) + min(period, self.greatest)
        if then <= now:
            then = now + 1 + int(share * period)
        return then if not due or then < due else 0

    def _learnt(self, past: PagePast, rule: int, came: Came, visit: int, now: int, likely: float) -> PagePast:
        if came is Came.IN_VAIN:
            in_force = rule not in (ADAPTIVE, NEVER) and not past.gone
            return replace(past, period=rule if in_force else past.period or self._first(rule))
        if came is Came.GONE:
            return replace(past, gone=past.gone + 1, asked=now, period=self.greatest)
        fixed = rule != ADAPTIVE
        # A clock may have been set back; and what was gone has been something else meanwhile.
        since = max(0, now - past.asked) if past.asked and not past.gone else 0
        if not since or not visit:
            return replace(past, gone=0, asked=now, period=self._first(rule, likely))
        changed = came is Came.CHANGED
        leaves = CHANGE_LEAVES if changed else QUIET_LEAVES
        past = replace(
            past,
            asked=now,
            visits=leaves * past.visits + 1.0,
            changes=leaves * past.changes + changed,
            seconds=leaves * past.seconds + since,
        )
        return replace(past, period=rule if fixed else self._adapted(past, likely))

    def _first(self, rule: int, likely: float = inf) -> int:
        return self._bounded(self._best(likely)) if rule == ADAPTIVE else rule

    def _adapted(self, past: PagePast, likely: float) -> int:
        seen = seen_changes(past) / past.seconds
        # Of what was seen the page alone speaks: busy pages of a quiet host are not held back by the others.
        unseen = past.visits * log((past.visits + 1.0) / (past.visits + 0.5)) / (past.seconds + 0.5 / likely)
        rate = seen + unseen
        return self._bounded(min(self._best(rate), GROWTH * max(past.period, self.least)))

    def _best(self, rate: float) -> float:
        return 2.0 * sqrt(self.least * _HALF / rate)

    def _bounded(self, period: float) -> int:
        return int(min(max(period, self.least), self.greatest))


def seen_changes(past: PagePast) -> float:
    """Returns how often a page is likely to have changed in the seconds of its history, where nothing speaks for
    more.
    """
    return -log((past.visits - past.changes + 0.5) / (past.visits + 0.5)) * past.visits


def as_seconds(setting: float | str) -> int:
    """Returns a period as people write it, in seconds, or ``ADAPTIVE``, or ``NEVER``."""
    return ADAPTIVE if isinstance(setting, str) else round(setting)
