"""News sites that live: front pages on which articles appear by chance, each page at a rate of its own.

Of each site one page is its home, where something appears every few minutes; some sections come every few hours; most
are pages on a topic, which get something every few days. A front page lists what appeared there last, and leads to the
others of its site; homes lead to homes. Some articles are amended, which the front page says; some vanish, and some
front pages do. Every other front page has an ETag. All of it derives from a seed, so that the truth about each moment
is known.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf, log
from random import Random
from zlib import crc32

from ..world.web import Host, Reply, Visit

MINUTE_S, HOUR_S, DAY_S = 60.0, 3_600.0, 86_400.0
LISTED = 60
"""Articles on a front page, the latest first."""
LATENCY_S = 0.15


@dataclass(frozen=True, slots=True)
class Mix:
    """A number of front pages of each site, which get an article so often: in seconds from one to the next."""

    pages: int
    least_s: float
    most_s: float


NEWS = (Mix(1, 4 * MINUTE_S, 10 * MINUTE_S), Mix(3, HOUR_S, 4 * HOUR_S), Mix(20, DAY_S, 8 * DAY_S))
"""As news sites are: a few pages with something each few minutes, most with something each few days."""
EVEN = (Mix(24, 5 * MINUTE_S, 4 * DAY_S),)
"""As many pages at each rate as at any other."""
MIXES = {"news": NEWS, "even": EVEN}


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePlan:
    """The sites that there are. Fractions are of the articles, or of the front pages but homes."""

    sites: int = 2
    days: float = 30.0
    mix: tuple[Mix, ...] = NEWS
    amended: float = 0.05
    vanishing: float = 0.02
    closing: float = 0.05

    def __post_init__(self) -> None:
        if self.sites < 1 or not 0 < self.days <= 366:
            raise ValueError("there must be a site at least, and days above 0, and 366 at most")


@dataclass(frozen=True, slots=True)
class Article:
    """One article. Times are the world's."""

    url: str
    page: str
    appears_s: float
    amended_s: float = inf
    vanishes_s: float = inf

    def is_there(self, now_s: float) -> bool:
        return self.appears_s <= now_s < self.vanishes_s

    def version(self, now_s: float) -> int:
        return int(now_s >= self.amended_s)


@dataclass(slots=True)
class FrontPage:
    """One front page, which gets an article each ``every_s`` on average."""

    url: str
    host: str
    every_s: float
    tagged: bool
    closes_s: float = inf
    articles: list[Article] = field(default_factory=list)
    appeared_s: list[float] = field(default_factory=list)
    links: list[str] = field(default_factory=list)

    def listed(self, now_s: float) -> list[Article]:
        """Returns what it lists at a moment, the latest first."""
        latest = self.articles[max(0, (end := bisect_right(self.appeared_s, now_s)) - LISTED) : end]
        return [article for article in reversed(latest) if article.is_there(now_s)]


class LivingWeb:
    """All sites; answers requests, and keeps who visited what."""

    def __init__(self, seed: int, plan: SitePlan) -> None:
        self.plan = plan
        self.visits: list[Visit] = []
        self._seed = seed
        self._asked = 0
        self.hosts: dict[str, Host] = {}
        self.fronts: dict[str, FrontPage] = {}
        for number in range(plan.sites):
            host = Host(f"news{number}.web.test", 0.0, LATENCY_S, False, f"11.0.0.{number + 1}")
            self.hosts[host.name] = host
            fronts = list(self._made(host.name, Random(f"{seed}/{host.name}")))
            for front in fronts:
                front.links = [other.url for other in fronts if other is not front]
                self.fronts[front.url] = front
        self.articles = {each.url: each for front in self.fronts.values() for each in front.articles}
        self.homes = [f"http://{name}/" for name in self.hosts]
        for home in self.homes:
            self.fronts[home].links += [other for other in self.homes if other != home]

    def _made(self, host: str, dice: Random) -> Iterator[FrontPage]:
        plan, number = self.plan, 0
        for kind in plan.mix:
            for _ in range(kind.pages):
                every_s = kind.least_s * (kind.most_s / kind.least_s) ** dice.random()
                url = f"http://{host}/" if not number else f"http://{host}/front/{number}"
                front = FrontPage(url, host, every_s, tagged=number % 2 == 1)
                if number and dice.random() < plan.closing:
                    front.closes_s = plan.days * DAY_S * (0.2 + 0.6 * dice.random())
                self._fill(front, number, dice)
                number += 1
                yield front

    def _fill(self, front: FrontPage, number: int, dice: Random) -> None:
        at_s = 0.0
        while (at_s := at_s + dice.expovariate(1 / front.every_s)) < min(self.plan.days * DAY_S, front.closes_s):
            amended_s = at_s + HOUR_S * (1 + 5 * dice.random()) if dice.random() < self.plan.amended else inf
            vanishes_s = at_s + DAY_S * (0.5 + dice.random()) if dice.random() < self.plan.vanishing else inf
            url = f"http://{front.host}/article/{number}/{len(front.articles)}"
            front.articles.append(Article(url, front.url, at_s, amended_s, vanishes_s))
            front.appeared_s.append(at_s)

    # -- answering ----------------------------------------------------------------------------

    def reply(self, url: str, now_s: float = 0.0, condition: str = "") -> Reply:
        """Returns what a request gets that begins now; ``condition``: the ETag that it knows."""
        self._asked += 1
        host = self.hosts[url.split("/", 3)[2]]
        takes_s = 0.2 * LATENCY_S - 0.8 * LATENCY_S * log(1.0 - Random(f"{self._seed}/{self._asked}").random())
        if url.endswith("/robots.txt"):
            return Reply(takes_s, host.ip, 404)
        said = {"Content-Type": "text/html; charset=utf-8"}
        if (article := self.articles.get(url)) is not None:
            there = article.is_there(now_s)
            return Reply(takes_s, host.ip, 200 if there else 404, said, _text(article, now_s) if there else b"")
        front = self.fronts.get(url)
        if front is None or now_s >= front.closes_s:
            return Reply(takes_s, host.ip, 404 if front is None else 410)
        body = _front(front, now_s)
        if front.tagged:
            said["ETag"] = f'"{crc32(body):08x}"'
            if condition == said["ETag"]:
                return Reply(takes_s, host.ip, 304, said)
        return Reply(takes_s, host.ip, 200, said, body)


def _text(article: Article, now_s: float) -> bytes:
    amended = "<p>This has been amended." if article.version(now_s) else ""
    return f"<!doctype html><title>{article.url}</title><p>What happened at {article.appears_s:.0f}.{amended}".encode()


def _front(front: FrontPage, now_s: float) -> bytes:
    rows = []
    for article in front.listed(now_s):
        amended = f" <b>{article.amended_s:.0f}</b>" if article.version(now_s) else ""
        rows.append(f'<li><a class="article" href="{article.url}">{article.url}</a>{amended}')
    rows += [f'<li><a class="front" href="{url}">{url}</a>' for url in front.links]
    return f"<!doctype html><title>{front.url}</title><ul>\n{chr(10).join(rows)}\n</ul>\n".encode()
