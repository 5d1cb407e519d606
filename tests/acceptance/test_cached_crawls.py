"""Whole crawls that are run again with an HTTP cache, by slave processes that share it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl import Crawler, Response, Spider
from tests.sites.server import Asked, Server, TimedReply, site_answer

PAGES = 30
pytestmark = pytest.mark.slow


class Chained(Spider):
    """Takes each page, whether it came from the cache, and what it leads to."""

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"path": "/" + response.url.split("/", 3)[3], "cached": "cached" in response.flags}
        yield response.follow_all()


class Site:
    """Pages that lead to each other, over several hosts; tells what it was asked for."""

    def __init__(self, **headers: str) -> None:
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.asked: list[Asked] = []
        self.server = Server(self._answer, ["127.0.0.1", "127.0.0.2"])

    def _answer(self, asked: Asked) -> TimedReply:
        self.asked.append(asked)
        if asked.target == "/robots.txt":
            return TimedReply(site_answer("User-agent: *\nDisallow: /closed"))
        number = int(asked.target.strip("/") or 0)
        links = "".join(f'<a href="/{n}">x</a>' for n in range(number + 1, min(number + 4, PAGES)))
        return TimedReply(site_answer(f"<title>{number}</title>{links}", headers=self.headers))

    async def crawl(self, folder: Path, **settings: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Returns the items by path, and the certificate."""
        mine = {"httpcache_enabled": True, "httpcache_dir": str(folder), "download_delay": 0.0, **settings}
        starts = ",".join(f"http://{host}:{self.port}/" for host in ("127.0.0.1", "127.0.0.2"))
        async with Crawler(Chained, slaves=2, settings=mine, arguments={"start_urls": starts}) as crawler:
            items = [item async for item in crawler.items()]
        return sorted(items, key=lambda item: str(item["path"])), crawler.certificate()

    async def __aenter__(self) -> Site:
        self.port = await self.server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.server.stop()


async def test_crawl_that_is_run_again_asks_nobody_and_waits_for_nobody(tmp_path: Path) -> None:
    async with Site() as site:
        first, begun = await site.crawl(tmp_path)
        asked = len(site.asked)

        second, again = await site.crawl(tmp_path, download_delay=1_000.0)

    assert asked == begun["fetches"] + 2
    assert len(site.asked) == asked
    assert (begun["pages"], again["pages"], again["fetches"]) == (2 * PAGES, 2 * PAGES, 0)
    assert [item["path"] for item in second] == [item["path"] for item in first]
    assert {item["cached"] for item in first} == {False}
    assert {item["cached"] for item in second} == {True}
    assert begun["conserved"] and again["conserved"]
