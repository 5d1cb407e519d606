"""A web whose pages derive from a seed, so that the truth about it is known.

Its hosts have sizes by a Zipf law. Every page is linked from an earlier one of its host and links to some others, near
and far. Some pages redirect, are missing, are forbidden by robots.txt, always fail, or fail once or twice before they
answer (500, 503 with Retry-After, a time-out, a reset); some hosts want a delay, some are dead. Some may be at private
addresses; to every other one of these a start URL leads, which opens it to the crawl, and the rest must be left alone.

:class:`Web` answers, and writes down every request with its begin and end by the world's clock. What a fetch does is
drawn from the seed, its URL and how often that was asked for, so requests elsewhere change nothing; but of a host that
refuses, which counts how many of its pages it has refused.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from enum import Enum
from math import inf, log
from typing import TypeVar
from zlib import crc32

from ..kernel.paths import Dice

T = TypeVar("T")

DELAY_S = 1.0
"""How long the crawler leaves a host alone between two requests where nobody asks for more."""
RETRY_AFTER_S = 8
NOWHERE = ("", "//", "nonsense", "http://[::1", "http://a:b:c/", "http://nowhere.test/\x00", "gopher://nowhere.test/")
"""URLs that lead nowhere. No page has a link to them."""
TEXT_WORDS = 60
RULE = "<hr>"
"""What is behind such a line is another item."""
SAYS_MAX = 4
"""So many items a page has at most."""
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


ODD = ("busy", "odd_robots", "outages", "slow_hosts", "far_redirects", "refusing", "absent")
"""What else may be wrong with a web, by dice of its own: without it, it is what it was."""


class Robots(Enum):
    """The robots.txt of a host."""

    PLAIN = "plain"
    MISSING = "missing"
    NONE_AT_ALL = "a page in its place"
    LONG = "long"
    LATE = "fails at first"
    DOWN = "always fails"


ODD_ROBOTS = (Robots.MISSING, Robots.NONE_AT_ALL, Robots.LONG, Robots.LATE, Robots.LATE, Robots.DOWN)
ROBOTS_LONG = 520 * 1024
"""Bytes of a very long one: more than anybody has to read."""
OUTAGES_S = (4.0, 12.0, 40.0)
ABSENT_S = (60.0, 90.0, 120.0)
"""For so long a host is away that is absent,"""
ABSENT_FROM_S = (6.0, 30.0)
"""from a time on at which most of its pages are known and few of them had."""
REFUSED_PAGES = (2, 3, 4)
SLOW_TIMES = 10.0
KINDS = tuple(kind.value for kind in Kind if kind is not Kind.PLAIN)
"""Those whose share of the pages a plan gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPlan:
    """The size of a web, and how unpleasant it is. Fractions are of the pages, or of the hosts."""

    pages: int = 500
    hosts: int = 40
    zipf: float = 1.0
    """The greater, the more pages the largest hosts have."""
    texts: int = 0
    """How many texts there are among the pages; 0: the pages have none."""
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
    busy: float = 0.0
    """Of the failures of flaky pages: those with 429 or 503, with a Retry-After in seconds, as a date, or without."""
    odd_robots: float = 0.0
    """Of the hosts: those whose robots.txt is missing, is no robots.txt, is very long, fails at first, or always."""
    outages: float = 0.0
    """Of the hosts: those that are away for a while, and come back."""
    slow_hosts: float = 0.0
    """Of the hosts: those that take ten times as long."""
    tagged: bool = False
    """Whether pages of even numbers of links have an ETag, and say 304 to whoever knows it."""
    far_redirects: float = 0.0
    """Of the redirects: those to any page of another host, to another redirect too, so that some lead in a circle."""
    refusing: float = 0.0
    """Of the hosts: those that refuse some pages, one after the other, when they are first asked for them, and do not
    say for how long."""
    several: float = 0.0
    """Of the pages: those of which a spider makes several items, two to four."""
    absent: float = 0.0
    """Of the hosts: those that are away for minutes, and come back; every other one of them says nothing meanwhile."""
    only: str = ""
    """The numbers of the pages that are there, such as ``0-4 7``, in the order in which they were made: the others are
    left out as if nothing had led to them, and all else is as it was. The first is always there; nothing: all are."""

    def __post_init__(self) -> None:
        if self.pages < 1 or self.hosts < 1:
            raise ValueError("pages and hosts must be at least 1")
        if not 0 <= self.zipf <= ZIPF_MAX:
            raise ValueError(f"zipf must be between 0 and {ZIPF_MAX}")
        if min(self.links, self.texts) < 0 or not 0 < self.latency_s < inf:
            raise ValueError("links and texts must not be negative, and latency_s above 0 and finite")
        for name in ("across", "hot", *KINDS, "delayed_hosts", "dead_hosts", "private", "listed", "several", *ODD):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be between 0 and 1")
        if sum(getattr(self, name) for name in KINDS) > 1:
            raise ValueError(f"{', '.join(KINDS)} must not be more than 1 together")
        numbers_in(self.only)


