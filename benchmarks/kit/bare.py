"""The bare loop: aiohttp, uvloop, lexbor and a set, and nothing that makes a crawler out of them.

No robots.txt, no politeness, no retries, no redirects, no limits, nothing durable. It is the ceiling for what is built
of these parts. ``python -m benchmarks.kit.bare START OUT CONCURRENCY``
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from typing import BinaryIO
from urllib.parse import urljoin

import aiohttp
import msgspec
import uvloop
from selectolax.lexbor import LexborHTMLParser

from p2pcrawl.slave.tuning import tune_collector, tune_memory


class Loop:
    """Workers over one queue; ends when nothing is queued and nobody works."""

    def __init__(self, start: str, out: BinaryIO, concurrency: int) -> None:
        self._out, self._concurrency = out, concurrency
        self._seen, self._queue, self._working = {start}, deque([start]), 0
        self._changed = asyncio.Condition()

    async def run(self) -> None:
        connector = aiohttp.TCPConnector(limit=0)
        session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        async with session as self._session, asyncio.TaskGroup() as workers:
            for _ in range(self._concurrency):
                workers.create_task(self._work())

    async def _work(self) -> None:
        while (url := await self._next()) is not None:
            async with self._session.get(url) as response:
                body = await response.read()
            new = self._parse(url, body)
            self._queue.extend(new)
            self._working -= 1
            if new or not (self._queue or self._working):
                async with self._changed:
                    self._changed.notify(len(new) if self._queue else self._concurrency)

    async def _next(self) -> str | None:
        while not self._queue:
            if not self._working:
                return None
            async with self._changed:
                await self._changed.wait()
        self._working += 1
        return self._queue.popleft()

    def _parse(self, url: str, body: bytes) -> set[str]:
        tree = LexborHTMLParser(body)
        title = tree.css_first("title")
        self._out.write(msgspec.json.encode({"url": url, "title": title.text() if title else ""}) + b"\n")
        new = set()
        for anchor in tree.css("a[href]"):
            href = (anchor.attributes["href"] or "").partition("#")[0]
            if not href.startswith("http://"):
                href = urljoin(url, href)
            if href.startswith("http://127.") and href not in self._seen:
                new.add(href)
        self._seen.update(new)
        return new


async def crawl(out: BinaryIO) -> None:
    tune_collector()
    await Loop(sys.argv[1], out, int(sys.argv[3])).run()


def main() -> None:
    tune_memory()
    with open(sys.argv[2], "wb") as out:
        uvloop.run(crawl(out))


if __name__ == "__main__":
    main()
