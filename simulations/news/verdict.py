"""The worth of a month of the news: how soon what is new was found, for how many fetches, and what was not kept.

All of it comes from what the web saw and from what the cluster gave out in the end; nothing is taken from its counts.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from math import ceil, nan

from p2pcrawl.core.revisits.periods import Periods
from p2pcrawl.model.crawl.settings import Settings

from ..world.pins import EPOCH_S
from ..world.web import Visit
from .asking import Asking
from .month import Month
from .site import DAY_S, HOUR_S, Article, FrontPage

ON_TIME_S, ON_TIME_PART = 60.0, 0.1
"""A visit is on time, for the product, that is over within a minute, or a tenth of its period, after it was due."""
IN_TIME_MIN = 0.99
_THERE = (200, 304)
REPORTED_S = 10.0
"""By the masters' clocks: what was fetched no longer ago than this may die with a master, and is fetched again."""


@dataclass(slots=True)
class Verdict:
    """The figures of a month."""

    days: float
    fronts: int
    budget: int
    articles: int = 0
    """That were there long enough to be found."""
    found: int = 0
    in_time: int = 0
    """Found, to the last byte, within one period of their page, and what is on time for a visit."""
    delays_s: list[float] = field(default_factory=list)
    """From appearing to the front page being fetched that lists it, in order."""
    front_fetches: int = 0
    unchanged_304: int = 0
    unchanged_200: int = 0
    article_fetches: int = 0
    amended: int = 0
    amended_found: int = 0
    again: int = 0
    """Fetches of an article that says what it said when it was fetched before."""
    again_by_death: int = 0
    """Those of them that a death explains."""
    busiest: int = 0
    """The most visits of known pages that a host had in any hour."""
    closed: int = 0
    closed_told: int = 0
    closed_again: int = 0
    """Fetches of a front page that was known to be gone."""
    lost: list[str] = field(default_factory=list)
    """What was fetched, and is not among the items."""
    failures: list[str] = field(default_factory=list)
    deaths: int = 0
    conserved: bool = False

    @property
    def per_article(self) -> float:
        """Fetches of front pages for each new article."""
        return self.front_fetches / max(1, self.articles)

    @property
    def per_day(self) -> float:
        return self.front_fetches / self.days

    @property
    def mean_s(self) -> float:
        return sum(self.delays_s) / len(self.delays_s) if self.delays_s else nan

    @property
    def share_in_time(self) -> float:
        return self.in_time / max(1, self.articles)

    @property
    def broken(self) -> list[str]:
        """Names what was promised and not kept."""
        promises = {
            "99 % of the articles are found within one period": self.share_in_time >= IN_TIME_MIN,
            "no article is fetched again that is unchanged, but for deaths": self.again == self.again_by_death,
            "no host has more visits than its budget": not self.budget or self.busiest <= self.budget,
            "what is gone is told of": self.closed_told == self.closed,
            "nobody asks for what is gone": not self.closed_again,
            "each article that is amended is read again": self.amended_found == self.amended,
            "what was fetched is there in the end": not self.lost,
            "nothing fails": not self.failures,
            "records are conserved": self.conserved,
        }
        return [promise for promise, kept in promises.items() if not kept]

    def delay_s(self, share: float) -> float:
        """Returns within which time such a share was found."""
        return self.delays_s[min(len(self.delays_s) - 1, ceil(share * len(self.delays_s)))] if self.delays_s else nan


def judged(month: Month) -> Verdict:
    """Judges a month."""
    web, plan = month.web, month.plan
    verdict = Verdict(
        plan.web.days, len(web.fronts), plan.budget, deaths=len(month.deaths), failures=list(month.failures)
    )
    by_url: dict[str, list[Visit]] = defaultdict(list)
    for visit in web.visits:
        if visit.answered and not visit.is_robots:
            by_url[visit.url].append(visit)
    items = {item["url"]: item for item in month.items}
    periods = _periods(month, by_url)
    for front in web.fronts.values():
        _judge_front(verdict, month, front, by_url, periods[front.url], items)
    for article in web.articles.values():
        _judge_refetches(verdict, month, article, by_url[article.url], by_url[article.page], items)
    verdict.busiest = max((_busiest(by_url, host) for host in web.hosts), default=0)
    told = month.told
    parts = ("done", "failed", "dropped", "queued", "leased")
    verdict.conserved = bool(told) and told["discovered"] == sum(told[part] for part in parts)
    verdict.delays_s.sort()
    return verdict


