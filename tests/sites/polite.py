"""A site that watches its visitors' manners: when each request of each host began and ended.

A request begins when its last byte has been read and ends when its answer is about to be written, or when the client
goes away. So a visitor that counts its delay from the end of the answer, as it sees it, is never early here; the
tolerance is for one that is told a different time by its own clock.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs

from tests.sites.server import (
    CONTROL,
    Asked,
    Server,
    TimedReply,
    control_reply,
    loopback_addresses,
    run_site,
    site_answer,
    site_parser,
)


@dataclass(slots=True)
class Visit:
    """One request: seconds on the site's monotonic clock. ``end_s`` is None while it is open."""

    target: str
    start_s: float
    end_s: float | None = None
    status: int = 0
    retry_after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Violation:
    """A request that came before its time."""

    host: str
    reason: str
    """overlap | delay | crawl-delay | retry-after"""
    before: str
    target: str
    gap_s: float
    """From the end of the previous answer; negative when they overlap."""
    wanted_s: float


class PoliteSite:
    """``hosts`` hosts with ``pages`` pages each, that all link to each other within the host.

    The first ``crawl_delay_hosts`` of them have a Crawl-delay in their robots.txt. On the last ``busy_hosts``, two
    pages answer 429 and 503 with Retry-After when first asked.
    """

    def __init__(
        self,
        hosts: int = 50,
        pages: int = 40,
        latency_s: float = 0.01,
        crawl_delay_s: float = 0.0,
        crawl_delay_hosts: int = 0,
        retry_after_s: int = 1,
        busy_hosts: int = 0,
        port: int = 0,
    ) -> None:
        self._addresses = loopback_addresses("127.0.3", hosts)
        self._pages, self._latency_s = pages, latency_s
        self._crawl_delays = dict.fromkeys(self._addresses[:crawl_delay_hosts], crawl_delay_s)
        self._busy = set(self._addresses[len(self._addresses) - busy_hosts :]) if busy_hosts else set()
        self._retry_after_s = retry_after_s
        self._server = Server(self._answer, [*self._addresses, CONTROL], port)
        self._asked_before: set[tuple[str, str]] = set()
        self.visits: dict[str, list[Visit]] = defaultdict(list)
        """By host, in the order of their beginnings."""
        self.urls: list[str] = []
        """The first page of each host."""
        self.expected: set[str] = set()
        """All pages, which all answer 200 in the end."""

    @property
    def hosts(self) -> list[str]:
        return list(self._addresses)

    @property
    def control_url(self) -> str:
        return f"http://{CONTROL}:{self._server.port}"

    async def start(self) -> str:
        """Serves, and returns the first page of the first host, which links to all other hosts."""
        await self._server.start()
        self.urls = [f"http://{address}:{self._server.port}/" for address in self._addresses]
        self.expected = {url + path for url in self.urls for path in ("", *map("p{}".format, range(1, self._pages)))}
        return self.urls[0]

    async def stop(self) -> None:
        await self._server.stop()

    def ready(self) -> dict[str, Any]:
        return {"start": self.urls[0], "urls": self.urls, "control": self.control_url, "hosts": self.hosts}

    def violations(self, delay_s: float, tolerance_s: float = 0.0) -> list[Violation]:
        """All requests that overlap the one before, or begin too early after it.

        How early is too early: ``delay_s``; from the first robots.txt of a host on, its Crawl-delay when that is
        greater; and the Retry-After of the latest refusals. With ``delay_s`` 0, hosts without a Crawl-delay may be
        asked several things at once; then only Retry-After counts there, and what had begun before the refusal ended
        (or within the tolerance after it, being under way) is no offence.
        """
        return [violation for host in self.visits for violation in self._violations_of(host, delay_s, tolerance_s)]

    def stats(self) -> dict[str, Any]:
        """Counts over all hosts."""
        served = Counter(f"{host}{v.target}" for host, visits in self.visits.items() for v in visits if v.status == 200)
        pages = {target: n for target, n in served.items() if not target.endswith("/robots.txt")}
        statuses = Counter(v.status for visits in self.visits.values() for v in visits)
        return {
            "requests": sum(map(len, self.visits.values())),
            "hosts": len(self.visits),
            "pages": len(pages),
            "expected": len(self.expected),
            "repeated": sum(1 for n in pages.values() if n > 1),
            "open": sum(1 for visits in self.visits.values() for v in visits if v.end_s is None),
            "statuses": {str(status): n for status, n in sorted(statuses.items())},
        }

    def _violations_of(self, host: str, delay_s: float, tolerance_s: float) -> Iterator[Violation]:
        crawl_delay_s = self._crawl_delays.get(host, 0.0)
        knows_robots, shut_until_s, shut_since_s, last_end_s = False, 0.0, 0.0, 0.0
        for before, visit in pairwise(self.visits[host]):
            end_s = float("inf") if before.end_s is None else before.end_s
            last_end_s = max(last_end_s, end_s)
            knows_robots = knows_robots or before.target == "/robots.txt"
            if before.retry_after_s and end_s + before.retry_after_s > shut_until_s:
                shut_until_s, shut_since_s = end_s + before.retry_after_s, end_s
            wanted_s, reason = delay_s, "delay"
            if knows_robots and crawl_delay_s > delay_s:
                wanted_s, reason = crawl_delay_s, "crawl-delay"
            gap_s = visit.start_s - last_end_s
            if wanted_s and gap_s < 0:
                yield Violation(host, "overlap", before.target, visit.target, gap_s, wanted_s)
            elif wanted_s and gap_s < wanted_s - tolerance_s:
                yield Violation(host, reason, before.target, visit.target, gap_s, wanted_s)
            elif shut_since_s + tolerance_s < visit.start_s < shut_until_s - tolerance_s:
                wanted_s = shut_until_s - shut_since_s
                yield Violation(
                    host, "retry-after", before.target, visit.target, visit.start_s - shut_since_s, wanted_s
                )

    def _answer(self, asked: Asked) -> TimedReply:
        if asked.address == CONTROL and asked.path.startswith("/_"):
            return self._control(asked)
        visit = Visit(asked.target, asked.at_s)
        self.visits[asked.address].append(visit)

        def ended() -> None:
            visit.end_s = time.monotonic()

        visit.status, data = self._page(asked)
        if visit.status in (429, 503):
            visit.retry_after_s = self._retry_after_s
        return TimedReply(data, self._latency_s, ended=ended)

    def _page(self, asked: Asked) -> tuple[int, bytes]:
        if asked.path == "/robots.txt":
            delay_s = self._crawl_delays.get(asked.address)
            rules = f"User-agent: *\nCrawl-delay: {delay_s:g}\nDisallow:\n" if delay_s else "User-agent: *\nDisallow:\n"
            return 200, site_answer(rules, content_type="text/plain")
        if f"http://{asked.address}:{self._server.port}{asked.target}" not in self.expected:
            return 404, site_answer("no such page", 404)
        refusal = {"/p3": 429, "/p7": 503}.get(asked.target) if asked.address in self._busy else None
        if refusal and (asked.address, asked.target) not in self._asked_before:
            self._asked_before.add((asked.address, asked.target))
            return refusal, site_answer("later", refusal, headers={"Retry-After": str(self._retry_after_s)})
        links = [f"/p{number}" for number in range(1, self._pages)]
        if asked.target == "/" and asked.address == self._addresses[0]:
            links += self.urls
        anchors = "".join(f'<a href="{link}">{link}</a>\n' for link in ["/", *links])
        return 200, site_answer(f"<title>{asked.address}{asked.target}</title>{anchors}")

    def _control(self, asked: Asked) -> TimedReply:
        options = {name: float(values[0]) for name, values in parse_qs(asked.target.partition("?")[2]).items()}

        def found() -> list[dict[str, Any]]:
            return [asdict(v) for v in self.violations(options.get("delay", 0.0), options.get("tolerance", 0.0))]

        def visits() -> dict[str, list[dict[str, Any]]]:
            return {host: [asdict(v) for v in seen] for host, seen in self.visits.items()}

        return control_reply(asked, {"/_stats": self.stats, "/_violations": found, "/_visits": visits})


def main() -> None:
    parser = site_parser("A site that watches the manners of its visitors. Control: /_stats, /_violations?delay=S")
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--pages", type=int, default=40, help="pages per host")
    parser.add_argument("--latency", type=float, default=0.01, help="seconds before each answer")
    parser.add_argument("--crawl-delay", type=float, default=0.0)
    parser.add_argument("--crawl-delay-hosts", type=int, default=0)
    parser.add_argument("--retry-after", type=int, default=1)
    parser.add_argument("--busy-hosts", type=int, default=0)
    options = parser.parse_args()
    site = PoliteSite(
        options.hosts,
        options.pages,
        options.latency,
        options.crawl_delay,
        options.crawl_delay_hosts,
        options.retry_after,
        options.busy_hosts,
        options.port,
    )
    run_site(site, options.until_eof)


if __name__ == "__main__":
    main()
