"""The figures of a running crawl, read from its master."""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass, field

from p2pcrawl.core.bench.seat import HostState, busiest
from p2pcrawl.crawler import Crawler
from p2pcrawl.master.jobs.delivery import SinkState

RECENT_S = 5.0
HOSTS_SHOWN = 8
SEATS_PER_SECOND = 10_000
"""Looking at all hosts costs a pass over them, so many hosts are looked at less often."""


@dataclass(frozen=True, slots=True)
class Figures:
    """One moment. Rates are in pages per second, each visit counted: of late, and since this run began."""

    seconds: float
    pages: int
    recent: float
    mean: float
    queued: int
    leased: int
    redirects: int
    failed: dict[str, int]
    dropped: dict[str, int]
    retries: int
    items: int
    slaves: list[tuple[int, int, int]]
    """(pid, pages in hand, bytes of memory)"""
    hosts: list[HostState]
    tried: int = 0
    """How many robots.txt came of hosts, or were given up: moves when nothing else does."""
    unanswering: int = 0
    """Requests open at hosts that have not answered yet, or no more."""
    sinks: list[SinkState] = field(default_factory=list)
    over: bool = False
    """Nothing is left but to deliver."""
    again: int = 0
    """Visits of known pages that are over."""


class Meter:
    """Reads figures; ``read`` may be called as often as one likes."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._begun = time.monotonic()
        self._before = visits_made(self._counts())
        self._recent: deque[tuple[float, int]] = deque([(self._begun, self._before)])
        self._hosts: list[HostState] = []
        self._hosts_due = 0.0

    def read(self) -> Figures:
        now = time.monotonic()
        counts, jobs = self._counts(), self._crawler.jobs
        pages = visits_made(counts)
        leased = sum(job.leased for job in jobs)
        seconds = now - self._begun
        return Figures(
            seconds=seconds,
            pages=counts["pages"],
            recent=self._rate(now, pages),
            mean=max(0, pages - self._before) / seconds if seconds > 0 else 0.0,
            queued=counts["queued"] - leased,
            leased=leased,
            redirects=counts["redirects"],
            failed=_by_reason(counts, "failed"),
            dropped=_by_reason(counts, "dropped"),
            retries=counts["retries"],
            items=counts["items"],
            slaves=[(s.pid, len(s.leases), s.rss_bytes) for s in self._crawler.master.sessions.values() if s.greeted],
            hosts=self._busiest(now),
            tried=counts["robots"],
            unanswering=self._crawler.master.workbench.lines.doubted,
            sinks=[state for job in jobs for state in self._crawler.master.outputs.states(job)],
            over=self._crawler.finished,
            again=counts["revisits"],
        )

    def _counts(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for job in self._crawler.jobs:
            counts.update(job.counts)
        return counts

    def _rate(self, now: float, pages: int) -> float:
        self._recent.append((now, pages))
        while len(self._recent) > 2 and self._recent[1][0] <= now - RECENT_S:
            self._recent.popleft()
        since, before = self._recent[0]
        return max(0, pages - before) / (now - since) if now > since else 0.0

    def _busiest(self, now: float) -> list[HostState]:
        if now >= self._hosts_due:
            bench = self._crawler.master.workbench
            self._hosts = busiest(bench.seats.values(), HOSTS_SHOWN, self._crawler.master.now)
            self._hosts_due = now + len(bench.seats) / SEATS_PER_SECOND
        return self._hosts


def visits_made(counts: Counter[str]) -> int:
    """Counts pages that are done, and visits of them that are over. A visit takes its page from those that are done
    until it is over, so of late there may be fewer.
    """
    return counts["pages"] + counts["revisits"]


def _by_reason(counts: Counter[str], group: str) -> dict[str, int]:
    found = {name.partition(":")[2]: n for name, n in counts.items() if n and name.startswith(group + ":")}
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))
