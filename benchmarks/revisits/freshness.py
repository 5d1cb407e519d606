"""The freshness of a crawl for so many fetches: ``python -m benchmarks.revisits.freshness``.

Front pages get a new article at rates of their own, from every few minutes to every few days, by chance. Each is
visited when the product's own rule says so, in virtual time, and a visit finds all articles that have appeared since
the last one. An adaptive crawl is held against crawls of one fixed period for all pages that are as fresh, in two
senses. *For each page*: an article is fresh that is found within the half-life of its page (the time in which half of
its articles have a successor), and pages count alike, whatever they have. *In seconds*: the mean over all articles from
appearing to being found, which pages that change every few minutes decide almost alone.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise
from math import log
from random import Random

from benchmarks.kit.measure import Claims
from p2pcrawl.core.revisits.budget import HostBudget
from p2pcrawl.core.revisits.periods import Came, Periods
from p2pcrawl.model.page_past import ADAPTIVE, PagePast

DAY_S = 86_400
NOW = 1_800_000_000
MIN_S = 300
MAX_S = 7 * DAY_S
FIXED_S = (300, 600, 1_200, 2_400, 4_800, 9_600, 19_200, 38_400, 76_800)


@dataclass(slots=True)
class Told:
    """The outcome of a crawl."""

    fetches: int = 0
    articles: int = 0
    delay_s: float = 0.0
    fresh: dict[int, list[bool]] = field(default_factory=dict)
    """By page: of each article, whether it was found within the half-life of the page."""
    in_time: int = 0
    """Articles that were found within one period of their page."""
    busiest: int = 0
    """The most visits that a host had in an hour."""
    by_host: dict[int, list[float]] = field(default_factory=dict)

    @property
    def cost(self) -> float:
        return self.fetches / self.articles

    @property
    def freshness(self) -> float:
        """Returns the share of a page's articles that are fresh, on average over pages."""
        return sum(sum(each) / len(each) for each in self.fresh.values()) / len(self.fresh)

    @property
    def mean_delay_s(self) -> float:
        return self.delay_s / self.articles


def living(pages: int, days: float, seed: int) -> list[tuple[float, list[float]]]:
    """Draws how often each page gets an article, and when."""
    found = []
    for number in range(pages):
        dice = Random(seed * 1_000_003 + number)
        every_s = MIN_S * (4 * DAY_S / MIN_S) ** dice.random()
        at, articles = float(NOW), []
        while (at := at + dice.expovariate(1 / every_s)) < NOW + days * DAY_S:
            articles.append(at)
        found.append((every_s, articles))
    return found


def crawled(web: list[tuple[float, list[float]]], days: float, rule: int, budget: int = 0, per_host: int = 4) -> Told:
    """Visits these pages by a rule; each host has so many of them."""
    periods, budgets, told = Periods(rule, 0, MIN_S, MAX_S, 0), HostBudget(float(budget)), Told()
    pasts, visits, next_of = [PagePast()] * len(web), [0] * len(web), [0] * len(web)
    queue = [(NOW + number % MIN_S, number) for number in range(len(web))]
    while queue and queue[0][0] < NOW + days * DAY_S:
        at, number = heappop(queue)
        host = number // per_host
        if wait_until := budgets.begin(host, at):
            heappush(queue, (round(wait_until) + 1, number))
            continue
        budgets.over(host)
        told.fetches += 1
        told.by_host.setdefault(host, []).append(at)
        came = Came.UNCHANGED if visits[number] else Came.CHANGED
        period = pasts[number].period or MIN_S
        every_s, articles = web[number]
        while next_of[number] < len(articles) and (appeared := articles[next_of[number]]) <= at:
            next_of[number] += 1
            came = Came.CHANGED
            told.articles += 1
            told.delay_s += at - appeared
            told.fresh.setdefault(number, []).append(at - appeared <= log(2) * every_s)
            told.in_time += at - appeared <= period + 1
        pasts[number], due = periods.after("index", pasts[number], came, visits[number], at)
        visits[number] += 1
        heappush(queue, (due, number))
    told.busiest = max(_most_in_an_hour(times) for times in told.by_host.values())
    return told


def _most_in_an_hour(times: list[float]) -> int:
    first, most = 0, 0
    for last, at in enumerate(times):
        while times[first] <= at - 3_600:
            first += 1
        most = max(most, last - first + 1)
    return most


def freshness(pages: int, days: float, seed: int, budget: int) -> Claims:
    """Holds adaptive periods against fixed ones."""
    claims = Claims(f"freshness: {pages} front pages over {days:g} days, seed {seed}")
    web = living(pages, days, seed)
    fixed = {period: crawled(web, days, period) for period in FIXED_S}
    adaptive = crawled(web, days, ADAPTIVE)
    for name, told in [(f"every {period:,} s", told) for period, told in fixed.items()] + [("adaptive", adaptive)]:
        figures = f"{told.freshness:.1%}  {told.mean_delay_s:,.0f}  {told.cost:.2f}"
        claims.note(f"{name}: fresh, mean delay s, fetches per article", figures)
    alike = adaptive.cost / _cost_at({1 - told.freshness: told.cost for told in fixed.values()}, 1 - adaptive.freshness)
    claims.note("fetches beside a fixed period as fresh for each page", f"{alike:.2f}")
    alike = adaptive.cost / _cost_at({t.mean_delay_s: t.cost for t in fixed.values()}, adaptive.mean_delay_s)
    claims.claim("fetches beside a fixed period of the same mean delay", f"{alike:.2f}", alike <= 0.65, "<= 0.65")
    best = sum(every_s**-0.5 for every_s, _ in web) ** 2 / (len(web) * sum(1 / every_s for every_s, _ in web))
    claims.note("of that, the least that any rule can come to", f"{best:.2f}")
    share = adaptive.in_time / adaptive.articles
    claims.claim("articles found within one period", f"{share:.2%}", share >= 0.99, ">= 99 %")
    bounded = crawled(web, days, ADAPTIVE, budget)
    claims.note(f"budget {budget}: delay s, fetches per article", f"{bounded.mean_delay_s:,.0f}  {bounded.cost:.2f}")
    claims.claim(f"budget {budget}: most visits of a host in an hour", bounded.busiest, bounded.busiest <= budget)
    return claims


def _cost_at(costs: dict[float, float], late: float) -> float:
    """Returns the fetches per article of a fixed period that is as late, between those that were measured."""
    points = sorted(costs.items())
    for (low, dear), (high, cheap) in pairwise(points):
        if low <= late <= high:
            return dear * (cheap / dear) ** ((late - low) / (high - low))
    return points[0][1] if late < points[0][0] else points[-1][1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--days", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=int, default=12)
    options = parser.parse_args()
    return freshness(options.pages, options.days, options.seed, options.budget).print()


if __name__ == "__main__":
    raise SystemExit(main())