def numbers_in(text: str) -> frozenset[int]:
    """Reads numbers such as ``0-4 7``. Raises ValueError."""
    found: set[int] = set()
    for word in text.split():
        first, dash, last = word.partition("-")
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal()):
            raise ValueError(f"only has numbers of pages, such as 0-4 7, and not {word!r}")
        found |= set(range(int(first), int(last) + 1))
    return frozenset(found)


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
    robots: Robots = Robots.PLAIN
    away_s: tuple[float, float] = (0.0, 0.0)
    """From when until when it is away."""
    silent: bool = False
    """It says nothing while it is away, where others refuse connections."""
    refuses: int = 0
    """For so many of its pages, but for its first, it has too much to do when it is first asked for each."""

    @property
    def has_rules(self) -> bool:
        """True if its robots.txt, once it is read, forbids anything or asks for a delay."""
        return self.robots not in (Robots.MISSING, Robots.NONE_AT_ALL, Robots.DOWN)


@dataclass(frozen=True, slots=True)
class Reply:
    """The end of one request. ``failure`` names what went wrong below HTTP: reset, refused, silence."""

    takes_s: float
    ip: str = ""
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    failure: str = ""
    retry_after_s: float = 0.0
    """How long the host wants to be left alone, however it says so."""


@dataclass(frozen=True, slots=True)
class Crawl:
    """A crawl of the web: where it begins, and whether it goes where links lead."""

    starts: tuple[str, ...]
    deep: bool


