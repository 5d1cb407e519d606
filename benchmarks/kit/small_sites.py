"""Small random sites beside each other in one thread, for many crawls that are short and differ.

Each has its own loopback addresses. Its pages are a random tree with some links across: from a chain, where a crawl
has one page to ask for at a time and is nearly over all the while, to a bush.
"""

from __future__ import annotations

import asyncio
import random
import threading
from typing import Self

from benchmarks.kit.site import SyntheticSite
from p2pcrawl.demo.server import loopback_addresses

PAGES = (10, 60)
HOSTS = (3, 10)
LATENCY_S_MAX = 0.3
SIZE_BYTES = 600
REACH_MAX = 12
"""From how far back a page may be linked first."""
ACROSS_MAX = 3
READY_S = 30.0


class SmallSite(SyntheticSite):
    """``targets`` are its pages as a visit tells of them: host and target."""

    def __init__(self, number: int, seed: int) -> None:
        drawn = random.Random(seed)
        super().__init__(
            drawn.randint(*PAGES),
            hosts=1,
            size=SIZE_BYTES,
            latency_s=drawn.uniform(0.0, LATENCY_S_MAX),
            keeps_visits=True,
        )
        self.hosts = loopback_addresses(f"127.{2 + number // 250}.{number % 250}", drawn.randint(*HOSTS))
        self._random = drawn
        reach = drawn.randint(1, REACH_MAX)
        self._linked: list[list[int]] = [[] for _ in range(self.pages)]
        for page in range(1, self.pages):
            self._linked[drawn.randrange(max(0, page - reach), page)].append(page)
        for links in self._linked:
            links.extend(drawn.choices(range(self.pages), k=drawn.randint(0, ACROSS_MAX)))

    @property
    def targets(self) -> set[tuple[str, str]]:
        return {(host, target.decode()) for host, target in self._answers}

    @property
    def fetched(self) -> int:
        return sum(1 for n in self.hits if n)

    def _hrefs(self, number: int) -> list[str]:
        return [self._href(number, target) for target in self._linked[number]]


class SmallSites:
    """Serves any number of them until the end of the block."""

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def open(self, number: int, seed: int) -> SmallSite:
        site = SmallSite(number, seed)
        asyncio.run_coroutine_threadsafe(site.start(), self._loop).result(READY_S)
        return site

    def close(self, site: SmallSite) -> None:
        asyncio.run_coroutine_threadsafe(site.stop(), self._loop).result(READY_S)
