"""Middlewares of people's own in one slave: what they see, change, answer, and send back into the queue."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import FetchError, IgnoreRequest, NotConfigured
from p2pcrawl.model.outcome import Failure
from p2pcrawl.spiders.page.answer_kinds import TextResponse
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.spider import Spider
from p2pcrawl.wire.messages.slave_messages import Page
from tests.unit.slave.tasks import task_of
from tests.unit.slave.test_run import answer_of, pages_of

HERE = __name__


class Asking(Spider):
    name = "asking"

    def parse(self, response: Any, **cb_kwargs: Any) -> Any:
        yield {"status": response.status, "body": response.text, "type": type(response).__name__}

    def failed(self, failure: Any) -> Any:
        yield {"failed": str(failure.value)}


class Seeing:
    seen: ClassVar[list[str]] = []

    def process_request(self, request: Request, spider: Spider) -> None:
        self.seen.append(f"request {spider.name}")
        request.headers["X-Mine"] = "1"

    def process_response(self, request: Request, response: Response, spider: Spider) -> Response:
        self.seen.append(f"response {response.status}")
        return response

    def process_exception(self, request: Request, exception: Exception, spider: Spider) -> None:
        self.seen.append(f"exception {exception}")


class Modern:
    """Its methods are async, and take no spider."""

    async def process_request(self, request: Request) -> None:
        Seeing.seen.append("modern request")

    async def process_response(self, request: Request, response: Response) -> Response:
        Seeing.seen.append("modern response")
        return response


class Answering:
    def process_request(self, request: Request, spider: Spider) -> Response:
        return TextResponse(request.url, body="made", encoding="utf-8")


class Rescuing:
    async def process_exception(self, request: Request, exception: Exception) -> Response:
        return TextResponse(request.url, body=b"rescued")


class Ignoring:
    def process_request(self, request: Request, spider: Spider) -> None:
        raise IgnoreRequest("not today")


class Unwilling:
    def __init__(self) -> None:
        raise NotConfigured


class Again:
    """Asks for each page again until it is had without words."""

    def process_response(self, request: Request, response: Response, spider: Spider) -> Any:
        return request.replace(dont_filter=True) if response.status == 403 else response


class ByProxy:
    def process_response(self, request: Request, response: Response, spider: Spider) -> Any:
        if response.status == 200:
            return response
        again = request.copy()
        again.meta["proxy"] = "http://proxy.example:3128"
        return again


class Elsewhere:
    def process_request(self, request: Request, spider: Spider) -> Any:
        return None if request.url.endswith("/new") else request.replace(url="http://a.example/new")


class Forgetful:
    def process_response(self, request: Request, response: Response, spider: Spider) -> None: ...


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    Seeing.seen.clear()


async def end_of(result: Answer | Exception, *middlewares: str, **settings: Any) -> Page:
    own = {f"{HERE}.{name}": 100 * (place + 1) for place, name in enumerate(middlewares)}
    task = settings.pop("task", None)
    (page,) = await pages_of(Asking, result, task, downloader_middlewares=own, **settings)
    return page


async def test_middlewares_stand_in_their_order_plain_or_async() -> None:
    page = await end_of(answer_of(body=b"b"), "Seeing", "Modern")

    assert Seeing.seen == ["request asking", "modern request", "modern response", "response 200"]
    assert page.items == [b'{"status":200,"body":"b","type":"HtmlResponse"}']


@pytest.mark.parametrize("status", [404, 301, 503])
async def test_middleware_sees_answers_of_any_status_but_those_that_are_tried_again_or_lead_elsewhere(
    status: int,
) -> None:
    page = await end_of(answer_of(status), "Seeing")

    assert ("response 404" in Seeing.seen) == (status == 404)
    assert page.outcome is not None
    assert page.outcome.phase == {404: Phase.FAILED, 301: Phase.FAILED, 503: Phase.QUEUED}[status]


async def test_answer_that_is_not_tried_again_any_more_is_seen() -> None:
    await end_of(answer_of(503), "Seeing", task=task_of(attempt=3))

    assert Seeing.seen == ["request asking", "response 503"]


async def test_failure_of_a_fetch_is_seen_when_it_is_final() -> None:
    error = FetchError(Failure.CONNECT, "refused")

    await end_of(error, "Seeing")
    await end_of(error, "Seeing", task=task_of(attempt=3))

    assert Seeing.seen == ["request asking", "request asking", "exception refused"]


async def test_response_of_a_middleware_is_the_answer_and_nothing_is_fetched() -> None:
    page = await end_of(FetchError(Failure.CONNECT, "refused"), "Seeing", "Answering")

    assert page.items == [b'{"status":200,"body":"made","type":"TextResponse"}']
    assert Seeing.seen == ["request asking", "response 200"]


async def test_response_takes_the_place_of_a_failure() -> None:
    page = await end_of(FetchError(Failure.TOO_LARGE, "too large"), "Rescuing")

    assert page.items == [b'{"status":200,"body":"rescued","type":"TextResponse"}']


async def test_page_that_a_middleware_ignores_is_dropped_with_its_reason() -> None:
    page = await end_of(answer_of(), "Ignoring")

    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.reason, page.outcome.detail) == (Phase.DROPPED, "ignored", "not today")


async def test_middleware_that_is_not_configured_takes_no_part() -> None:
    page = await end_of(answer_of(), "Unwilling", "Seeing")

    assert page.outcome is not None
    assert page.outcome.phase == Phase.DONE


async def test_request_that_is_returned_unchanged_is_a_retry() -> None:
    page = await end_of(answer_of(403), "Again", task=task_of(attempt=2))

    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.reason, page.outcome.retry_in_s) == (Phase.QUEUED, "middleware", 2.0)
    assert (page.outcome.status, page.outcome.answered) == (403, True)
    assert page.links == []


async def test_request_that_differs_is_queued_in_the_place_of_its_page() -> None:
    page = await end_of(answer_of(403), "ByProxy")

    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.reason) == (Phase.DONE, "requeued")
    (links,) = page.links
    assert links.urls == ["http://a.example/"]
    assert b"proxy.example" in links.shared.extra
    assert b"User-Agent" not in links.shared.extra
    assert links.shared.depth == 1


async def test_request_for_another_page_is_queued_before_anything_is_fetched() -> None:
    page = await end_of(FetchError(Failure.CONNECT, "refused"), "Elsewhere")

    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.reason, page.outcome.answered) == (Phase.DONE, "requeued", False)
    assert page.links[0].urls == ["http://a.example/new"]


async def test_middleware_that_returns_nothing_fails_its_page_and_is_named() -> None:
    page = await end_of(answer_of(), "Forgetful")

    assert page.outcome is not None
    assert page.outcome.reason == Failure.CALLBACK
    assert "Forgetful.process_response must return a Response or a Request, not NoneType" in page.outcome.detail


@pytest.mark.parametrize(
    "path",
    [
        "scrapy.downloadermiddlewares.retry.RetryMiddleware",
        "p2pcrawl.downloadermiddlewares.retry.RetryMiddleware",
        "scrapy.contrib.downloadermiddleware.retry.RetryMiddleware",
    ],
)
async def test_built_in_middleware_is_left_out_by_its_path(path: str) -> None:
    (page,) = await pages_of(Asking, answer_of(503), downloader_middlewares={path: None})

    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.reason) == (Phase.FAILED, Failure.HTTP_5XX)


# -- on the spider's side -------------------------------------------------------------------------


class Walking(Spider):
    name = "walking"

    def start_requests(self) -> Any:
        yield Request("http://a.example/")

    def parse(self, response: Any) -> Any:
        yield {"n": 1}
        yield response.follow_all()
        if response.status != 200:
            raise ValueError("odd")
        yield {"n": 2}


class WalkingLater(Walking):
    async def parse(self, response: Any) -> Any:
        for each in Walking.parse(self, response):
            yield each


class Single(Walking):
    def parse(self, response: Any) -> Any:
        return {"n": 1}


class Counting:
    def process_spider_output(self, response: Response, result: Any, spider: Spider) -> Any:
        for thing in result:
            if isinstance(thing, Request):
                thing.priority = 7
            else:
                thing["by"] = [*thing.get("by", ()), "plain"]
            yield thing


class CountingLater:
    async def process_spider_output(self, response: Response, result: Any) -> Any:
        async for thing in result:
            if not isinstance(thing, Request):
                thing["by"] = [*thing.get("by", ()), "async"]
            yield thing


class Both(Counting):
    async def process_spider_output_async(self, response: Response, result: Any, spider: Spider) -> Any:
        async for thing in result:
            if not isinstance(thing, Request):
                thing["by"] = [*thing.get("by", ()), "both"]
            yield thing


class Saving:
    def process_spider_exception(self, response: Response, exception: Exception, spider: Spider) -> Any:
        return [{"saved": str(exception)}]


class Refusing:
    def process_spider_input(self, response: Response, spider: Spider) -> None:
        raise ValueError("refused")


class Starting:
    def process_start_requests(self, start_requests: Any, spider: Spider) -> Any:
        yield Request("http://b.example/")
        yield from start_requests


class StartingLater:
    async def process_start(self, start: Any) -> Any:
        async for each in start:
            yield each
        yield Request("http://c.example/")


def aside(*names: str) -> dict[str, Any]:
    return {"spider_middlewares": {f"{HERE}.{name}": 100 - place for place, name in enumerate(names)}}


@pytest.mark.parametrize(
    ("spider", "middlewares", "by"),
    [
        (Walking, ("Counting",), '["plain"]'),
        (Walking, ("Counting", "CountingLater"), '["plain","async"]'),
        (Walking, ("CountingLater", "Counting"), '["async","plain"]'),
        (WalkingLater, ("Counting",), '["plain"]'),
        (WalkingLater, ("Both", "Counting"), '["both","plain"]'),
        (Walking, ("Both",), '["plain"]'),
    ],
)
async def test_what_a_callback_yields_passes_the_middlewares(
    spider: type[Spider], middlewares: tuple[str, ...], by: str
) -> None:
    (page,) = await pages_of(spider, answer_of(), **aside(*middlewares))

    assert page.items == [f'{{"n":{n},"by":{by}}}'.encode() for n in (1, 2)]
    assert [url for links in page.links for url in links.urls] == ["http://a.example/1", "http://a.example/2"]
    assert page.links[0].shared.priority == (7 if middlewares != ("Both",) or spider is Walking else 0)


async def test_single_thing_that_a_callback_returns_passes_as_one() -> None:
    (page,) = await pages_of(Single, answer_of(), **aside("Counting"))

    assert page.items == [b'{"n":1,"by":["plain"]}']


async def test_exception_becomes_what_a_middleware_makes_of_it() -> None:
    (page,) = await pages_of(Walking, answer_of(404), httperror_allow_all=True, **aside("Saving", "Counting"))

    assert page.items == [b'{"n":1,"by":["plain"]}', b'{"saved":"odd","by":["plain"]}']
    assert page.outcome is not None
    assert page.outcome.phase == Phase.DONE


@pytest.mark.parametrize("spider", [Walking, WalkingLater])
async def test_exception_that_nobody_takes_fails_the_page(spider: type[Spider]) -> None:
    (page,) = await pages_of(spider, answer_of(404), httperror_allow_all=True, **aside("Counting"))

    assert page.items == [b'{"n":1,"by":["plain"]}']
    assert page.outcome is not None
    assert page.outcome.reason == Failure.CALLBACK
    assert "ValueError: odd" in page.outcome.detail


async def test_response_that_is_refused_reaches_no_callback_but_an_errback() -> None:
    (page,) = await pages_of(Asking, answer_of(), **aside("Refusing"))
    (saved,) = await pages_of(Asking, answer_of(), **aside("Refusing", "Saving"))

    assert page.items == []
    assert page.outcome is not None
    assert page.outcome.reason == Failure.CALLBACK
    assert saved.items == [b'{"saved":"refused"}']


async def test_starts_pass_the_middlewares() -> None:
    start = task_of("p2pcrawl://start.localhost/1")

    (plain,) = await pages_of(Walking, answer_of(), start, **aside("Starting"))
    (later,) = await pages_of(Walking, answer_of(), start, **aside("StartingLater"))

    assert [url for links in plain.links for url in links.urls] == ["http://b.example/", "http://a.example/"]
    assert [url for links in later.links for url in links.urls] == ["http://a.example/", "http://c.example/"]


async def test_links_stay_a_batch_where_no_middleware_reads_them() -> None:
    (page,) = await pages_of(Walking, answer_of(404), httperror_allow_all=True, **aside("Saving"))

    assert page.items == [b'{"n":1}', b'{"saved":"odd"}']
    assert page.links[0].urls == ["http://a.example/1", "http://a.example/2"]


class AgainAfterFailure:
    def process_exception(self, request: Request, exception: Exception, spider: Spider) -> Any:
        return request


class ByProxyAfterFailure:
    async def process_exception(self, request: Request, exception: Exception) -> Any:
        again = request.copy()
        again.meta["proxy"] = "http://proxy.example:3128"
        return again


@pytest.mark.parametrize(
    ("middleware", "phase", "reason"),
    [
        ("AgainAfterFailure", Phase.QUEUED, Failure.CONNECT),
        ("ByProxyAfterFailure", Phase.DONE, "requeued-unanswered"),
    ],
)
async def test_host_that_left_a_request_without_an_answer_is_told_of_though_a_middleware_goes_on(
    middleware: str, phase: Phase, reason: str
) -> None:
    page = await end_of(FetchError(Failure.CONNECT, "refused"), middleware, retry_enabled=False)

    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.reason, page.outcome.answered) == (phase, reason, False)
