"""Whole crawls of a site that says what may be done with its pages. The slave runs in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from p2pcrawl import Crawler, Request, Response, Spider
from tests.sites.server import Asked, Server, TimedReply, site_answer

PAGES: dict[str, tuple[str, dict[str, str]]] = {
    "/robots.txt": ("User-agent: *\nAllow: /\nContent-Signal: search=yes\nContent-Usage: /closed/ train-ai=n\n", {}),
    "/.well-known/tdmrep.json": ('[{"location": "/mined/", "tdm-reservation": 1, "tdm-policy": "https://p"}]', {}),
    "/": ('<a href="/closed/1">1</a><a href="/mined/2">2</a><a href="/header">3</a><a href="/open">4</a>', {}),
    "/closed/1": ("closed", {}),
    "/mined/2": ("mined", {}),
    "/header": ('<a href="/behind">5</a>', {"X-Robots-Tag": "noai"}),
    "/open": ("open", {}),
    "/behind": ("behind", {}),
}


class Told(Spider):
    def parse(self, response: Response) -> Iterator[Any]:
        yield {"path": "/" + response.url.split("/", 3)[3], "of": type(self).__name__.lower()}
        yield response.follow_all()


@asynccontextmanager
async def site() -> AsyncIterator[tuple[str, list[str]]]:
    """Serves the pages. Gives the URL of the first, and what is asked for."""
    targets: list[str] = []

    def answer(asked: Asked) -> TimedReply:
        targets.append(asked.target)
        page = PAGES.get(asked.target)
        return TimedReply(site_answer(page[0], headers=page[1]) if page else site_answer("not here", 404))

    server = Server(answer, ["127.0.0.1"])
    try:
        yield f"http://127.0.0.1:{await server.start()}/", targets
    finally:
        await server.stop()


async def crawl(**settings: Any) -> tuple[list[dict[str, Any]], dict[str, Any], list[str]]:
    """Returns the items by path, the certificate, and what was asked for."""
    async with (
        site() as (url, targets),
        Crawler(Told, slaves=0, settings=settings, arguments={"start_urls": url}) as crawler,
    ):
        items = [item async for item in crawler.items()]
    return sorted(items, key=lambda item: str(item["path"])), crawler.certificate(), targets


async def test_pages_that_forbid_the_purpose_are_left_out_and_counted_by_what_forbids_it() -> None:
    items, certificate, targets = await crawl(purpose="ai-train")

    assert [item["path"] for item in items] == ["/", "/open"]
    assert certificate["dropped_by_reason"] == {"content-usage": 1, "robots-tag": 1, "tdm-reservation": 1}
    assert certificate["conserved"]
    assert {"/closed/1", "/mined/2", "/behind"}.isdisjoint(targets)
    assert targets.count("/.well-known/tdmrep.json") == 1


async def test_marked_pages_are_fetched_and_each_item_says_what_its_site_says() -> None:
    items, certificate, _ = await crawl(purpose="ai-train", purpose_forbidden="mark", usage_field="usage")

    assert {item["path"]: item["usage"].get("ai-train", "unsaid") for item in items} == {
        "/": "unsaid",
        "/behind": "unsaid",
        "/closed/1": False,
        "/header": False,
        "/mined/2": False,
        "/open": "unsaid",
    }
    assert items[4]["usage"]["policy"] == "https://p"
    assert certificate["marked_by_reason"] == {"content-usage": 1, "robots-tag": 1, "tdm-reservation": 1}
    assert certificate["dropped_by_reason"] == {}


@pytest.mark.parametrize("purpose", [None, "search"])
async def test_crawl_for_what_nobody_forbids_fetches_all(purpose: str | None) -> None:
    items, _, targets = await crawl(**({"purpose": purpose} if purpose else {}))

    assert len(items) == 6
    assert ("/.well-known/tdmrep.json" in targets) is bool(purpose)


class Trained(Told):
    custom_settings = {"PURPOSE": "ai-train"}  # noqa: RUF012 - as people write it


async def test_two_spiders_of_one_crawl_each_have_the_rules_of_their_own_purpose() -> None:
    found: dict[str, list[str]] = {"told": [], "trained": []}
    async with (
        site() as (url, targets),
        Crawler([Told, Trained], slaves=0, arguments={"start_urls": url}) as crawler,
    ):
        async for item in crawler.items():
            found[str(item["of"])].append(str(item["path"]))

    assert sorted(found["trained"]) == ["/", "/open"]
    assert len(found["told"]) == 6
    # Once where the one that asks for more is the first to come, else once more for it.
    assert targets.count("/robots.txt") in (1, 2)
    assert targets.count("/.well-known/tdmrep.json") == 1


class Late(Told):
    """Starts when it is told to."""

    may_start: asyncio.Event

    async def start(self) -> AsyncIterator[Request]:
        await self.may_start.wait()
        async for request in super().start():
            yield request


async def test_host_that_a_second_spider_starts_at_is_not_asked_for_its_robots_txt_again() -> None:
    async with (
        site() as (url, targets),
        Crawler([Told, Late], slaves=0, arguments={"start_urls": url}) as crawler,
    ):
        Late.may_start, paths = asyncio.Event(), []
        async for item in crawler.items():
            paths.append(item["path"])
            if item["path"] == "/behind":
                Late.may_start.set()

    assert len(paths) == 12
    assert targets.count("/robots.txt") == 1
