"""What people's components hook into, in whole crawls: signals, extensions, stats, the engine, middlewares."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, ClassVar, Self

import pytest

from p2pcrawl import Crawler, Request, Spider, signals
from p2pcrawl.model.errors import DontCloseSpider, NotConfigured
from tests.acceptance.test_spiders import SmallSite, links

HERE = __name__


class Watching:
    """An extension that listens to all there is to hear."""

    heard: ClassVar[list[str]] = []
    last: ClassVar[Any] = None

    def __init__(self, crawler: Any) -> None:
        self.crawler = crawler
        Watching.last = self
        for name in (
            *("engine_started", "spider_opened", "request_scheduled", "request_dropped", "request_reached_downloader"),
            *("request_left_downloader", "response_downloaded", "response_received", "item_scraped", "item_dropped"),
            *("spider_error", "spider_closed", "engine_stopped"),
        ):
            crawler.signals.connect(getattr(self, f"on_{name}", self.hear), signal=getattr(signals, name))

    @classmethod
    def from_crawler(cls, crawler: Any) -> Self:
        if not crawler.settings.getbool("WATCHING_ENABLED"):
            raise NotConfigured
        return cls(crawler)

    def hear(self, signal: Any, **facts: Any) -> None:
        self.heard.append(signal.name)

    async def on_spider_closed(self, spider: Spider, reason: str) -> None:
        self.heard.append(f"closed {spider.name}: {reason}")

    def on_spider_error(self, failure: Any, response: Any, spider: Spider) -> None:
        self.heard.append(f"{type(failure.value).__name__} at {response.url.rpartition('/')[2]}")


class Small(Spider):
    name = "small"

    def start_requests(self) -> Any:
        yield Request(f"{self.site}/")  # type: ignore[attr-defined]

    def parse(self, response: Any) -> Any:
        stats = self.crawler.stats
        stats.inc_value("seen")
        stats.inc_value(f"seen/{response.status}", 2)
        stats.max_value("longest", len(response.body))
        stats.min_value("shortest", len(response.body))
        stats.set_value("said", "text stays here")
        stats.set_value("limit", 9)
        yield {"url": response.url}
        yield response.follow_all()
        if response.url.endswith("/b"):
            raise ValueError("odd")


class Asking(Small):
    """Fetches in the middle of a callback, and queues by the engine."""

    name = "asking"

    async def parse(self, response: Any) -> Any:
        if response.url.endswith("/"):
            inline = await self.crawler.engine.download(Request(response.urljoin("/a")))
            self.crawler.engine.crawl(Request(response.urljoin("/b"), callback=self.parse))
            yield {"inline": inline.css("title::text").get()}
        else:
            yield {"queued": response.url.rpartition("/")[2]}


class Closing(Small):
    name = "closing"

    def parse(self, response: Any) -> Any:
        yield {"url": response.url}
        yield response.follow_all()
        self.crawler.engine.close_spider(self, "enough")


@pytest.fixture
async def site() -> AsyncIterator[SmallSite]:
    small = SmallSite()
    small.pages = {"/": links("/a", "/b", "/"), "/a": "<title>a</title>", "/b": f"<title>b</title>{links('/c')}"}
    small.pages["/c"] = "<title>c</title>"
    await small.start()
    Watching.heard.clear()
    yield small
    await small.stop()


def crawler(spider: type[Spider], site: SmallSite, **settings: Any) -> Crawler:
    given = {"ROBOTSTXT_OBEY": False, "EXTENSIONS": {f"{HERE}.Watching": 1}, "WATCHING_ENABLED": True, **settings}
    return Crawler(spider, slaves=0, arguments={"site": site.url}, settings=given)


async def test_extension_hears_of_all_that_happens(site: SmallSite) -> None:
    await crawler(Small, site).crawl()

    heard = Watching.heard
    assert heard[:2] == ["engine_started", "spider_opened"]
    assert heard[-2:] == ["closed small: finished", "engine_stopped"]
    assert {name: heard.count(name) for name in sorted({*heard[2:-2]})} == {
        "ValueError at b": 1,
        "item_scraped": 4,
        "request_dropped": 1,
        "request_left_downloader": 4,
        "request_reached_downloader": 4,
        "request_scheduled": 5,
        "response_downloaded": 4,
        "response_received": 4,
    }


async def test_stats_add_up_in_the_job_and_have_scrapys_names_in_the_slave(site: SmallSite) -> None:
    certificate = await crawler(Small, site).crawl()

    stats = Watching.last.crawler.stats
    assert certificate["stats"] == {"seen": 4, "seen/200": 8}
    assert certificate["stats_max"]["longest"] == max(len(text) for text in site.pages.values())
    assert certificate["stats_min"]["shortest"] == min(len(text) for text in site.pages.values())
    assert certificate["stats_last"] == {"limit": 9}
    assert stats.get_value("item_scraped_count") == 4
    assert stats.get_value("downloader/response_status_count/200") == 4
    assert stats.get_value("response_received_count") == 4
    assert stats.get_value("spider_exceptions/ValueError") == 1
    assert stats.get_value("dupefilter/filtered") == 1
    assert stats.get_value("finish_reason") == "finished"
    assert stats.get_value("said") == "text stays here"
    assert Watching.last.crawler.logformatter.scraped({}, None, None)["msg"].startswith("Scraped")
    assert Watching.last.crawler.get_extension(Watching) is Watching.last


async def test_engine_fetches_at_once_and_queues(site: SmallSite) -> None:
    async with crawler(Asking, site) as running:
        items = [item async for item in running.items()]

    assert items == [{"inline": "a"}, {"queued": "b"}]


async def test_engine_ends_the_job_with_a_reason(site: SmallSite) -> None:
    certificate = await crawler(Closing, site, CONCURRENT_REQUESTS=1).crawl()

    assert (certificate["state"], certificate["reason"]) == ("finished", "enough")
    assert Watching.heard[-2:] == ["closed closing: enough", "engine_stopped"]
    assert certificate["queued"] > 0


async def test_crawl_without_items_for_too_many_pages_is_closed(site: SmallSite) -> None:
    site.pages |= {f"/{n}": links(f"/{n + 1}") for n in range(20)} | {"/": links("/0")}

    class Barren(Small):
        def parse(self, response: Any) -> Any:
            yield response.follow_all()

    certificate = await crawler(Barren, site, CLOSESPIDER_PAGECOUNT_NO_ITEM=3).crawl()

    assert certificate["reason"] == "closespider_pagecount_no_item"
    assert 3 <= certificate["pages"] < 20


class Patient(Small):
    """Asks for one more page when the job is idle, twice."""

    name = "patient"

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.asked = 0  # type: ignore[attr-defined]
        crawler.signals.connect(spider.on_idle, signal=signals.spider_idle)
        return spider

    def parse(self, response: Any) -> Any:
        yield {"page": response.url.rpartition("/")[2]}

    async def on_idle(self) -> None:
        self.asked += 1
        if self.asked <= 2:
            self.crawler.engine.crawl(Request(f"{self.site}/{'ab'[self.asked - 1]}"))  # type: ignore[attr-defined]
            raise DontCloseSpider


async def test_idle_crawl_goes_on_with_what_a_handler_queues_and_ends_when_none_does(site: SmallSite) -> None:
    async with crawler(Patient, site) as running:
        items = [item async for item in running.items()]
        certificate = running.certificate()

    assert items == [{"page": ""}, {"page": "a"}, {"page": "b"}]
    assert (certificate["state"], certificate["pages"], certificate["conserved"]) == ("finished", 3, True)
    assert Watching.last.crawler.spider.asked == 3
