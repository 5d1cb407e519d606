"""The cost of freshness: crawls of living sites by one rule or another, with the product's rules and without a cluster.

The theory. A front page that is visited each p seconds costs 1/p, and each of its articles, which come by chance,
waits p/2 on average. For one period for all of n pages, what n/p fetches buy is a mean delay of p/2: their product is
n/2. Periods of its own for each page, which is known to get r articles a second, do best where p goes with the root of
1/r, by Cauchy and Schwarz: then the product is (sum of the roots of r) squared, through twice the sum of r. No rule can
do better, whatever it knows of the pages, but when an article comes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from math import ceil, sqrt
from typing import NamedTuple

from p2pcrawl.core.revisits.periods import Periods
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.page_past import ADAPTIVE

from ..world.pins import EPOCH_S
from .asking import Asking
from .site import DAY_S, FrontPage, LivingWeb


class Point(NamedTuple):
    """The cost of one crawl, and how fresh it was."""

    name: str
    per_day: float
    """Fetches of front pages."""
    per_article: float
    mean_s: float
    late_s: float
    """Within which 95 % of the articles were found."""


@dataclass(frozen=True, slots=True)
class Least:
    """The costs of fixed periods, and of the best that there are, for the same mean delay."""

    fixed: float
    """Fetches a second, times the mean delay in seconds, with one period for all."""
    best: float
    """The same with the best period for each."""

    @property
    def share(self) -> float:
        """The fetches of the best periods beside those of one for all."""
        return self.best / self.fixed

    @classmethod
    def of(cls, fronts: Iterable[FrontPage]) -> Least:
        rates = [1.0 / front.every_s for front in fronts]
        return cls(len(rates) / 2, sum(map(sqrt, rates)) ** 2 / (2 * sum(rates)))


FIXED_S = (300, 600, 1_200, 2_400, 4_800)
LEAST_S = (75, 150, 300, 600, 1_200)
"""The shortest periods of the adaptive crawls that are compared."""


def compared(web: LivingWeb) -> tuple[list[Point], list[Point]]:
    """Crawls with each fixed period, and with each shortest one of those that adapt."""
    fixed = [crawled(f"every {period:,} s", web, period) for period in FIXED_S]
    return fixed, [crawled(f"adaptive from {least:,} s", web, least_s=least) for least in LEAST_S]


def fixed_cost(web: LivingWeb) -> float:
    """Returns what one period for all costs: fetches a day, times the mean delay in seconds."""
    fixed = crawled("fixed", web, FIXED_S[2])
    return fixed.per_day * fixed.mean_s


def crawled(name: str, web: LivingWeb, rule: int = ADAPTIVE, least_s: int = 0) -> Point:
    """Visits all front pages by a rule, each when it is due. ``least_s``: of an adaptive one, if not the usual."""
    usual = Settings()
    periods = Periods(rule, 0, least_s or int(usual.revisit_min), int(usual.revisit_max), 0)
    asking = Asking(periods)
    end_s = web.plan.days * DAY_S
    # Where the period is one for all, visits of pages are at other times each; else all first delays would be alike.
    first_s = float(max(rule, least_s, 1))
    queue = [(first_s * number / len(web.fronts), url) for number, url in enumerate(web.fronts)]
    seen_s, fetches, delays_s = dict.fromkeys(web.fronts, -1.0), 0, list[float]()
    while queue and queue[0][0] < end_s:
        at_s, url = heappop(queue)
        front = web.fronts[url]
        fetches += 1
        if at_s >= front.closes_s:
            continue
        appeared_s = front.appeared_s
        new = appeared_s[bisect_right(appeared_s, seen_s[url]) : bisect_right(appeared_s, at_s)]
        delays_s += [at_s - each for each in new]
        seen_s[url] = at_s
        due = asking.due(url, int(EPOCH_S + at_s), changed=bool(new))
        heappush(queue, (max(due - EPOCH_S, at_s + 1.0), url))
    delays_s.sort()
    late_s = delays_s[min(len(delays_s) - 1, ceil(0.95 * len(delays_s)))]
    return Point(name, fetches / web.plan.days, fetches / len(delays_s), sum(delays_s) / len(delays_s), late_s)