def has_failed(status: int) -> bool:
    """Tells whether an answer is one after which a page is asked for again."""
    return status == 429 or status >= 500


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
    job: str = ""
    """The label of the job that it is for; nothing: that of the run."""

    @property
    def answered(self) -> bool:
        """True if the visit brought what there was to bring: a page, a redirect, or the word that there is none."""
        return not self.failure and not has_failed(self.status)

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
        self._ends_s: dict[str, float] = {}
        """When the last answer to each URL that was asked for is there."""
        self.hosts = {host.name: host for host in self._make_hosts()}
        self.pages = {page.url: page for host in self.hosts.values() for page in host.pages}
        self.start = next(iter(self.pages))
        opening = [host.pages[0].url for host in self.hosts.values() if host.private and host.open]
        self.starts = list(dict.fromkeys([self.start, *opening]))
        """Start URLs: the first page of the first host, and of each private host that is open."""
        self._link()
        if any(getattr(plan, name) for name in ODD):
            self._make_odd(Dice(seed, "odd"))
        if plan.only:
            self._leave_out(numbers_in(plan.only))

    # -- the truth ----------------------------------------------------------------------------

    def reachable(self, barred: frozenset[str] = frozenset(), crawl: Crawl | None = None) -> set[str]:
        """Returns all URLs that a crawl comes to know of, if pages in ``barred`` show it nothing; without another one
        that which begins at the start URLs, and follows every link.
        """
        starts = self.starts if crawl is None else crawl.starts
        found, open_ = set(starts), deque(starts)
        while open_:
            page = self.pages[open_.popleft()]
            if page.url in barred or not self.opens(page):
                continue
            if crawl is not None and not crawl.deep and page.kind is not Kind.REDIRECT:
                continue
            for url in page.links:
                if url not in found:
                    found.add(url)
                    open_.append(url)
        return found

    def opens(self, page: Page) -> bool:
        """Tells whether a crawl that obeys robots.txt gets to see the page's links, in the end; a redirect to itself
        leads nowhere.
        """
        leads = page.kind is not Kind.REDIRECT or page.links != [page.url]
        return page.kind in (Kind.PLAIN, Kind.FLAKY, Kind.REDIRECT) and leads and self._is_there(page)

    @property
    def least_s(self) -> float:
        """The time that a polite crawl takes at least: as long as its slowest host."""
        return max(len(h.pages) * (max(h.delay_s, DELAY_S) + h.latency_s) for h in self.hosts.values())

    def answers(self, url: str) -> bool:
        """Tells whether a crawl that obeys robots.txt ever gets an answer to this page."""
        page = self.pages[url]
        return page.kind is not Kind.FAILING and not self.forbids(page) and self._is_there(page)

    def _is_there(self, page: Page) -> bool:
        host = self.hosts[page.host]
        return host.open and not host.dead and host.robots is not Robots.DOWN

    def forbids(self, page: Page) -> bool:
        """Tells whether a page is one that its host's robots.txt forbids."""
        return page.kind is Kind.FORBIDDEN and self.hosts[page.host].has_rules

    def body(self, url: str) -> bytes:
        """Returns what a page says to whoever is answered with it."""
        return _body(self.pages[url], self.plan)

    # -- answering ----------------------------------------------------------------------------

    def under_way(self, now_s: float) -> list[str]:
        """Returns the pages that somebody is just asking for, those first whose answers take longest from now on."""
        waiting = [(ends_s, url) for url, ends_s in self._ends_s.items() if ends_s > now_s and url in self.pages]
        return [url for _, url in sorted(waiting, reverse=True)]

    def led_to(self, now_s: float) -> list[str]:
        """Returns the pages to which those lead that are under way, and for which nobody has asked yet."""
        links = (link for url in self.under_way(now_s) for link in self.pages[url].links)
        return [url for url in dict.fromkeys(links) if not self._asked[url]]

    def reply(self, url: str, now_s: float = 0.0, condition: str = "") -> Reply:
        """Draws what a request gets that begins now; ``condition``: the ETag that it knows."""
        reply = self._reply(url, now_s, condition)
        self._ends_s[url] = now_s + reply.takes_s
        return reply

    def _reply(self, url: str, now_s: float, condition: str) -> Reply:
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
        if host.away_s[0] < now_s < host.away_s[1]:
            failure = "refused" if dice.roll() < 0.8 else "reset"
            return Reply(takes_s, host.ip, failure="silence" if host.silent else failure)
        if url.endswith("/robots.txt") and host.robots is not Robots.PLAIN:
            return _odd_robots(host, takes_s, times)
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
            case Kind.PLAIN if times == 1 and host.refuses and page is not host.pages[0]:
                host.refuses -= 1
                return Reply(takes_s, host.ip, 429 if dice.roll() < 0.5 else 503)
            case _:
                return self._page(page, takes_s, host, condition)

    def _page(self, page: Page, takes_s: float, host: Host, condition: str) -> Reply:
        said = {"Content-Type": "text/html; charset=utf-8"}
        if self.plan.tagged and len(page.links) % 2 == 0:
            said["ETag"] = f'"{len(page.links)}"'
            if condition == said["ETag"]:
                return Reply(takes_s, host.ip, 304, said)
        return Reply(takes_s, host.ip, 200, said, _body(page, self.plan))

    def _failure(self, takes_s: float, host: Host, dice: Dice) -> Reply:
        chance = dice.roll()
        if self.plan.busy and dice.roll() < self.plan.busy:
            return _busy(takes_s, host, dice)
        if chance < 0.3:
            return Reply(takes_s, host.ip, 500)
        if chance < 0.6:
            return Reply(takes_s, host.ip, 503, {"Retry-After": str(RETRY_AFTER_S)}, retry_after_s=float(RETRY_AFTER_S))
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

    def _make_odd(self, dice: Dice) -> None:
        """Makes hosts and redirects as odd as the plan says; the first host stays as it is."""
        plan, hosts = self.plan, list(self.hosts.values())
        for host in hosts[1:]:
            if dice.roll() < plan.odd_robots:
                host.robots = ODD_ROBOTS[int(dice.roll() * len(ODD_ROBOTS))]
                host.delay_s = host.delay_s if host.has_rules else 0.0
            if dice.roll() < plan.outages:
                begins_s = 5.0 + 60.0 * dice.roll()
                host.away_s = begins_s, begins_s + OUTAGES_S[int(dice.roll() * len(OUTAGES_S))]
            if dice.roll() < plan.slow_hosts:
                host.latency_s *= SLOW_TIMES
        public = [page for host in hosts if not host.private for page in host.pages]
        for page in self.pages.values():
            if page.kind is Kind.REDIRECT and dice.roll() < plan.far_redirects:
                page.links = [public[int(dice.roll() * len(public))].url]
        self._make_refusing(Dice(self._seed, "refusing"), hosts)
        self._make_absent(Dice(self._seed, "absent"), hosts)

    def _make_refusing(self, dice: Dice, hosts: list[Host]) -> None:
        """Makes hosts refuse some pages; the first one, which has the most of them, may be among them."""
        for host in hosts:
            if dice.roll() < self.plan.refusing:
                host.refuses = REFUSED_PAGES[int(dice.roll() * len(REFUSED_PAGES))]

    def _make_absent(self, dice: Dice, hosts: list[Host]) -> None:
        """Makes hosts go away for minutes; the first one, which has the most pages, may be among them."""
        for host in hosts:
            if dice.roll() < self.plan.absent:
                first_s, last_s = ABSENT_FROM_S
                begins_s = first_s + (last_s - first_s) * dice.roll()
                host.away_s = begins_s, begins_s + ABSENT_S[int(dice.roll() * len(ABSENT_S))]
                host.silent = dice.roll() < 0.5

    def _leave_out(self, numbers: frozenset[int]) -> None:
        """Leaves out all pages but these, the links to them, redirects to what is gone, and hosts without pages."""
        kept = {url: page for number, (url, page) in enumerate(self.pages.items()) if number in numbers or not number}
        while astray := [u for u, p in kept.items() if p.kind is Kind.REDIRECT and p.links[0] not in kept]:
            for url in astray:
                del kept[url]
        self.pages = kept
        for page in kept.values():
            page.links = [url for url in page.links if url in kept]
        for host in self.hosts.values():
            host.pages = [page for page in host.pages if page.url in kept]
        self.hosts = {name: host for name, host in self.hosts.items() if host.pages}
        self.starts = [url for url in self.starts if url in kept]

    def _elsewhere(self, hosts: list[Host]) -> Host:
        return hosts[0] if self.plan.hot and self._dice.roll() < self.plan.hot else self._pick(hosts)

    def _pick(self, things: list[T]) -> T:
        return things[int(self._dice.roll() * len(things))]


