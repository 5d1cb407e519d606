"""CrawlSpider: which requests its rules make of a page, and who gets the answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from p2pcrawl.linkextractors import LinkExtractor
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError, FetchError
from p2pcrawl.model.outcome import Failure
from p2pcrawl.slave.pages.travel import packed_request
from p2pcrawl.spiders import CrawlSpider, Rule, SitemapSpider, Spider
from p2pcrawl.spiders.callbacks import iterate
from p2pcrawl.spiders.failure import PageFailure
from tests.unit.spiders.pages import page

HTML = '<a href="/item/1">One</a><a href="/list/2">Two</a><a href="/item/list/3">Both</a><a href="/else">Else</a>'


class Shop(CrawlSpider):
    rules = (
        Rule(LinkExtractor(allow="/item/"), callback="parse_item", cb_kwargs={"kind": "item"}),
        Rule(LinkExtractor(allow="/list/")),
    )

    def parse_item(self, response: Any, kind: str) -> Iterator[Any]:
        yield {"url": response.url, "kind": kind}


async def results(spider: CrawlSpider, response: Any, callback: str = "_parse", **kwargs: Any) -> list[Any]:
    return [each async for each in iterate(getattr(spider, callback)(response, **kwargs))]


def told(requests: list[Any]) -> list[tuple[str, int]]:
    return [(each.url.removeprefix("https://example.com"), each.meta["rule"]) for each in requests]


def answer_of(spider: CrawlSpider, request: Request) -> Any:
    return request.callback(page(HTML, url=request.url, request=request))


async def test_link_is_taken_by_the_first_rule_that_wants_it() -> None:
    requests = await results(Shop(), page(HTML))

    assert told(requests) == [("/item/1", 0), ("/item/list/3", 0), ("/list/2", 1)]
    assert requests[0].meta["link_text"] == "One"


async def test_callback_gets_its_keywords_and_links_of_its_pages_are_not_followed() -> None:
    spider = Shop()
    item, _, listing = await results(spider, page(HTML))

    assert [each async for each in iterate(answer_of(spider, item))] == [{"url": item.url, "kind": "item"}]
    assert told([each async for each in iterate(answer_of(spider, listing))])[0] == ("/item/1", 0)


async def test_rules_travel_as_their_numbers() -> None:
    class Functions(CrawlSpider):
        rules = (Rule(callback=lambda response: [{"at": response.url}], errback=lambda failure: [{"why": "gone"}]),)

    spider = Functions()
    request = (await results(spider, page(HTML)))[0]

    assert packed_request(request)
    assert [each async for each in iterate(answer_of(spider, request))] == [{"at": request.url}]
    failure = PageFailure(request, FetchError(Failure.HTTP_4XX, "status 404"))
    assert request.errback(failure) == [{"why": "gone"}]


async def test_pages_of_start_urls_are_parsed_and_followed() -> None:
    class Starts(Shop):
        def parse_start_url(self, response: Any, **kwargs: Any) -> Any:
            return {"start": response.url, **kwargs}

    first, *rest = await results(Starts(), page(HTML), seed="x")

    assert first == {"start": "https://example.com/shop/list.html", "seed": "x"}
    assert len(rest) == 3


async def test_async_callback_and_process_results_work_together() -> None:
    class Async(CrawlSpider):
        rules = (Rule(callback="parse_item", follow=True),)

        async def parse_item(self, response: Any) -> AsyncIterator[Any]:
            yield {"n": 1}
            yield {"n": 2}

        def process_results(self, response: Any, results: Any) -> Any:
            return [{**each, "at": response.status} for each in results]

    spider = Async()
    request = (await results(spider, page(HTML)))[0]

    first, second, *links = [each async for each in iterate(answer_of(spider, request))]

    assert (first, second) == ({"n": 1, "at": 200}, {"n": 2, "at": 200})
    assert len(links) == 4


async def test_process_links_and_process_request_choose() -> None:
    class Choosy(CrawlSpider):
        rules = (Rule(process_links="last_two", process_request="cheap"),)

        def last_two(self, links: list[Any]) -> list[Any]:
            return links[-2:]

        def cheap(self, request: Request, response: Any) -> Request | None:
            return None if "else" in request.url else request.replace(priority=response.status)

    requests = await results(Choosy(), page(HTML))

    assert told(requests) == [("/item/list/3", 0)]
    assert requests[0].priority == 200


async def test_process_request_may_leave_out_the_response() -> None:
    class Old(CrawlSpider):
        rules = (Rule(process_request=lambda request: request.replace(priority=7)),)

    assert {each.priority for each in await results(Old(), page(HTML))} == {7}


@pytest.mark.parametrize(
    ("content_type", "followed"),
    [("text/html", 4), ("application/xhtml+xml", 4), ("", 4), ("text/plain", 0), ("text/xml", 0), ("image/png", 0)],
)
async def test_only_html_is_followed(content_type: str, followed: int) -> None:
    class All(CrawlSpider):
        rules = (Rule(),)

    assert len(await results(All(), page(HTML, content_type=content_type))) == followed


async def test_setting_keeps_links_from_being_followed() -> None:
    spider = Shop()
    spider.settings = Settings(crawlspider_follow_links=False)

    assert await results(spider, page(HTML)) == []


def test_parse_may_be_the_callback_of_a_rule() -> None:
    class Parses(CrawlSpider):
        rules = (Rule(callback="parse"),)

        def parse(self, response: Any, **kwargs: Any) -> Any:
            return {"url": response.url}

    spider = Parses()
    request = Request("https://example.com/x", meta={"rule": 0})

    assert list(getattr(spider, "_callback")(page(HTML, request=request))) == [  # noqa: B009
        {"url": "https://example.com/shop/list.html"}
    ]


async def test_rules_in_a_set_have_the_order_in_which_they_were_written() -> None:
    class Unordered(CrawlSpider):
        rules = frozenset([Rule(LinkExtractor(allow=f"/{each}")) for each in ("item", "list", "else")])

    assert told(await results(Unordered(), page(HTML))) == [
        ("/item/1", 0),
        ("/item/list/3", 0),
        ("/list/2", 1),
        ("/else", 2),
    ]


def test_methods_that_are_missing_are_told(caplog: pytest.LogCaptureFixture) -> None:
    class Misspelled(CrawlSpider):
        rules = (Rule(callback="parse_itm"),)

    class Wrong(CrawlSpider):
        rules = (Rule(process_links="chose"),)

    Misspelled()

    assert "callback='parse_itm', but Misspelled has no such method" in caplog.text
    with pytest.raises(ConfigurationError, match="process_links='chose'"):
        Wrong()


async def test_text_of_a_link_travels_only_so_far() -> None:
    class All(CrawlSpider):
        rules = (Rule(),)

    requests = await results(All(), page(f"<a href=/x>{'long ' * 1000}</a>"))

    assert len(requests[0].meta["link_text"]) == 1000


@pytest.mark.parametrize("way", ["async", "plain", "old"])
async def test_what_becomes_of_a_page_may_be_changed_by_overriding(way: str) -> None:
    class Async(Shop):
        async def parse_with_rules(self, response: Any, *args: Any, **kwargs: Any) -> Any:
            async for each in super().parse_with_rules(response, *args, **kwargs):
                yield each
            yield {"last": "async"}

    class Plain(Shop):
        def parse_with_rules(self, response: Any, *args: Any, **kwargs: Any) -> Any:
            yield from super().parse_with_rules(response, *args, **kwargs)
            yield {"last": "plain"}

    class Old(Shop):
        def _parse_response(self, response: Any, *args: Any, **kwargs: Any) -> Any:
            yield from super()._parse_response(response, *args, **kwargs)
            yield {"last": "old"}

    spider = {"async": Async, "plain": Plain, "old": Old}[way]()

    *requests, last = await results(spider, page(HTML))

    assert told(requests) == [("/item/1", 0), ("/item/list/3", 0), ("/list/2", 1)]
    assert last == {"last": way}
    assert len([each async for each in iterate(answer_of(spider, requests[0]))]) == 2


async def test_spider_may_have_bases_that_take_no_arguments() -> None:
    class Reads(Spider):
        def __init__(self) -> None:
            super().__init__()
            self.read = 1

    class Both(CrawlSpider, Reads):
        rules = (Rule(),)

    class Maps(SitemapSpider, Reads):
        sitemap_urls = ("https://example.com/robots.txt",)

    assert len(await results(Both(), page(HTML))) == 4
    assert (Both().read, Maps().read) == (1, 1)
