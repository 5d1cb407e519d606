"""The bundled synthetic site: some 3,000 pages over 40 loopback hosts, and the truth about them.

Latencies are mixed, some hosts compress, some close part of themselves by robots.txt; pages redirect, fail, are
missing, or answer only when asked again later. ``python -m p2pcrawl.demo.site`` serves it from a process of its own;
there, and in-process too, 127.0.0.1 answers ``/_truth`` and ``/_stats`` as JSON.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from html import escape
from random import Random
from typing import Any

from p2pcrawl.demo.plan import CLOSED_HOSTS_STEP, Does, PlannedPage, plan_site, reachable
from p2pcrawl.demo.process import run_site, site_parser
from p2pcrawl.demo.server import Asked, Server, Stream, TimedReply, loopback_addresses, site_answer
from p2pcrawl.model.crawl.url import canonical

CONTROL = "127.0.0.1"
GZIP_HOSTS_STEP = 3
RETRY_AFTER_S = 1
TEXT_BYTES = 2200

WORDS = [
    "archive",
    "basin",
    "canal",
    "delta",
    "estuary",
    "ferry",
    "gauge",
    "harbour",
    "inlet",
    "jetty",
    "kelp",
    "lagoon",
    "meander",
    "narrows",
    "oxbow",
    "pier",
    "quay",
    "reservoir",
    "shoal",
    "tide",
    "upstream",
    "valley",
    "weir",
    "yard",
    "anchor",
    "buoy",
    "current",
    "dredge",
    "eddy",
    "flood",
    "gravel",
    "island",
    "lock",
]

CLOSED_ROBOTS = "User-agent: *\nDisallow: /private/\nAllow: /private/open/\nDisallow: /*?print=\n"
OPEN_ROBOTS = "User-agent: *\nDisallow:\n"


class DemoSite:
    """A site that knows what a correct crawl of it must bring back.

    All sets hold canonical URLs and are there after ``start()``. ``expected`` pages end with status 200 (the ``flaky``
    ones after a retry), ``expected_redirects`` lead elsewhere, ``failing`` ones never succeed, and ``disallowed`` ones
    are found but closed by robots.txt.
    """

    def __init__(self, pages: int = 3000, hosts: int = 40, seed: int = 1, port: int = 0) -> None:
        if pages < 200:
            raise ValueError("the synthetic site needs at least 200 pages to have some of every kind")
        self._addresses = loopback_addresses("127.0.1", hosts)
        self._seed = seed
        self._plan = plan_site(pages, len(self._addresses), seed)
        self._server = Server(self._answer, [*self._addresses, CONTROL], port)
        self._paths = {(self._addresses[page.host], page.path): page for page in self._plan}
        self._asked_before: set[int] = set()
        dice = Random(f"p2pcrawl-demo-text-{seed}")
        self._text = " ".join(dice.choice(WORDS) for _ in range(4000))
        self.hits: Counter[str] = Counter()
        """URLs as they were asked for, robots.txt too, and how often."""
        self.start_url = ""
        self.expected: set[str] = set()
        self.expected_redirects: set[str] = set()
        self.failing: set[str] = set()
        self.disallowed: set[str] = set()
        self.flaky: set[str] = set()

    @property
    def hosts(self) -> list[str]:
        """The host names, which are addresses: what a crawl should be allowed to visit."""
        return list(self._addresses)

    @property
    def control_url(self) -> str:
        """The URL below which ``/_truth`` and ``/_stats`` are."""
        return f"http://{CONTROL}:{self._server.port}"

    async def start(self) -> str:
        """Serves, and returns the URL to begin with."""
        await self._server.start()
        self.start_url = self._url(self._plan[0])
        self._tell_truth()
        return self.start_url

    async def stop(self) -> None:
        await self._server.stop()

    def ready(self) -> dict[str, Any]:
        return {"start": self.start_url, "control": self.control_url, "hosts": self.hosts, "pages": len(self.expected)}

    def truth(self) -> dict[str, Any]:
        """Returns the expected sets as plain data."""
        return {
            "start": self.start_url,
            "hosts": self.hosts,
            "expected": sorted(self.expected),
            "expected_redirects": sorted(self.expected_redirects),
            "failing": sorted(self.failing),
            "disallowed": sorted(self.disallowed),
            "flaky": sorted(self.flaky),
        }

    def stats(self) -> dict[str, Any]:
        """Counts what was served so far; ``repeated`` are expected pages asked for more than once (flaky ones:
        twice).
        """
        counts: Counter[str] = Counter()
        for url, count in self.hits.items():
            counts[canonical(url)] += count
        allowance = {url: 2 for url in self.flaky}
        return {
            "requests": sum(self.hits.values()),
            "distinct": len(self.hits),
            "expected": len(self.expected),
            "expected_hit": sum(1 for url in self.expected if counts[url]),
            "repeated": sum(1 for url in self.expected if counts[url] > allowance.get(url, 1)),
            "disallowed_hit": sum(1 for url in self.disallowed if counts[url]),
            "robots": sum(count for url, count in self.hits.items() if url.endswith("/robots.txt")),
            "connections": self._server.connections,
        }

    def _tell_truth(self) -> None:
        for number in reachable(self._plan):
            page = self._plan[number]
            url = canonical(self._url(page))
            match page.does:
                case Does.SHOW:
                    self.expected.add(url)
                case Does.RECOVER:
                    self.expected.add(url)
                    self.flaky.add(url)
                case Does.REDIRECT:
                    self.expected_redirects.add(url)
                case Does.MISSING | Does.BREAK:
                    self.failing.add(url)
                case Does.HIDE:
                    self.disallowed.add(url)

    def _url(self, page: PlannedPage) -> str:
        return f"http://{self._addresses[page.host]}:{self._server.port}{page.path}"

    # -- serving ------------------------------------------------------------------------------

    def _answer(self, asked: Asked) -> TimedReply | Stream:
        if asked.address == CONTROL and asked.target.startswith("/_"):
            return self._control(asked.target)
        self.hits[f"http://{asked.address}:{self._server.port}{asked.target}"] += 1
        if asked.path in ("/robots.txt", "/robots-moved.txt"):
            return self._robots(asked)
        page = self._paths.get((asked.address, asked.target)) or self._page_spelt_otherwise(asked)
        if page is None:
            return TimedReply(site_answer("no such page", 404))
        return TimedReply(self._page(page, "gzip" in asked.header("accept-encoding")), page.latency_s)

    def _control(self, target: str) -> TimedReply:
        data = {"/_truth": self.truth, "/_stats": self.stats}.get(target)
        if data is None:
            return TimedReply(site_answer("no such page", 404))
        return TimedReply(site_answer(json.dumps(data()), content_type="application/json"))

    def _page_spelt_otherwise(self, asked: Asked) -> PlannedPage | None:
        spelling = canonical(f"http://{asked.address}{asked.target}").removeprefix(f"http://{asked.address}")
        return self._paths.get((asked.address, spelling))

    def _robots(self, asked: Asked) -> TimedReply:
        host = self._addresses.index(asked.address) if asked.address in self._addresses else 0
        if host % CLOSED_HOSTS_STEP == 0:
            if host % (2 * CLOSED_HOSTS_STEP) and asked.path == "/robots.txt":
                return TimedReply(site_answer("", 301, headers={"Location": "/robots-moved.txt"}))
            return TimedReply(site_answer(CLOSED_ROBOTS, content_type="text/plain"))
        if host % 2:
            return TimedReply(site_answer("no robots.txt here", 404))
        return TimedReply(site_answer(OPEN_ROBOTS, content_type="text/plain"))

    def _page(self, page: PlannedPage, may_compress: bool) -> bytes:
        match page.does:
            case Does.REDIRECT:
                return site_answer("", page.status, headers={"Location": self._location(page)})
            case Does.MISSING | Does.BREAK:
                return site_answer(f"<title>{page.status}</title><p>This page is meant to fail.</p>", page.status)
            case Does.RECOVER if page.number not in self._asked_before:
                self._asked_before.add(page.number)
                return site_answer("later, please", page.status, headers={"Retry-After": str(RETRY_AFTER_S)})
            case _:
                body = self._html(page).encode()
        if may_compress and page.host % GZIP_HOSTS_STEP == 0:
            return site_answer(gzip.compress(body, 1, mtime=0), headers={"Content-Encoding": "gzip"})
        return site_answer(body)

    def _location(self, page: PlannedPage) -> str:
        target = self._plan[page.links[0]]
        return target.path if target.host == page.host and page.number % 2 else self._url(target)

    def _html(self, page: PlannedPage) -> str:
        dice = Random(f"{self._seed}-{page.number}")
        title = f"Page {page.number}: {dice.choice(WORDS)} and {dice.choice(WORDS)}"
        hrefs = self._hrefs(page, dice)
        begin = dice.randrange(len(self._text) - TEXT_BYTES)
        text = self._text[begin : begin + TEXT_BYTES]
        step = TEXT_BYTES // len(hrefs)
        parts = [f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head><body>']
        parts.append(f'<h1 id="top">{title}</h1>\n')
        for rank, href in enumerate(hrefs):
            parts.append(f'<p>{text[rank * step : (rank + 1) * step]} <a href="{escape(href)}">{rank}</a></p>\n')
        parts.append('<p><a name="no-href">here</a></p></body></html>\n')
        return "".join(parts)

    def _hrefs(self, page: PlannedPage, dice: Random) -> list[str]:
        """Returns the page's links in many spellings, some twice, and some that lead nowhere a crawl should go."""
        hrefs = [self._href(page, self._plan[number], dice.randrange(6)) for number in page.links]
        for number in dice.sample(page.links, min(2, len(page.links))):
            hrefs.append(self._url(self._plan[number]) + dice.choice(("", "#top")))
        hrefs += ["#top", "mailto:demo@example.invalid", f"http://outside-{dice.randrange(500)}.invalid/{page.number}"]
        dice.shuffle(hrefs)
        return hrefs

    def _href(self, page: PlannedPage, target: PlannedPage, spelling: int) -> str:
        """Writes one link; to a page of another host always absolute, in one way or another."""
        url = self._url(target)
        if target.host != page.host:
            return (url, url, url + "#part", url[len("http:") :], f" {url}\n", self._other_query_order(url))[spelling]
        up = "../" * (page.path.partition("?")[0].count("/") - 1)
        relative = (up + target.path[1:]) or "./"
        return (target.path, relative, url, target.path + "#part", relative, self._other_query_order(url))[spelling]

    def _other_query_order(self, url: str) -> str:
        base, mark, query = url.partition("?")
        return base + mark + "&".join(reversed(query.split("&"))) if mark else url


def main() -> None:
    parser = site_parser(__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--hosts", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    run_site(DemoSite(options.pages, options.hosts, options.seed, options.port), options.until_eof)


if __name__ == "__main__":
    main()
