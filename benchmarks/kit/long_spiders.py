"""Spiders whose callbacks are long: ``:Long -a start_urls=URL -a allowed_domains=HOSTS -a plan=JSON``, and
``:Many -a count=1000000 -a base=URL``."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator
from types import MappingProxyType
from typing import Any

from p2pcrawl import Request, Response, Spider

PART = "x" * (1 << 18)
PARTS = 6


class Long(Spider):
    """One item per page, and all its links. ``plan`` is JSON, by URL: ``[items, parts, seconds]``: so many items more,
    then, in parts that are sent ahead if ``parts`` is true, and then so long a sleep that nothing else runs."""

    custom_settings = MappingProxyType({"ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8"})
    plan = "{}"

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        items, parts, block_s = json.loads(self.plan).get(response.url, (0, False, 0.0))
        yield response.follow_all()
        for number in range(items):
            yield {"n": number, "of": response.url, "text": f"one of very many: {number:x}, which is {number**5}"}
        if parts:
            for part in range(PARTS):
                yield {"part": part, "of": response.url, "text": PART}
        time.sleep(block_s)
        yield {"url": response.url}


class Many(Spider):
    """``start()`` yields ``count`` requests below ``base``, as fast as it is asked."""

    count = "1000000"
    base = ""

    async def start(self) -> AsyncIterator[Any]:
        for number in range(int(self.count)):
            yield Request(f"{self.base}{number}")

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        yield {"url": response.url}


class Blocking(Spider):
    """All links of each page, and then a sleep in which nothing else runs: of ``start_s`` for the first page, of
    ``each_s`` for every other."""

    start_s = "0"
    each_s = "0"

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        yield {"url": response.url}
        yield response.follow_all()
        time.sleep(float(self.each_s if response.depth else self.start_s))