def _judge_front(
    verdict: Verdict,
    month: Month,
    front: FrontPage,
    by_url: dict[str, list[Visit]],
    periods: list[float],
    items: dict[str, dict[str, object]],
) -> None:
    visits = by_url[front.url]
    there = [visit for visit in visits if visit.status in _THERE]
    began_s = [visit.began_s for visit in there]
    verdict.front_fetches += len(visits)
    verdict.unchanged_304 += sum(visit.status == 304 for visit in there)
    verdict.unchanged_200 += sum(
        after.status == 200 and _shows(front, before.began_s) == _shows(front, after.began_s)
        for before, after in itertools.pairwise(there)
    )
    for article in front.articles:
        last = bisect_right(began_s, article.appears_s) - 1
        period_s = periods[last] if last >= 0 else float(Settings().revisit_min)
        allowed_s = period_s + max(ON_TIME_S, ON_TIME_PART * period_s)
        if article.appears_s + allowed_s > min(month.plan.web.days * DAY_S, article.vanishes_s, front.closes_s):
            continue
        verdict.articles += 1
        seen = bisect_left(began_s, article.appears_s)
        got = [visit for visit in by_url[article.url] if visit.status == 200]
        if seen == len(began_s) or not got:
            continue
        verdict.found += 1
        verdict.delays_s.append(began_s[seen] - article.appears_s)
        verdict.in_time += got[0].ended_s <= article.appears_s + allowed_s
    gone = [visit for visit in visits if visit.status == 410]
    verdict.closed += bool(gone)
    verdict.closed_told += bool(gone) and bool(items.get(front.url, {}).get("gone"))
    verdict.closed_again += sum(not _died(month, visit) for visit in gone[:-1])


def _shows(front: FrontPage, now_s: float) -> list[tuple[str, int]]:
    return [(article.url, article.version(now_s)) for article in front.listed(now_s)]


def _periods(month: Month, by_url: dict[str, list[Visit]]) -> dict[str, list[float]]:
    """Returns the periods that the rule gives each front page after its visits, in their order."""
    asking = Asking(Periods.of(Settings().updated({"REVISIT_INDEX": month.plan.period})))
    found: dict[str, list[float]] = {url: [] for url in month.web.fronts}
    before: dict[str, list[tuple[str, int]]] = {}
    there = (visit for url in month.web.fronts for visit in by_url[url] if visit.status in _THERE)
    for visit in sorted(there, key=lambda visit: visit.ended_s):
        shows = _shows(month.web.fronts[visit.url], visit.began_s)
        now = int(EPOCH_S + visit.ended_s)
        due = asking.due(visit.url, now, changed=shows != before.get(visit.url))
        found[visit.url].append(float(due - now))
        before[visit.url] = shows
    return found


def _judge_refetches(
    verdict: Verdict,
    month: Month,
    article: Article,
    visits: list[Visit],
    fronts: list[Visit],
    items: dict[str, dict[str, object]],
) -> None:
    got = [visit for visit in visits if visit.status == 200]
    verdict.article_fetches += len(visits)
    for before, after in itertools.pairwise(got):
        if article.version(before.began_s) == article.version(after.began_s):
            verdict.again += 1
            verdict.again_by_death += _died(month, before)
    safe_s = month.plan.web.days * DAY_S - REPORTED_S * month.plan.slow
    if got and got[0].ended_s < safe_s and article.url not in items:
        verdict.lost.append(article.url)
    if got and got[0].began_s < article.amended_s and _is_told(month, article, fronts):
        verdict.amended += 1
        verdict.amended_found += got[-1].began_s >= article.amended_s


def _is_told(month: Month, article: Article, fronts: list[Visit]) -> bool:
    """Tells whether a visit of its front page saw that an article was amended, long enough before the end."""
    front, end_s = month.web.fronts[article.page], month.plan.web.days * DAY_S - HOUR_S
    return any(
        article.amended_s <= visit.began_s < min(end_s, front.closes_s, article.vanishes_s - HOUR_S)
        and article in front.listed(visit.began_s)
        for visit in fronts
    )


def _died(month: Month, visit: Visit) -> bool:
    """Tells whether somebody who had to do with a visit died before all of it was safe."""
    until_s = visit.ended_s + REPORTED_S * month.plan.slow
    return any(
        {visit.node, visit.master} & set(death.names) and visit.began_s <= death.from_s <= until_s
        for death in month.deaths
    )


def _busiest(by_url: dict[str, list[Visit]], host: str) -> int:
    """Returns the most visits of known pages that a host had in any hour."""
    began_s = sorted(v.began_s for visits in by_url.values() if visits and visits[0].host == host for v in visits[1:])
    first, most = 0, 0
    for last, at_s in enumerate(began_s):
        while began_s[first] <= at_s - HOUR_S:
            first += 1
        most = max(most, last - first + 1)
    return most
