"""A web whose pages derive from a seed, so that the truth about it is known.

Its hosts have sizes by a Zipf law. Every page is linked from an earlier one of its host and links to some others, near
and far. Some pages redirect, are missing, are forbidden by robots.txt, always fail, or fail once or twice before they
answer (500, 503 with Retry-After, a time-out, a reset); some hosts want a delay, some are dead. Some may be at private
addresses; to every other one of these a start URL leads, which opens it to the crawl, and the rest must be left alone.

:class:`Web` answers, and writes down every request with its begin and end by the world's clock. What a fetch does is
drawn from the seed, its URL and how often that was asked for, so requests elsewhere change nothing.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import inf, log
from typing import TypeVar

from ..kernel.paths import Dice

T = TypeVar("T")

DELAY_S = 1.0
"""How long the crawler leaves a host alone between two requests where nobody asks for more."""
RETRY_AFTER_S = 8
NOWHERE = ("", "//", "nonsense", "http://[::1", "http://a:b:c/", "http://nowhere.test/\x00", "gopher://nowhere.test/")
"""URLs that lead nowhere. No page has a link to them."""
TRIES_MAX = 2
"""How often a flaky page fails, at most: no more than a crawler tries again by default."""
ZIPF_MAX = 10
"""With it, the largest host has all but the front pages of the others."""


class Kind(Enum):
    """A page's behaviour when it is asked for."""

    PLAIN = "plain"
    FLAKY = "flaky"
    REDIRECT = "redirect"
    MISSING = "missing"
    FAILING = "failing"
    FORBIDDEN = "forbidden"


KINDS = tuple(kind.value for kind in Kind if kind is not Kind.PLAIN)
"""Those whose share of the pages a plan gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPlan:
    """The size of a web, and how unpleasant it is. Fractions are of the pages, or of the hosts."""

    pages: int = 500
    hosts: int = 40
    zipf: float = 1.0
    """The greater, the more pages the largest hosts have."""
    links: int = 6
    """On each page, beside those that hold its host together."""
    across: float = 0.2
    """Of the links: to other hosts."""
    hot: float = 0.0
    """Of the links to other hosts: to the largest."""
    redirect: float = 0.03
    missing: float = 0.03
    failing: float = 0.02
    forbidden: float = 0.03
    flaky: float = 0.06
    delayed_hosts: float = 0.2
    dead_hosts: float = 0.03
    private: float = 0.0
    """Of the hosts: those that are called by private addresses."""
    listed: float = 0.0
    """Of the pages of a host: those that its first page has a link to, beside what holds it together."""
    latency_s: float = 0.15
    """The mean over all hosts."""

    def __post_init__(self) -> None:
        if self.pages < 1 or self.hosts < 1:
            raise ValueError("pages and hosts must be at least 1")
        if not 0 <= self.zipf <= ZIPF_MAX:
            raise ValueError(f"zipf must be between 0 and {ZIPF_MAX}")
        if self.links < 0 or not 0 < self.latency_s < inf:
            raise ValueError("links must not be negative, and latency_s above 0 and finite")
        for name in ("across", "hot", *KINDS, "delayed_hosts", "dead_hosts", "private", "listed"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be between 0 and 1")
        if sum(getattr(self, name) for name in KINDS) > 1:
            raise ValueError(f"{', '.join(KINDS)} must not be more than 1 together")


@dataclass(slots=True)
class Page:
    """One page. ``links`` are what its body names, or where it redirects to."""

    url: str
    host: str
    kind: Kind
    links: list[str] = field(default_factory=list)
    failures: int = 0
    """How often a flaky one fails before it answers."""


@dataclass(slots=True)
class Host:
    """One host. ``delay_s`` is its robots.txt's Crawl-delay, or 0."""

    name: str
    delay_s: float
    latency_s: float
    dead: bool
    ip: str
    private: bool = False
    open: bool = True
    """Not for a private one that no start URL names: nobody may ask it for anything."""
    pages: list[Page] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Reply:
    """The end of one request. ``failure`` names what went wrong below HTTP: reset, refused, silence."""

    takes_s: float
    ip: str = ""
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    failure: str = ""


