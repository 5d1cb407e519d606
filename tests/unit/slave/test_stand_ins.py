"""Built-in middlewares that people subclass, and requests for one more try."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from p2pcrawl import Request, Spider
from p2pcrawl.downloadermiddlewares.cookies import CookiesMiddleware
from p2pcrawl.downloadermiddlewares.redirect import RedirectMiddleware
from p2pcrawl.downloadermiddlewares.retry import RetryMiddleware, get_retry_request
from p2pcrawl.downloadermiddlewares.useragent import UserAgentMiddleware
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import FetchError, IgnoreRequest
from p2pcrawl.pipelines.files import FileException
from p2pcrawl.pipelines.media import FileException as MediaFileException
from p2pcrawl.pipelines.media import MediaPipeline
from p2pcrawl.spidermiddlewares.httperror import HttpError
from p2pcrawl.spidermiddlewares.offsite import OffsiteMiddleware
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.hooks.making import make_spider
from tests.unit.slave.tasks import task_of
from tests.unit.slave.test_run import answer_of, pages_of

HERE = __name__


class Plain(Spider):
    name = "plain"

    def parse(self, response: Any) -> Any:
        yield {"agent": response.request.headers.get("User-Agent"), "jar": response.meta.get("cookiejar")}

    def failed(self, failure: Any) -> Any:
        assert failure.check(HttpError)
        yield {"failed": failure.value.response.status}


class EmptyPages(RetryMiddleware):
    def process_response(self, request: Request, response: Any, spider: Any = None) -> Any:
        if not response.body:
            return self._retry(request, "empty", spider) or response
        return super().process_response(request, response, spider)


class Agents(UserAgentMiddleware):
    def process_request(self, request: Request, spider: Any = None) -> None:
        request.headers["User-Agent"] = "Mine/1.0"


class Following(RedirectMiddleware):
    def process_response(self, request: Request, response: Any, spider: Any = None) -> Any:
        got = super().process_response(request, response, spider)
        return got if got is response else got.replace(url=got.url + "?by=mine")


BUILT_IN = "scrapy.downloadermiddlewares"


def handle_of(**settings: Any) -> CrawlHandle:
    handle = CrawlHandle(Settings().updated(settings), Plain)
    make_spider(Plain, handle, {})
    return handle


@pytest.mark.parametrize("attempt", [1, 3])
async def test_subclass_of_the_retry_asks_again_as_long_as_it_may(attempt: int) -> None:
    own = {f"{BUILT_IN}.retry.RetryMiddleware": None, f"{HERE}.EmptyPages": 550}

    (page,) = await pages_of(Plain, answer_of(body=b""), task_of(attempt=attempt), downloader_middlewares=own)

    assert page.outcome is not None
    assert page.outcome.phase == (Phase.QUEUED if attempt == 1 else Phase.DONE)


async def test_subclass_of_the_user_agent_takes_its_place() -> None:
    own = {f"{BUILT_IN}.useragent.UserAgentMiddleware": None, f"{HERE}.Agents": 500}

    (page,) = await pages_of(Plain, answer_of(), downloader_middlewares=own)

    assert page.items == [b'{"agent":"Mine/1.0","jar":null}']


async def test_subclass_of_the_redirect_says_where_to() -> None:
    own = {f"{BUILT_IN}.redirect.RedirectMiddleware": None, f"{HERE}.Following": 600}
    answer = Answer("http://a.example/", 302, {"Location": "/new"}, b"")

    (page,) = await pages_of(Plain, answer, downloader_middlewares=own)

    assert page.links[0].urls == ["http://a.example/new?by=mine"]


async def test_errback_checks_for_an_http_error() -> None:
    (page,) = await pages_of(Plain, answer_of(404), task_of(extra=b"\x81\xa7errback\xa6failed"))

    assert page.items == [b'{"failed":404}']


def test_one_more_try_counts_and_ends() -> None:
    handle = handle_of(retry_times=2)
    request: Request | None = Request("http://a.example/", meta={"retry_times": 1})
    assert request is not None

    again = get_retry_request(request, spider=handle.spider, reason="empty")
    assert again is not None
    last = get_retry_request(again, spider=handle.spider, reason=ValueError("odd"))

    assert (again.meta["retry_times"], again.dont_filter, last) == (2, True, None)
    assert handle.stats.get_stats() == {"retry/count": 1, "retry/reason_count/empty": 1, "retry/max_reached": 1}


async def test_one_more_try_keeps_its_count_when_it_has_travelled() -> None:
    class Trying(Plain):
        def parse(self, response: Any) -> Any:
            yield get_retry_request(response.request, spider=self)

    (page,) = await pages_of(Trying, answer_of(), task_of(attempt=2))
    link = page.links[0]
    (later,) = await pages_of(Plain, answer_of(503), task_of(extra=link.shared.extra))

    assert link.urls == ["http://a.example/"]
    assert later.outcome is not None
    assert later.outcome.phase == Phase.FAILED


def test_cookies_are_kept_and_sent() -> None:
    cookies = CookiesMiddleware.from_crawler(handle_of())
    first, second = Request("http://a.example/"), Request("http://a.example/x")
    answer = Answer("http://a.example/", 200, {}, b"", set_cookies=("a=b",))

    cookies.process_response(first, type("R", (), {"answer": answer})())
    cookies.process_request(second)

    assert second.headers["Cookie"] == "a=b"


def test_offsite_keeps_to_the_domains_of_the_spider() -> None:
    spider = Spider(allowed_domains=["a.example"])
    urls = ["http://a.example/", "http://b.a.example/", "http://c.example/"]

    kept = OffsiteMiddleware().process_spider_output(None, map(Request, urls), spider)  # type: ignore[arg-type]

    assert [request.url for request in kept] == urls[:2]


class Neighbours(OffsiteMiddleware):
    def should_follow(self, request: Request, spider: Any) -> bool:
        return super().should_follow(request, spider) or request.url.endswith("/near")


@pytest.mark.parametrize(
    ("request_", "goes"),
    [
        (Request("http://b.a.example/"), True),
        (Request("http://c.example/near"), True),
        (Request("http://c.example/", meta={"allow_offsite": True}), True),
        (Request("http://c.example/", dont_filter=True), True),
        (Request("http://c.example/"), False),
    ],
)
def test_offsite_filter_works_among_downloader_middlewares_too(request_: Request, goes: bool) -> None:
    handle = handle_of()
    handle.spider.allowed_domains = ["http://a.example:80", None]
    middleware = Neighbours.from_crawler(handle)
    middleware.spider_opened(handle.spider)

    if goes:
        middleware.process_request(request_)
    else:
        with pytest.raises(IgnoreRequest):
            middleware.process_request(request_)


@pytest.mark.parametrize(("level", "told"), [(logging.WARNING, "WARNING"), ("ERROR", "ERROR"), (None, "DEBUG")])
def test_giving_up_is_logged_at_the_level_that_is_wanted(
    level: int | str | None, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    request = Request("http://a.example/", meta={"retry_times": 9})

    assert get_retry_request(request, spider=handle_of().spider, give_up_log_level=level) is None

    assert [record.levelname for record in caplog.records if "gave up" in record.message] == [told]


def test_media_pipeline_knows_its_spider_though_it_is_opened_without() -> None:
    handle = handle_of()
    pipeline = MediaPipeline(crawler=handle)

    pipeline.open_spider()

    assert pipeline.spiderinfo.spider is handle.spider


def test_failure_of_a_file_is_one_class_at_both_paths() -> None:
    assert MediaFileException is FileException


def test_retry_is_told_to_the_logger_that_is_named(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    spider = handle_of().spider

    get_retry_request(Request("http://a.example/"), spider=spider, reason="empty", logger=logging.getLogger("theirs"))

    (record,) = [record for record in caplog.records if record.name == "theirs"]
    assert "empty" in record.message and getattr(record, "spider", None) is spider


@pytest.mark.parametrize(
    ("names", "retried"),
    [((), (FetchError, OSError)), (("builtins.ValueError",), (ValueError,))],
)
def test_subclass_of_the_retry_tries_again_what_the_settings_say(names: tuple[str, ...], retried: Any) -> None:
    middleware = RetryMiddleware.from_crawler(handle_of(retry_exceptions=names))

    assert retried == middleware.EXCEPTIONS_TO_RETRY
    again = middleware.process_exception(Request("http://a.example/"), ValueError("odd"))
    assert (again is not None) == (ValueError in retried)
