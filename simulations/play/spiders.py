"""The spider that simulations run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from p2pcrawl import Request, Spider
from p2pcrawl.spiders.page.response import Response


class Walker(Spider):
    """Follows every link and takes one item from each page."""

    name = "walker"

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        yield {"url": response.url}
        yield response.follow_all()


class Thinker(Spider):
    """Follows every link, and goes on to think about the page for longer than a session of a slave lasts."""

    name = "thinker"
    think_s = 7.0

    async def parse(self, response: Response, **_: Any) -> AsyncIterator[Any]:
        yield {"url": response.url}
        yield response.follow_all()
        await asyncio.sleep(self.think_s)


class Latecomer(Walker):
    """Begins at one start URL, and comes with the others when the crawl has long met what they open."""

    name = "latecomer"
    late_s = 20.0

    async def start(self) -> AsyncIterator[Any]:
        first, *others = self.start_urls
        yield Request(first)
        await asyncio.sleep(self.late_s)
        for url in others:
            yield Request(url)


THOROUGH: frozenset[type[Spider]] = frozenset({Walker, Thinker, Latecomer})
"""Those that get everywhere and take one item from each page: what they left undone is somebody's fault."""