@dataclass(slots=True)
class Visit:
    """One request, as the web saw it. Times are the world's."""

    url: str
    host: str
    node: str
    life: int
    began_s: float
    ended_s: float
    status: int
    failure: str
    retry_after_s: float = 0.0
    master: str = ""
    """The node of the master that had it asked for; the same as ``node`` for the slave in a master's process."""

    @property
    def answered(self) -> bool:
        """True if the visit brought what there was to bring: a page, a redirect, or the word that there is none."""
        return not self.failure and self.status < 500 and self.status != 429

    @property
    def is_robots(self) -> bool:
        return self.url.endswith("/robots.txt")


class Web:
    """A web drawn from a seed and a plan; answers requests, and keeps who visited what."""

    def __init__(self, seed: object, plan: WebPlan) -> None:
        self.plan = plan
        self.visits: list[Visit] = []
        self._seed = seed
        self._dice = Dice(seed, "web")
        self._hidden = Dice(seed, "private")
        self._asked: Counter[str] = Counter()
        self.hosts = {host.name: host for host in self._make_hosts()}
        self.pages = {page.url: page for host in self.hosts.values() for page in host.pages}
        self.start = next(iter(self.pages))
        opening = [host.pages[0].url for host in self.hosts.values() if host.private and host.open]
        self.starts = list(dict.fromkeys([self.start, *opening]))
        """Start URLs: the first page of the first host, and of each private host that is open."""
        self._link()

    # -- the truth ----------------------------------------------------------------------------

    def reachable(self, barred: frozenset[str] = frozenset()) -> set[str]:
        """Returns all URLs that a crawl from its start URLs comes to know of, if pages in ``barred`` show it
        nothing.
        """
        found, open_ = set(self.starts), deque(self.starts)
        while open_:
            page = self.pages[open_.popleft()]
            if page.url in barred or not self.opens(page):
                continue
            for url in page.links:
                if url not in found:
                    found.add(url)
                    open_.append(url)
        return found

    def opens(self, page: Page) -> bool:
        """Tells whether a crawl that obeys robots.txt gets to see the page's links, in the end."""
        return page.kind in (Kind.PLAIN, Kind.FLAKY, Kind.REDIRECT) and self._is_there(page)

    @property
    def least_s(self) -> float:
        """The time that a polite crawl takes at least: as long as its slowest host."""
        return max(len(h.pages) * (max(h.delay_s, DELAY_S) + h.latency_s) for h in self.hosts.values())

    def answers(self, url: str) -> bool:
        """Tells whether a crawl that obeys robots.txt ever gets an answer to this page."""
        page = self.pages[url]
        return page.kind not in (Kind.FAILING, Kind.FORBIDDEN) and self._is_there(page)

    def _is_there(self, page: Page) -> bool:
        host = self.hosts[page.host]
        return host.open and not host.dead

    # -- answering ----------------------------------------------------------------------------

    def reply(self, url: str) -> Reply:
        """Draws what a request gets that begins now."""
        host = self.hosts.get(url.split("/", 3)[2])
        self._asked[url] += 1
        times = self._asked[url]
        dice = Dice(self._seed, url, times)
        latency_s = host.latency_s if host is not None else self.plan.latency_s
        takes_s = 0.2 * latency_s - 0.8 * latency_s * log(1.0 - dice.roll())
        if host is None:
            return Reply(takes_s, failure="refused")
        if host.dead:
            return Reply(takes_s, host.ip, failure="refused")
        if url.endswith("/robots.txt"):
            return Reply(takes_s, host.ip, 200, {"Content-Type": "text/plain"}, _robots(host))
        page = self.pages.get(url)
        if page is None:
            is_file = url.startswith("/file/", len("http://") + len(host.name))
            return Reply(takes_s, host.ip, 200 if is_file else 404)
        match page.kind:
            case Kind.REDIRECT:
                return Reply(takes_s, host.ip, 302, {"Location": page.links[0]})
            case Kind.MISSING:
                return Reply(takes_s, host.ip, 404)
            case Kind.FAILING:
                return Reply(takes_s, host.ip, 500)
            case Kind.FLAKY if times <= page.failures:
                return self._failure(takes_s, host, dice)
            case _:
                return Reply(takes_s, host.ip, 200, {"Content-Type": "text/html; charset=utf-8"}, _body(page))

    def _failure(self, takes_s: float, host: Host, dice: Dice) -> Reply:
        chance = dice.roll()
        if chance < 0.3:
            return Reply(takes_s, host.ip, 500)
        if chance < 0.6:
            return Reply(takes_s, host.ip, 503, {"Retry-After": str(RETRY_AFTER_S)})
        return Reply(takes_s, host.ip, failure="reset" if chance < 0.9 else "silence")

    # -- making it ----------------------------------------------------------------------------

    def _make_hosts(self) -> list[Host]:
        plan, roll = self.plan, self._dice.roll
        count = min(plan.hosts, plan.pages)
        weights = [1.0 / (rank + 1) ** plan.zipf for rank in range(count)]
        spare = plan.pages - count
        hosts, given, share = [], 0, 0.0
        for number, weight in enumerate(weights):
            # The first is where the crawl begins; it is neither slow nor dead.
            delay_s = float(2 + int(roll() * 3)) if roll() < plan.delayed_hosts and number else 0.0
            dead = roll() < plan.dead_hosts and number > 0
            latency_s = plan.latency_s * (0.3 + 1.4 * roll())
            private = self._hidden.roll() < plan.private
            ip = f"{10 if private else 11}.{number >> 16}.{number >> 8 & 255}.{number & 255}"
            host = Host(ip if private else f"h{number}.web.test", delay_s, latency_s, dead, ip, private)
            # The crawl begins at the first.
            host.open = not private or number % 2 == 0
            share += weight / sum(weights) * spare
            size = 1 + round(share) - given
            given = round(share)
            host.pages = [self._make_page(host, each) for each in range(size)]
            hosts.append(host)
        return hosts

    def _make_page(self, host: Host, number: int) -> Page:
        if not number:
            return Page(f"http://{host.name}/", host.name, Kind.PLAIN)
        kind, chance = Kind.PLAIN, self._dice.roll()
        for each in (Kind.REDIRECT, Kind.MISSING, Kind.FAILING, Kind.FORBIDDEN, Kind.FLAKY):
            share = getattr(self.plan, each.value)
            if chance < share:
                kind = each
                break
            chance -= share
        folder = "private" if kind is Kind.FORBIDDEN else "p"
        failures = 1 + int(self._dice.roll() * TRIES_MAX) if kind is Kind.FLAKY else 0
        return Page(f"http://{host.name}/{folder}/{number}", host.name, kind, failures=failures)

    def _link(self) -> None:
        """Links every page from an earlier plain one of its host, every host from an earlier one; then at random."""
        hosts = list(self.hosts.values())
        alive: list[Host] = []
        for host in hosts:
            if alive:
                self._pick(alive).pages[0].links.append(host.pages[0].url)
            if not host.dead:
                alive.append(host)
            plain = [host.pages[0]]
            for page in host.pages[1:]:
                self._pick(plain).links.append(page.url)
                if self._hidden.roll() < self.plan.listed:
                    host.pages[0].links.append(page.url)
                if page.kind is Kind.PLAIN:
                    plain.append(page)
        for host in hosts:
            for page in host.pages:
                if page.kind is Kind.REDIRECT:
                    page.links = [self._pick(host.pages[: host.pages.index(page)]).url]
                elif page.kind in (Kind.PLAIN, Kind.FLAKY):
                    for _ in range(self.plan.links):
                        where = self._elsewhere(hosts) if self._dice.roll() < self.plan.across else host
                        page.links.append(self._pick(where.pages).url)

    def _elsewhere(self, hosts: list[Host]) -> Host:
        return hosts[0] if self.plan.hot and self._dice.roll() < self.plan.hot else self._pick(hosts)

    def _pick(self, things: list[T]) -> T:
        return things[int(self._dice.roll() * len(things))]


def _robots(host: Host) -> bytes:
    delay = f"Crawl-delay: {host.delay_s:g}\n" if host.delay_s else ""
    return f"User-agent: *\n{delay}Disallow: /private/\n".encode()


def _body(page: Page) -> bytes:
    links = "".join(f'<li><a href="{url}">{url}</a>\n' for url in page.links)
    return f"<!doctype html><title>{page.url}</title><ul>\n{links}</ul>\n".encode()