def _robots(host: Host) -> bytes:
    delay = f"Crawl-delay: {host.delay_s:g}\n" if host.delay_s else ""
    return f"User-agent: *\n{delay}Disallow: /private/\n".encode()


def _odd_robots(host: Host, takes_s: float, times: int) -> Reply:
    """Returns what a host gives as its robots.txt that has no plain one, when it is asked for it that often."""
    text = {"Content-Type": "text/plain"}
    match host.robots:
        case Robots.MISSING:
            return Reply(takes_s, host.ip, 404)
        case Robots.NONE_AT_ALL:
            return Reply(takes_s, host.ip, 200, {"Content-Type": "text/html"}, b"<!doctype html><title>Welcome</title>")
        case Robots.LATE if times <= 1:
            return Reply(takes_s, host.ip, 503)
        case Robots.DOWN:
            return Reply(takes_s, host.ip, 500 if times % 2 else 429)
        case Robots.LONG:
            return Reply(takes_s, host.ip, 200, text, _robots(host) + b"# " + b"-" * ROBOTS_LONG + b"\n")
        case _:
            return Reply(takes_s, host.ip, 200, text, _robots(host))


def _busy(takes_s: float, host: Host, dice: Dice) -> Reply:
    """Returns the answer of a host that has too much to do."""
    status, how = 429 if dice.roll() < 0.5 else 503, dice.roll()
    if how < 0.3:
        return Reply(takes_s, host.ip, status)
    seconds = 1 + int(dice.roll() * 6)
    said = {"Retry-After": str(seconds)}
    if how >= 0.65:
        said = {"Date": format_datetime(NOON, usegmt=True)}
        said["Retry-After"] = format_datetime(NOON + timedelta(seconds=seconds), usegmt=True)
    return Reply(takes_s, host.ip, status, said, retry_after_s=float(seconds))


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
"""By the clocks of busy hosts it is always this late: nobody has to believe them more than the difference."""


def _body(page: Page, plan: WebPlan) -> bytes:
    texts = plan.texts
    links = "".join(f'<li><a href="{url}">{url}</a>\n' for url in page.links)
    text = f"<article><p>{_text(text_of(page.url, texts))}</article>\n" if texts else ""
    rules = RULE * _rules_of(page.url, plan.several)
    return f"<!doctype html><title>{page.url}</title>{text}<ul>\n{links}</ul>\n{rules}".encode()


def _rules_of(url: str, several: float) -> int:
    """Returns how many things a page says besides the first, of which each is behind a line."""
    chance = crc32(f"{url} says".encode())
    return 1 + chance % (SAYS_MAX - 1) if chance / (1 << 32) < several else 0


def text_of(url: str, texts: int) -> int:
    """Returns which of so many texts the page of a URL has."""
    return crc32(url.encode()) % texts


def _text(number: int) -> str:
    dice = Dice(number, "text")
    return " ".join("".join(chr(97 + int(26 * dice.roll())) for _ in range(5)) for _ in range(TEXT_WORDS))
