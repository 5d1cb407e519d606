"""Spider, the default spider, iterate."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pydantic
import pytest

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.callbacks import iterate
from p2pcrawl.spiders.loading.allowed_hosts import bounds_of
from p2pcrawl.spiders.loading.plain import Links
from p2pcrawl.spiders.page.links import LinkBatch
from p2pcrawl.spiders.spider import Spider
from tests.unit.spiders.pages import page


async def gathered(result: Any) -> list[Any]:
    return [each async for each in iterate(result)]


async def started(spider: Spider) -> list[str]:
    return [request.url async for request in spider.start()]


def test_spider_without_a_name_is_called_by_its_class() -> None:
    class Shop(Spider): ...

    class Sale(Shop): ...

    class Named(Spider):
        name = "named"

    class Heir(Named): ...

    assert (Shop.name, Sale.name, Named.name, Heir.name) == ("shop", "sale", "named", "named")
    assert Shop(name="other").name == "other"


def test_arguments_become_attributes() -> None:
    spider = Links(category="books", pages="3")

    assert (spider.category, spider.pages) == ("books", "3")  # type: ignore[attr-defined]


async def test_start_asks_for_the_start_urls() -> None:
    class Shop(Spider):
        start_urls = ("http://h", "http://h/a b")

    assert await started(Shop()) == ["http://h/", "http://h/a%20b"]
    assert await started(Shop(start_urls="http://x/, http://y/")) == ["http://x/", "http://y/"]


async def test_start_uses_start_requests_when_there_is_one() -> None:
    class Shop(Spider):
        def start_requests(self) -> Iterator[Request]:
            yield Request("http://h/1")

    class Listed(Spider):
        def start_requests(self) -> list[Request]:
            return [Request("http://h/2")]

    assert await started(Shop()) == ["http://h/1"]
    assert await started(Listed()) == ["http://h/2"]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("example.com", "did you mean https://example.com"),
        ("ftp://h/", "ftp cannot be fetched"),
        ("http://", "host cannot be read"),
        ("http://exa mple/", "host cannot be read"),
        ("nonsense", "must begin with http"),
        (3, "is text"),
    ],
)
async def test_bad_start_url_is_one_clear_line(url: Any, message: str) -> None:
    class Shop(Spider):
        start_urls = (url,)

    with pytest.raises(ConfigurationError, match=message) as caught:
        await started(Shop())
    assert "start_urls of spider shop" in str(caught.value)


async def test_start_url_without_its_s_is_pointed_out() -> None:
    class Shop(Spider):
        start_url = "http://h/"

    with pytest.raises(ConfigurationError, match="start_urls"):
        await started(Shop())


def test_missing_parse_says_what_to_do() -> None:
    with pytest.raises(NotImplementedError, match=r"Spider\.parse callback is not defined"):
        Spider().parse(page(""))


def test_logger_goes_by_the_name_of_the_spider(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        Spider(name="shop").logger.info("hello %s", "you")

    assert [(r.name, r.getMessage()) for r in caplog.records] == [("shop", "hello you")]


def test_default_spider_tells_of_the_page_and_follows_its_links() -> None:
    spider = Links(start_urls=["http://www.h.org/"])

    item, batch = spider.parse(page("<title>t</title><a href=x>", depth=2))

    assert item == {"url": "https://example.com/shop/list.html", "status": 200, "title": "t", "depth": 2}
    assert batch.urls == ["https://example.com/shop/x"]
    assert spider.allowed_domains == ["h.org"]


class Model(pydantic.BaseModel):
    x: int = 1


BATCH = LinkBatch(["http://h/"])
REQUEST = Request("http://h/")


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (None, []),
        (REQUEST, [REQUEST]),
        (BATCH, [BATCH]),
        ({"a": 1}, [{"a": 1}]),
        (Model(), [Model()]),
        ([REQUEST, None, {"a": 1}], [REQUEST, {"a": 1}]),
        ("text", ["text"]),
        (3, [3]),
    ],
    ids=repr,
)
async def test_any_result_of_a_callback_is_one_stream(result: Any, expected: list[Any]) -> None:
    async def later() -> Any:
        return result

    assert await gathered(result) == expected
    assert await gathered(later()) == expected


async def test_generators_of_both_kinds_are_streams() -> None:
    def plain() -> Iterator[Any]:
        yield from BATCH
        yield BATCH

    async def asynchronous() -> AsyncIterator[Any]:
        yield {"a": 1}

    assert [str(each) for each in await gathered(plain())] == ["<GET http://h/>", str(BATCH)]
    assert await gathered(asynchronous()) == [{"a": 1}]


async def test_what_was_yielded_before_an_error_is_kept() -> None:
    def fails() -> Iterator[Any]:
        yield {"a": 1}
        raise RuntimeError("boom")

    kept = []
    with pytest.raises(RuntimeError, match="boom"):
        async for each in iterate(fails()):
            kept.append(each)

    assert kept == [{"a": 1}]


async def test_generator_that_is_left_early_is_closed() -> None:
    closed = []

    def plain() -> Iterator[int]:
        try:
            yield 1
            yield 2
        finally:
            closed.append(True)

    stream = iterate(plain())
    await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]

    assert closed == [True]


@pytest.mark.parametrize(
    ("spider", "hosts", "told"),
    [
        (Spider(start_urls=["http://a.test/"], allowed_domains=["a.test"]), ["a.test"], ""),
        (Spider(start_urls=["http://a.test/"], allowed_domains=["http://a.test/"]), ["a.test"], "a.test is taken"),
        (Spider(start_urls=["http://a.test/"], allowed_domains=[None]), ["a.test"], "no domain can be read"),
        (Spider(start_urls=["http://a.test/"], allowed_domains=None), [], ""),
        (
            Spider(start_urls=["http://www.a.test/", "http://b.test/"], allowed_domains=["a.test"]),
            ["a.test"],
            "links to b.test will not be followed",
        ),
    ],
)
def test_spider_stays_within_the_domains_that_it_can_have_meant(spider: Spider, hosts: list[str], told: str) -> None:
    found, oddities = bounds_of(spider)

    assert found == hosts
    assert told in " ".join(oddities)
    assert bool(oddities) == bool(told)


def test_spider_may_add_to_its_start_urls() -> None:
    class Adds(Spider):
        def __init__(self, page: str, **arguments: Any) -> None:
            super().__init__(**arguments)
            self.start_urls.append(f"http://h/{page}")  # type: ignore[attr-defined]

    assert Adds("1").start_urls == ["http://h/1"]
    assert Adds("2").start_urls == ["http://h/2"]
    assert not Spider.start_urls


def test_spider_handles_requests_for_its_name_and_domains() -> None:
    class Shop(Spider):
        name = "shop.test"
        allowed_domains = ("https://other.test/",)

    assert Shop.handles_request(Request("http://a.shop.test/"))
    assert Shop.handles_request(Request("http://other.test/"))
    assert not Shop.handles_request(Request("http://third.test/"))


def test_close_calls_closed_where_there_is_one() -> None:
    class Ends(Spider):
        def closed(self, reason: str) -> str:
            return f"closed: {reason}"

    assert Ends.close(Ends(), "finished") == "closed: finished"
    assert Spider.close(Spider(), "finished") is None
