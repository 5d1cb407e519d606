"""Built-in middlewares around a fetch that people subclass."""

from __future__ import annotations

from typing import Any

import pytest

from p2pcrawl import Request, Spider
from p2pcrawl.downloadermiddlewares.downloadtimeout import DownloadTimeoutMiddleware
from p2pcrawl.downloadermiddlewares.httpauth import HttpAuthMiddleware
from p2pcrawl.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from p2pcrawl.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from p2pcrawl.downloadermiddlewares.stats import DownloaderStats
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.errors import FetchError, NotConfigured
from p2pcrawl.model.outcome import Failure
from p2pcrawl.slave.link.outbox import Outbox
from tests.unit.slave.tasks import task_of
from tests.unit.slave.test_run import FakeLink, answer_of, open_fence, opened, pages_of
from tests.unit.slave.test_stand_ins import BUILT_IN, handle_of

HERE = __name__
BASIC = "Basic YWRhOmVuaWdtYQ=="


class Seeing(Spider):
    name = "seeing"

    def parse(self, response: Any) -> Any:
        yield {"auth": response.request.headers.get("Authorization"), "timeout": response.meta.get("download_timeout")}


class PublicPart(RobotsTxtMiddleware):
    def process_request(self, request: Request, spider: Any = None) -> Any:
        return None if "/public/" in request.url else super().process_request(request, spider)


class Awaiting(RobotsTxtMiddleware):
    async def process_request(self, request: Request, spider: Any = None) -> None:  # type: ignore[override]
        await super().process_request(request, spider)


class Quick(DownloadTimeoutMiddleware):
    def process_request(self, request: Request, spider: Any = None) -> None:
        request.meta["download_timeout"] = 3


class Forgiving(HttpCompressionMiddleware):
    def process_response(self, request: Request, response: Any, spider: Any = None) -> Any:
        return super().process_response(request, response, spider)


@pytest.mark.parametrize(
    ("subclass", "url", "phase"),
    [
        ("PublicPart", "http://a.example/private", Phase.DROPPED),
        ("PublicPart", "http://a.example/public/1", Phase.DONE),
        ("Awaiting", "http://a.example/private", Phase.DROPPED),
        ("Awaiting", "http://a.example/", Phase.DONE),
    ],
)
async def test_subclass_of_the_robots_check_keeps_to_it_where_it_asks_it(subclass: str, url: str, phase: Phase) -> None:
    own = {f"{BUILT_IN}.robotstxt.RobotsTxtMiddleware": None, f"{HERE}.{subclass}": 100}
    link = FakeLink()
    outbox = Outbox(link)

    async with opened(Seeing, answer_of(), robotstxt_obey=True, downloader_middlewares=own) as run:
        run.learn_rules("http://a.example", "rules", "User-agent: *\nDisallow: /p", "")
        await run.work(task_of(url), outbox, open_fence())
    outbox.flush()

    outcome = link.reports[0].pages[0].outcome
    assert outcome is not None
    assert (outcome.phase, outcome.reason) == (phase, "robots" if phase is Phase.DROPPED else "")


def test_robots_check_takes_no_part_where_nobody_obeys() -> None:
    with pytest.raises(NotConfigured):
        RobotsTxtMiddleware.from_crawler(handle_of(robotstxt_obey=False))


@pytest.mark.parametrize(("name", "at"), [("downloadtimeout.DownloadTimeoutMiddleware", "Quick"), ("", "Forgiving")])
async def test_subclass_takes_part_in_a_crawl(name: str, at: str) -> None:
    own = {f"{HERE}.{at}": 350, **({f"{BUILT_IN}.{name}": None} if name else {})}

    (page,) = await pages_of(Seeing, answer_of(), downloader_middlewares=own)

    assert page.items == [b'{"auth":null,"timeout":%s}' % (b"3" if name else b"null")]


@pytest.mark.parametrize(
    ("url", "header"), [("http://a.example/", BASIC), ("http://b.a.example/", BASIC), ("http://c.example/", None)]
)
def test_credentials_go_to_their_domain_alone(url: str, header: str | None) -> None:
    told = HttpAuthMiddleware()
    told.spider_opened(Spider("x", http_user="ada", http_pass="enigma", http_auth_domain="a.example"))
    made = HttpAuthMiddleware.from_crawler(handle_of(http_user="ada", http_pass="enigma", http_auth_domain="a.example"))

    for middleware in (told, made):
        request = Request(url)
        middleware.process_request(request)
        assert request.headers.get("Authorization") == header


def test_credentials_without_a_domain_are_refused() -> None:
    with pytest.raises(AttributeError):
        HttpAuthMiddleware().spider_opened(Spider("x", http_user="ada", http_pass="enigma"))


@pytest.mark.parametrize(
    ("of_settings", "of_spider", "of_request", "given"),
    [(20.5, None, None, 20.5), (20.5, 7, None, 7.0), (20.5, 7, 1, 1)],
)
def test_timeout_is_the_requests_else_the_spiders_else_that_of_the_settings(
    of_settings: float, of_spider: float | None, of_request: float | None, given: float
) -> None:
    middleware = DownloadTimeoutMiddleware.from_crawler(handle_of(download_timeout=of_settings))
    middleware.spider_opened(Spider("x", download_timeout=of_spider))
    request = Request("http://a.example/", meta={} if of_request is None else {"download_timeout": of_request})

    middleware.process_request(request)

    assert request.meta["download_timeout"] == given


def test_counts_of_fetches_are_those_of_the_crawl() -> None:
    handle = handle_of()
    counting, request = DownloaderStats.from_crawler(handle), Request("http://a.example/")

    counting.process_request(request)
    counting.process_exception(request, FetchError(Failure.CONNECT, "no"))

    assert handle.stats.get_value("downloader/request_count") == 1
    assert handle.stats.get_value("downloader/exception_count") == 1
    with pytest.raises(NotConfigured):
        DownloaderStats.from_crawler(handle_of(downloader_stats=False))
