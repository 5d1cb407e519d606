"""Where the items of a crawl go, as spiders and callers say it: FEEDS, fields, filters, several places at once."""

# ruff: noqa: RUF012, ASYNC110, ASYNC240 - spiders as people write them, and small files read at once

from __future__ import annotations

import asyncio
import csv
import gzip
import json
import os
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from p2pcrawl import Crawler, Response, Spider
from p2pcrawl.model.errors import ConfigurationError
from tests.sites.server import Asked, Server, TimedReply, site_answer

pytestmark = pytest.mark.slow

PRICES = [5, 10, 15, 20]


class Shop(Spider):
    """Four books, an item each, on two pages."""

    def parse(self, response: Response) -> Iterator[Any]:
        for price in response.css("b::text").getall():
            yield {"title": f"Book {price}", "price": int(price), "shelf": {"row": int(price) // 10}}
        yield response.follow_all()


class Hook:
    """A webhook on loopback, with the items that it took, by key."""

    def __init__(self) -> None:
        self.items: dict[str, Any] = {}
        self.authorized: list[str] = []
        self.url = ""

    async def take(self, request: web.Request) -> web.Response:
        self.authorized.append(request.headers.get("Authorization", ""))
        for entry in (await request.json())["data"]:
            self.items[entry["key"]] = entry["item"]
        return web.Response(status=204)


def shop_page(asked: Asked) -> TimedReply:
    if asked.path == "/robots.txt":
        return TimedReply(site_answer("none", 404))
    half = PRICES[:2] if asked.path == "/" else PRICES[2:]
    return TimedReply(site_answer("<title>t</title><a href='/2'>2</a>" + "".join(f"<b>{price}</b>" for price in half)))


@pytest.fixture
async def shop() -> AsyncIterator[str]:
    server = Server(shop_page, ["127.0.0.1"])
    port = await server.start()
    yield f"http://127.0.0.1:{port}/"
    await server.stop()


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    found, app = Hook(), web.Application()
    app.router.add_post("/take", found.take)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    found.url = f"http://127.0.0.1:{runner.addresses[0][1]}/take"
    yield found
    await runner.cleanup()


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


async def crawl(shop: str, spider: type[Spider] = Shop, **more: Any) -> dict[str, Any]:
    """Crawls to the end and returns the certificate as the store has it."""
    async with Crawler(spider, slaves=0, arguments={"start_urls": shop}, **more) as crawler:
        await crawler.wait()
        (certificate,) = await crawler.audit()
    return certificate


async def test_feeds_of_a_spider_are_brought_each_in_its_own_shape(shop: str, hook: Hook) -> None:
    class Fed(Shop):
        name = "fed"
        custom_settings = {
            "FEEDS": {
                Path("%(name)s.json"): {"format": "json", "fields": {"price": "Price", "title": "T"}, "indent": 2},
                "cheap.txt": {"format": "csv", "where": "price <= 10", "postprocessing": ["a.GzipPlugin"]},
                hook.url: {"where": "shelf.row = 1", "fields": ["title"]},
            }
        }

    certificate = await crawl(shop, Fed)

    books = json.loads(Path("fed.json").read_text())
    assert sorted(book["Price"] for book in books) == PRICES
    assert all(list(book) == ["Price", "T"] for book in books)
    assert Path("fed.json").read_text().startswith('[\n{\n  "Price"')
    with gzip.open("cheap.txt", "rt", newline="") as file:
        assert sorted(int(row["price"]) for row in csv.DictReader(file)) == [5, 10]
    assert sorted(item["title"] for item in hook.items.values()) == ["Book 10", "Book 15"]
    assert all(list(item) == ["title"] for item in hook.items.values())
    assert set(certificate["outputs"]) == {os.path.abspath("fed.json"), os.path.abspath("cheap.txt"), hook.url}


async def test_outputs_that_are_given_take_the_place_of_the_spiders_feeds(shop: str) -> None:
    class Fed(Shop):
        custom_settings = {"FEEDS": {"own.jsonl": {}}}

    await crawl(shop, Fed, output="given.jsonl")

    assert len(Path("given.jsonl").read_text().splitlines()) == 4
    assert not Path("own.jsonl").exists()


async def test_feeds_that_are_given_stand_beside_outputs(shop: str) -> None:
    await crawl(shop, output="one.jsonl", settings={"FEEDS": {"two.jsonl": {"where": "price > 10"}}})

    assert [len(Path(name).read_text().splitlines()) for name in ("one.jsonl", "two.jsonl")] == [4, 2]


@pytest.mark.parametrize(
    ("fields", "columns"), [(["price", "title"], ["price", "title"]), ({"title": "T", "price": "P"}, ["T", "P"])]
)
async def test_fields_of_the_settings_are_those_of_every_output(
    shop: str, hook: Hook, fields: Any, columns: list[str]
) -> None:
    await crawl(shop, output=["a.jsonl", "a.csv", "a.json", "a.xml", hook.url], settings={"feed_export_fields": fields})

    lines = [json.loads(line) for line in Path("a.jsonl").read_text().splitlines()]
    whole = json.loads(Path("a.json").read_text())
    assert all(list(item) == columns for item in [*lines, *whole, *hook.items.values()])
    assert Path("a.csv").read_text().splitlines()[0] == ",".join(columns)
    assert "shelf" not in Path("a.xml").read_text()
    assert len(lines) == len(whole) == len(hook.items) == 4


async def test_crawl_that_goes_on_keeps_the_feed_that_tells_when_it_began(shop: str, hook: Hook) -> None:
    secret = hook.url.replace("://", "://ada:s3cret@")
    feeds = {"FEEDS": {"%(time)s.jsonl": {}, f"{secret}?begun=%(time)s&auth=basic": {}}}
    await crawl(shop, data="run", settings={**feeds, "CLOSESPIDER_PAGECOUNT": 1})
    began = datetime.now(UTC).replace(microsecond=0)
    while datetime.now(UTC).replace(microsecond=0) == began:
        await asyncio.sleep(0.02)

    certificate = await crawl(shop, data="run", settings=feeds)

    (file,) = Path().glob("*.jsonl")
    assert len(file.read_text().splitlines()) in (2, 4)
    assert len(certificate["outputs"]) == 2
    assert set(hook.authorized) == {"Basic YWRhOnMzY3JldA=="}


async def test_feed_that_is_new_to_a_crawl_that_goes_on_gets_all(shop: str) -> None:
    await crawl(shop, data="run")

    await crawl(shop, data="run", settings={"FEEDS": {"%(time)s.jsonl": {}}})

    (file,) = Path().glob("*.jsonl")
    assert len(file.read_text().splitlines()) == 4


async def test_password_of_a_feed_is_nowhere_in_the_data_folder(shop: str, hook: Hook) -> None:
    address = hook.url.replace("://", "://ada:s3cr3t-w0rd@")

    certificate = await crawl(shop, data="run", settings={"FEEDS": {address: {}}})

    assert len(hook.items) == 4
    assert "s3cr3t-w0rd" not in json.dumps(certificate)
    files = [path for path in Path("run").rglob("*") if path.is_file()]
    assert files
    assert not any(b"s3cr3t-w0rd" in path.read_bytes() for path in files)


@pytest.mark.parametrize(
    ("feeds", "told"),
    [
        ({"out.json": {"item_filter": "a.B"}}, "FEEDS: out.json: 'item_filter' is not known here"),
        ({"out.json": {"where": "price >"}}, "cannot be read at its end"),
        ({"out.json": {}, "./out.json": {}}, "out.json is given twice"),
        ({"nowhere/out.json": {}}, "there is no folder nowhere"),
        ({"out.dat": {}}, "cannot tell the format of the output 'out.dat'"),
    ],
)
def test_feed_that_cannot_work_is_told_before_anything_is_fetched(feeds: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Crawler(Shop, settings={"FEEDS": feeds})

    assert told in str(caught.value)
