"""One job in one slave, with an answer instead of a network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from p2pcrawl.fetch.components.chain import Redirected
from p2pcrawl.fetch.components.robots import RobotsText
from p2pcrawl.fetch.components.status import StatusError
from p2pcrawl.fetch.connection.guard import Blocked, Networks
from p2pcrawl.model.choosing import setting_bounds as bounds_module
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.job import START_URL, idle_url
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import CloseSpider, DontCloseSpider, DropItem, FetchError, IgnoreRequest
from p2pcrawl.model.outcome import Failure
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.slave.link.fence import Fence
from p2pcrawl.slave.link.orphans import Orphanage
from p2pcrawl.slave.link.outbox import Outbox
from p2pcrawl.slave.pages import harvest as harvest_module
from p2pcrawl.slave.pages import item_passage as passage_module
from p2pcrawl.slave.pages import start_work as start_module
from p2pcrawl.slave.pages.harvest import PART_LINKS
from p2pcrawl.slave.pages.harvesting import PARTS_AHEAD
from p2pcrawl.slave.pages.traces import DETAIL_MAX
from p2pcrawl.slave.pages.travel import packed_request
from p2pcrawl.slave.work import job_run as run_module
from p2pcrawl.slave.work.job_run import JobRun
from p2pcrawl.spiders.hooks.signal_names import item_dropped, item_error, item_scraped, scheduler_empty, spider_idle
from p2pcrawl.spiders.spider import Spider
from p2pcrawl.wire.messages.codec import FrameReader, encode
from p2pcrawl.wire.messages.slave_messages import Page, Report, RobotsTask, Task
from tests.unit.slave.tasks import FakeLink, task_of

BODY = b'<title>t</title><a href="/1">1</a><a href="/2">2</a>'


def open_fence() -> Fence:
    """Makes a fence that never closes."""
    return Fence(0.0, 0.0, lambda: None)


class FakeFetcher:
    """Gives one answer, or raises one error, whatever is asked."""

    def __init__(self, result: Answer | Exception) -> None:
        self.result = result

    async def fetch(self, request: Request, *, cut: int | None = None) -> Answer:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


@asynccontextmanager
async def opened(
    spider: type[Spider], result: Answer | Exception | None = None, **settings: Any
) -> AsyncIterator[JobRun]:
    """A run of a spider that obeys no robots.txt, and is given this whatever it asks for."""
    fetcher = FakeFetcher(result or answer_of())
    its = Settings().updated({"robotstxt_obey": False, **settings})
    run = JobRun(spider, {}, its, Networks(), lambda *_: nullcontext(fetcher))
    await run.open()
    run.learn_rules("http://a.example", "allow", "", "")
    try:
        yield run
    finally:
        await run.close()


def answer_of(status: int = 200, body: bytes = BODY) -> Answer:
    return Answer("http://a.example/", status, {"Content-Type": "text/html"}, body, 0.1, "93.184.216.34")


async def pages_of(
    spider: type[Spider], result: Answer | Exception, task: Task | None = None, **settings: Any
) -> list[Page]:
    link = FakeLink()
    outbox = Outbox(link)
    async with opened(spider, result, **settings) as run:
        await run.work(task or task_of(), outbox, open_fence())
    outbox.flush()
    assert not link.closed
    return [page for report in link.reports for page in report.pages]


class Plain(Spider):
    name = "plain"

    def parse(self, response: Any) -> Any:
        yield {"title": response.title}
        yield response.follow_all()


def raising(error: BaseException) -> type[Spider]:
    class Raising(Spider):
        name = "raising"

        def parse(self, response: Any) -> Any:
            yield {"before": 1}
            raise error

    return Raising


async def test_page_is_reported_with_its_items_its_links_and_its_end() -> None:
    (page,) = await pages_of(Plain, answer_of())

    assert page.items == [b'{"title":"t"}']
    assert page.links[0].urls == ["http://a.example/1", "http://a.example/2"]
    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.status, page.outcome.size) == (Phase.DONE, 200, len(BODY))


async def test_page_that_raises_keeps_what_it_had_yielded_and_its_traceback() -> None:
    (page,) = await pages_of(raising(ValueError("of no use")), answer_of())

    assert page.items == [b'{"before":1}']
    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.reason) == (Phase.FAILED, Failure.CALLBACK)
    assert "ValueError: of no use" in page.outcome.detail


class NoException(BaseException):
    """An error of a library that wants to be caught by nobody."""


@pytest.mark.parametrize(
    "error", [SystemExit(3), NoException(), asyncio.CancelledError(), BaseExceptionGroup("two", [SystemExit(1)])]
)
async def test_whatever_a_callback_raises_fails_its_page_alone(error: BaseException) -> None:
    (page,) = await pages_of(raising(error), answer_of())

    assert page.items == [b'{"before":1}']
    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.reason) == (Phase.FAILED, Failure.CALLBACK)
    assert type(error).__name__ in page.outcome.detail


async def test_callback_that_awaits_what_was_cancelled_fails_its_page() -> None:
    class Awaiting(Spider):
        name = "awaiting"

        async def parse(self, response: Any) -> Any:
            other = asyncio.ensure_future(asyncio.Event().wait())
            other.cancel()
            await other

    (page,) = await pages_of(Awaiting, answer_of())

    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.reason) == (Phase.FAILED, Failure.CALLBACK)


async def test_callback_whose_task_is_cancelled_is_no_failure_of_its_page() -> None:
    begun = asyncio.Event()

    class Waiting(Spider):
        name = "waiting"

        async def parse(self, response: Any) -> Any:
            begun.set()
            await asyncio.Event().wait()

    working = asyncio.create_task(pages_of(Waiting, answer_of()))
    await begun.wait()
    working.cancel()

    with pytest.raises(asyncio.CancelledError):
        await working


@pytest.mark.parametrize(
    "message",
    ["half a character \ud800", "\udcff" * 100_000, "x" * 10_000_000],
    ids=["half-a-character", "many-halves", "long"],
)
async def test_message_of_an_error_cannot_block_the_reports(message: str) -> None:
    (page,) = await pages_of(raising(ValueError(message)), answer_of())

    assert page.outcome is not None
    assert page.outcome.reason == Failure.CALLBACK
    assert len(page.outcome.detail) <= DETAIL_MAX + 10


@pytest.mark.parametrize(
    ("error", "phase", "reason"),
    [
        (IgnoreRequest("not this"), Phase.DROPPED, "ignored"),
        (Blocked("10.0.0.1 is private"), Phase.DROPPED, "private-network"),
        (FetchError(Failure.CONNECT, "refused"), Phase.QUEUED, "connect"),
        (FetchError(Failure.TLS, "bad certificate \udc80"), Phase.FAILED, "tls"),
        (RuntimeError("a component failed"), Phase.FAILED, "callback"),
    ],
)
async def test_every_way_not_to_get_an_answer_has_its_phase_and_reason(
    error: Exception, phase: Phase, reason: str
) -> None:
    (page,) = await pages_of(Plain, error)

    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.reason) == (phase, reason)


async def test_last_attempt_is_not_followed_by_another() -> None:
    (page,) = await pages_of(Plain, FetchError(Failure.CONNECT, "refused"), task_of(attempt=3))

    assert page.outcome is not None
    assert page.outcome.phase == Phase.FAILED


async def test_host_that_asks_for_patience_is_given_it() -> None:
    error = StatusError(Failure.HTTP_429, answer_of(429))
    error.retry_after_s = 7.0

    (page,) = await pages_of(Plain, error)

    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.slow_down, page.outcome.host_pause_s) == (Phase.QUEUED, True, 7.0)


async def test_host_that_asks_for_patience_without_end_is_told_in_a_message_that_can_be_read() -> None:
    busy = Answer("http://a.example/", 503, {"Retry-After": "9" * 5000}, b"", 0.1, "93.184.216.34")

    pages = await pages_of(Plain, StatusError(Failure.HTTP_5XX, busy))

    assert list(FrameReader().feed(encode(Report(1, pages)))) == [Report(1, pages)]


async def test_redirect_is_done_and_leads_to_a_new_request() -> None:
    (page,) = await pages_of(Plain, Redirected(Request("http://b.example/new"), 301))

    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.reason, page.outcome.status) == (Phase.DONE, "redirect", 301)
    assert [links.urls for links in page.links] == [["http://b.example/new"]]


async def test_page_with_very_many_links_is_sent_in_parts_with_the_end_last() -> None:
    body = b"".join(b'<a href="/%d">x</a>' % n for n in range(4 * PART_LINKS))

    pages = await pages_of(Plain, answer_of(body=body))

    assert len(pages) >= 4
    assert [page.outcome is None for page in pages] == [True] * (len(pages) - 1) + [False]
    assert sum(len(links.urls) for page in pages for links in page.links) == 4 * PART_LINKS
    assert max(len(links.urls) for page in pages for links in page.links) <= PART_LINKS


async def test_page_with_very_many_parts_waits_until_they_are_acknowledged() -> None:
    class Many(Spider):
        name = "many"

        def parse(self, response: Any) -> Any:
            yield response.follow_all([f"/{n}" for n in range(20 * PART_LINKS)])

    link = FakeLink()
    outbox = Outbox(link)
    seen: list[int] = []
    async with opened(Many) as run:
        working = asyncio.create_task(run.work(task_of(), outbox, open_fence()))
        while not working.done():
            for _ in range(100):
                await asyncio.sleep(0)
            outbox.flush()
            seen.append(sum(len(report.pages) for report in link.reports) - sum(seen))
            outbox.acknowledged(link.reports[-1].sequence)

    assert max(seen) <= PARTS_AHEAD + 1
    assert sum(len(report.pages) for report in link.reports) == 21


async def test_page_that_is_tried_again_sends_no_parts_so_that_it_is_whole_if_its_session_ends() -> None:
    body = b"".join(b'<a href="/%d">x</a>' % n for n in range(4 * PART_LINKS))

    pages = await pages_of(Plain, answer_of(body=body), task_of(attempt=2))

    assert len(pages) == 1
    assert pages[0].outcome is not None


async def test_item_that_is_too_large_fails_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage_module, "ITEM_MAX", 10)

    (page,) = await pages_of(Plain, answer_of())

    assert page.outcome is not None
    assert "over the limit" in page.outcome.detail


@pytest.mark.parametrize("cluster", [True, False])
async def test_page_with_more_items_than_copies_can_carry_fails_in_a_cluster_and_keeps_the_rest(
    monkeypatch: pytest.MonkeyPatch, cluster: bool
) -> None:
    class Many(Spider):
        name = "many"

        def parse(self, response: Any) -> Any:
            for _ in range(10):
                yield {"text": "x" * 100}

    monkeypatch.setattr(harvest_module, "UNPACKED_MAX", 550)
    link = FakeLink()
    orphanage = Orphanage() if cluster else None
    outbox = Outbox(link, orphanage=orphanage)  # type: ignore[arg-type]

    async with opened(Many) as run:
        await run.work(task_of(), outbox, open_fence())
    outbox.flush()

    ((page,),) = [report.pages for report in link.reports]
    assert page.outcome is not None
    assert len(page.items) == (4 if cluster else 10)
    assert ("the items of one page may have" in page.outcome.detail) == cluster


async def test_spider_may_end_the_crawl() -> None:
    (page,) = await pages_of(raising(CloseSpider("enough")), answer_of())

    assert page.items == [b'{"before":1}']
    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.close) == (Phase.DONE, "enough")


class Failing(Spider):
    name = "failing"

    def start(self) -> Any:  # type: ignore[override]
        raise ValueError("no list of pages")


async def test_start_that_raises_at_once_fails_instead_of_ending_the_slave() -> None:
    (page,) = await pages_of(Failing, answer_of(), task_of(f"{START_URL}1"))

    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.reason) == (Phase.FAILED, Failure.CALLBACK)


class Two(Spider):
    name = "two"

    def parse(self, response: Any) -> Any:
        yield {"n": 1}
        yield {"n": 2}
        yield response.follow("/next")


class Choosy:
    """Drops, or fails at, the first item."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def process_item(self, item: Any, spider: Any) -> Any:
        if item["n"] == 1:
            raise self.error
        return item


class Refusing(Choosy):
    def __init__(self) -> None:
        super().__init__(ValueError("no one"))


class DroppingOne(Choosy):
    def __init__(self) -> None:
        super().__init__(DropItem("not one"))


class Listening(Two):
    """Notes the signals of items."""

    noted: ClassVar[list[str]] = []

    @classmethod
    def from_crawler(cls, crawler: Any, *arguments: Any, **named: Any) -> Any:
        spider = super().from_crawler(crawler, *arguments, **named)
        for signal, handler in (
            (item_scraped, spider.scraped),
            (item_dropped, spider.dropped),
            (item_error, spider.failed),
        ):
            crawler.signals.connect(handler, signal=signal)
        return spider

    def scraped(self, item: Any, response: Any, spider: Any) -> None:
        self.noted.append(f"scraped {item['n']} of {response.url}")

    def dropped(self, item: Any, exception: Exception) -> None:
        self.noted.append(f"dropped {item['n']}: {exception}")

    def failed(self, item: Any, failure: Any) -> None:
        self.noted.append(f"failed {item['n']}: {failure.getErrorMessage()}")


@pytest.mark.parametrize(
    ("pipeline", "told"), [("Refusing", "failed 1: no one"), ("DroppingOne", "dropped 1: not one")]
)
async def test_item_that_is_not_to_be_had_is_lost_alone_and_told_of(pipeline: str, told: str) -> None:
    Listening.noted.clear()

    (page,) = await pages_of(Listening, answer_of(), item_pipelines={f"{__file__}:{pipeline}": 1})

    assert page.items == [b'{"n":2}'] and page.links[0].urls == ["http://a.example/next"]
    assert Listening.noted == [told, "scraped 2 of http://a.example/"]


async def test_page_whose_item_failed_is_a_failed_one_that_says_where() -> None:
    (page,) = await pages_of(Two, answer_of(), item_pipelines={f"{__file__}:Refusing": 1})

    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.reason) == (Phase.FAILED, Failure.ITEM)
    assert page.outcome.detail.startswith("1 of its items failed, the first so:\nTraceback")
    assert "ValueError: no one" in page.outcome.detail


async def test_reasons_of_dropped_items_are_told_once_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    async with opened(Two, item_pipelines={f"{__file__}:Dropping": 1}) as run:
        await run.work(task_of(), Outbox(FakeLink()), open_fence())
        assert run.handle.stats.get_value("item_dropped_reasons_count/DropItem") == 2

    told = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert [line.split("dropped")[0] for line in told] == ["an item of http://a.example/ was ", "2 items were "]


class Dropping:
    def process_item(self, item: Any, spider: Any) -> Any:
        raise DropItem


async def test_dropped_items_are_counted() -> None:
    (page,) = await pages_of(Plain, answer_of(), item_pipelines={f"{__file__}:Dropping": 1})

    assert page.items == []
    assert page.outcome is not None
    assert page.outcome.dropped_items == 1


async def test_callback_that_waits_for_ever_fails_its_page_and_keeps_what_it_yielded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounds_module, "TIMINGS", replace(TIMINGS, silence_min_s=0.01))

    class Waiting(Spider):
        name = "waiting"

        async def parse(self, response: Any) -> Any:
            yield {"before": 1}
            await asyncio.Event().wait()

    (page,) = await pages_of(Waiting, answer_of(), slave_silence=0.01)

    assert page.items == [b'{"before":1}']
    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.reason) == (Phase.FAILED, Failure.CALLBACK)
    assert "TimeoutError" in page.outcome.detail
    assert "await asyncio.Event().wait()" in page.outcome.detail


class Endless:
    async def process_item(self, item: Any) -> Any:
        await asyncio.Event().wait()


async def test_pipeline_that_waits_for_ever_fails_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds_module, "TIMINGS", replace(TIMINGS, silence_min_s=0.01))
    pipelines = {f"{__file__}:Endless": 1}

    (page,) = await pages_of(Plain, answer_of(), slave_silence=0.01, item_pipelines=pipelines)

    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.reason) == (Phase.FAILED, Failure.ITEM)


async def test_requests_of_a_start_that_waits_do_not_wait_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    told = asyncio.Event()

    class Waiting(Spider):
        name = "waiting"

        async def start(self) -> Any:
            yield Request("http://a.example/")
            await told.wait()
            yield Request("http://b.example/")

    class Hearing(FakeLink):
        def send(self, message: Any) -> int:
            told.set()
            return super().send(message)

    monkeypatch.setattr(start_module, "EARLY_S", 0.01)
    run = JobRun(Waiting, {}, Settings(), Networks())
    link = Hearing()
    outbox = Outbox(link)  # type: ignore[arg-type]

    await asyncio.wait_for(run.work(task_of(f"{START_URL}1"), outbox, open_fence()), 30.0)
    outbox.flush()

    early, last = [page for report in link.reports for page in report.pages]
    assert (early.outcome, [url for links in early.links for url in links.urls]) == (None, ["http://a.example/"])
    assert last.outcome is not None
    assert [url for links in last.links for url in links.urls] == ["http://b.example/"]


async def test_start_may_wait_for_as_long_as_it_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Feeding(Spider):
        name = "feeding"

        async def start(self) -> Any:
            yield Request("http://a.example/")

    patience: list[float | None] = []
    timeout = asyncio.timeout
    monkeypatch.setattr(asyncio, "timeout", lambda delay: patience.append(delay) or timeout(delay))
    await pages_of(Feeding, answer_of(), task_of(f"{START_URL}1"))

    assert set(patience) == {None}


@pytest.mark.parametrize(
    "change",
    [
        {"url": "nonsense"},
        {"url": ""},
        {"url": "gopher://a.example/"},
        {"kind": "odd"},
        {"extra": b"\xc1"},
        {"extra": b"\x81\xa1a\x01"},
        {"extra": b"\x81\xa6method\x01"},
    ],
)
async def test_task_that_is_no_request_is_put_aside_and_ends_nobody(change: dict[str, Any]) -> None:
    (page,) = await pages_of(Plain, answer_of(), task_of(**change))

    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.reason) == (Phase.DROPPED, "invalid")
    assert page.outcome.detail


async def test_robots_txt_of_what_is_no_origin_is_nothing_to_obey() -> None:
    async with opened(Plain) as run:
        result = await run.robots(RobotsTask(1, 1, "nonsense"), None, open_fence())

    assert result.verdict == "allow"
    assert "nonsense" in result.reason


async def test_robots_txt_whose_reason_is_no_text_can_be_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fetch(*arguments: Any, **options: Any) -> RobotsText:
        return RobotsText("disallow", "", "bad header \udc80")

    monkeypatch.setattr(run_module, "fetch_robots", fetch)
    link = FakeLink()
    outbox = Outbox(link)

    async with opened(Plain) as run:
        outbox.put_robots(await run.robots(RobotsTask(1, 1, "http://a.example"), None, open_fence()))
    outbox.flush()

    assert link.reports[0].robots[0].verdict == "disallow"


class Told(Spider):
    name = "told"

    def failed(self, failure: Any) -> Any:
        yield {"failed": type(failure.value).__name__, "url": failure.request.url, "answer": failure.response is None}
        yield Request("http://a.example/instead")


ROBOTS_DOWN = RobotsText("disallow", reason="no answer")
ROBOTS_FORBID = RobotsText("rules", "User-agent: *\nDisallow: /")


@pytest.mark.parametrize(
    ("robots", "phase", "reason"),
    [(ROBOTS_DOWN, Phase.FAILED, "robots-unreachable"), (ROBOTS_FORBID, Phase.DROPPED, "robots")],
)
async def test_errback_hears_of_what_robots_txt_keeps_out(robots: RobotsText, phase: Phase, reason: str) -> None:
    link, extra = FakeLink(), packed_request(Request("http://a.example/", errback="failed"))
    outbox = Outbox(link)
    async with opened(Told, robotstxt_obey=True) as run:
        run.learn_rules("http://a.example", robots.verdict, robots.body, robots.reason)
        await run.work(task_of(extra=extra), outbox, open_fence())
    outbox.flush()
    (page,) = link.reports[0].pages

    assert page.items == [b'{"failed":"Disallowed","url":"http://a.example/","answer":true}']
    assert page.links[0].urls == ["http://a.example/instead"]
    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.reason) == (phase, reason)


@pytest.mark.parametrize("error", [Blocked("a private network"), IgnoreRequest("not wanted")])
async def test_errback_hears_of_what_is_left_out(error: Exception) -> None:
    extra = packed_request(Request("http://a.example/", errback="failed"))

    (page,) = await pages_of(Told, error, task_of(extra=extra))

    assert page.items[0].startswith(f'{{"failed":"{type(error).__name__}"'.encode())
    assert page.outcome is not None
    assert page.outcome.phase == Phase.DROPPED


async def test_errback_finds_the_answer_at_the_error_too() -> None:
    class Looks(Spider):
        name = "looks"

        def failed(self, failure: Any) -> Any:
            yield {"status": failure.value.response.status}

    extra = packed_request(Request("http://a.example/", errback="failed"))

    (page,) = await pages_of(Looks, answer_of(404), task_of(extra=extra))

    assert page.items == [b'{"status":404}']


async def test_answer_that_is_for_nobody_ends_its_page() -> None:
    (page,) = await pages_of(Plain, answer_of(), task_of(callback="NO_CALLBACK"))

    assert page.outcome is not None
    assert (page.outcome.phase, page.items, page.links) == (Phase.DONE, [], [])


# -- usage signals ----------------------------------------------------------------------------------


async def test_page_that_may_not_be_used_is_dropped_with_its_answer_and_without_items() -> None:
    answer = replace(answer_of(), headers={"Content-Type": "text/html", "Content-Usage": "train-ai=n"})

    (page,) = await pages_of(Plain, answer, purpose="ai-train")

    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.reason) == (Phase.DROPPED, "content-usage")
    assert page.outcome.detail == "its site forbids ai-train: Content-Usage: train-ai=n (header)"
    assert page.outcome.answered and page.outcome.status == 200
    assert page.items == [] and page.links == []


async def test_errback_hears_of_a_page_that_may_not_be_used_and_does_not_get_it() -> None:
    answer = replace(answer_of(), headers={"Content-Type": "text/html", "X-Robots-Tag": "noai"})
    extra = packed_request(Request("http://a.example/", errback="failed"))

    class Peeks(Spider):
        name = "peeks"

        def failed(self, failure: Any) -> Any:
            yield {"value": failure.value.answer, "response": failure.response}

    (page,) = await pages_of(Peeks, answer, task_of(extra=extra), purpose="ai-input")

    assert page.items == [b'{"value":null,"response":null}']
    assert page.outcome is not None
    assert (page.outcome.reason, page.outcome.status) == ("robots-tag", 200)


async def test_marked_page_is_counted_and_its_items_say_what_its_site_says() -> None:
    answer = replace(answer_of(), headers={"Content-Type": "text/html", "Content-Usage": "train-ai=n"})
    settings = {"purpose": "ai-train", "purpose_forbidden": "mark", "usage_field": "usage"}

    (page,) = await pages_of(Plain, answer, **settings)

    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.marked) == (Phase.DONE, "content-usage")
    assert page.items == [b'{"title":"t","usage":{"ai-train":false,"said":["Content-Usage: train-ai=n (header)"]}}']


async def test_field_that_an_item_has_itself_is_left_alone() -> None:
    class Own(Spider):
        def parse(self, response: Any) -> Any:
            yield {"usage": "mine"}
            yield {"deep": {"usage": dict(response.usage)}}

    (page,) = await pages_of(Own, answer_of(), usage_field="usage")

    assert page.items == [b'{"usage":"mine"}', b'{"deep":{"usage":{}},"usage":{}}']


async def test_spider_is_told_of_the_end_by_closed_or_by_its_own_close() -> None:
    told = []

    class Closed(Spider):
        def closed(self, reason: str) -> None:
            told.append(("closed", reason))

    class Own(Spider):
        def close(self, reason: str) -> None:  # type: ignore[override]
            told.append(("own", reason))

    class Static(Spider):
        @staticmethod
        async def close(spider: Spider, reason: str) -> None:
            told.append((spider.name, reason))

    for cls in (Closed, Own, Static):
        async with opened(cls):
            pass

    assert told == [("closed", "finished"), ("own", "finished"), ("static", "finished")]


async def test_meta_that_does_nothing_is_told(caplog: pytest.LogCaptureFixture) -> None:
    class Slots(Spider):
        def parse(self, response: Any) -> Any:
            yield response.follow("/x", meta={"download_slot": "a"})
            yield response.follow("/y", meta={"download_slot": "b"})

    await pages_of(Slots, answer_of())

    assert [message for message in caplog.messages if "has no effect" in message] == [
        "meta['download_slot'] has no effect; pace is by host: DOWNLOAD_DELAY, CONCURRENT_REQUESTS_PER_DOMAIN, and "
        "what each host asks for"
    ]


class ByPath:
    """Knows pages by their paths alone; made as components are."""

    @classmethod
    def from_crawler(cls, crawler: Any) -> ByPath:
        assert crawler.settings.getbool("COOKIES_ENABLED")
        return cls()

    def fingerprint(self, request: Request) -> bytes:
        return request.url.partition("?")[0].encode()


async def test_fingerprinter_that_the_settings_name_decides_which_links_are_one_page() -> None:
    class Links(Spider):
        name = "links"

        def parse(self, response: Any) -> Any:
            yield response.follow("/1?a")
            yield response.follow("/1?b")

    (page,) = await pages_of(Links, answer_of(), request_fingerprinter_class=f"{__file__}:ByPath")

    assert [url for columns in page.links for url in columns.urls] == ["http://a.example/1?a"]


async def test_page_that_its_cache_has_is_not_asked_for_and_says_so(tmp_path: Path) -> None:
    settings = {"httpcache_enabled": True, "httpcache_dir": str(tmp_path)}
    (first,) = await pages_of(Plain, answer_of(), **settings)

    (second,) = await pages_of(Plain, FetchError(Failure.CONNECT, "nobody is there"), **settings)

    assert first.outcome is not None
    assert second.outcome is not None
    assert (second.items, second.outcome.digest) == (first.items, first.outcome.digest)
    told = [(each.outcome.unasked, each.outcome.answered) for each in (first, second) if each.outcome is not None]
    assert told == [(False, True), (True, False)]
    assert (second.outcome.phase, second.outcome.latency_s) == (Phase.DONE, 0.0)


async def test_cache_is_left_out_by_the_name_that_people_know(tmp_path: Path) -> None:
    left_out = {"scrapy.downloadermiddlewares.httpcache.HttpCacheMiddleware": None}
    settings = {"httpcache_enabled": True, "httpcache_dir": str(tmp_path), "downloader_middlewares": left_out}

    for _ in range(2):
        (page,) = await pages_of(Plain, answer_of(), **settings)

        assert page.outcome is not None
        assert not page.outcome.unasked


async def test_hits_are_counted_where_spiders_look(tmp_path: Path) -> None:
    async with opened(Plain, httpcache_enabled=True, httpcache_dir=str(tmp_path)) as run:
        for _ in range(3):
            await run.work(task_of(), Outbox(FakeLink()), open_fence())

        counts = run.handle.stats.get_stats()

    assert (counts["httpcache/miss"], counts["httpcache/store"], counts["httpcache/hit"]) == (1, 1, 2)


async def test_robots_txt_that_the_cache_has_says_so(tmp_path: Path) -> None:
    settings = {"robotstxt_obey": True, "httpcache_enabled": True, "httpcache_dir": str(tmp_path)}
    async with opened(Plain, answer_of(body=b"User-agent: *"), **settings) as run:
        task = RobotsTask(1, 7, "http://a.example", 0.0)
        results = [await run.robots(task, None, open_fence()) for _ in range(2)]

    assert [result.unasked for result in results] == [False, True]
    assert results[0].body == results[1].body


class Idle(Plain):
    """Answers the question whether its job is to end."""

    name = "idle"
    answer: Any = None
    queues = ""

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Any:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.on_idle, spider_idle)
        return spider

    def on_idle(self) -> None:
        if self.queues:
            self.crawler.engine.crawl(Request(self.queues))
        if self.answer is not None:
            raise self.answer


@pytest.mark.parametrize(
    ("answer", "queues", "end"),
    [
        (None, "", (Phase.DONE, "", 0.0)),
        (DontCloseSpider(), "", (Phase.QUEUED, "", run_module.IDLE_AGAIN_S)),
        (DontCloseSpider(), "http://a.example/more", (Phase.DONE, "", 0.0)),
        (CloseSpider("enough"), "", (Phase.DONE, "enough", 0.0)),
        (ValueError("odd"), "", (Phase.DONE, "", 0.0)),
    ],
    ids=["nothing", "not-yet", "not-yet-with-work", "enough", "fails"],
)
async def test_idle_job_ends_unless_a_handler_wants_it_to_go_on(answer: Any, queues: str, end: Any) -> None:
    spider = type("Asked", (Idle,), {"answer": answer, "queues": queues})

    (page,) = await pages_of(spider, answer_of(), task_of(idle_url(1, 5)))

    assert page.outcome is not None
    assert (page.outcome.phase, page.outcome.close, page.outcome.retry_in_s) == end
    assert page.outcome.reason == "idle"
    assert page.outcome.stats == {"!idle": 1}
    assert [url for links in page.links for url in links.urls] == ([queues] if queues else [])


async def test_handler_of_an_empty_queue_is_asked_when_the_job_is_idle_and_may_queue_more() -> None:
    class Filled(Plain):
        @classmethod
        def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Any:
            spider = super().from_crawler(crawler, *args, **kwargs)
            crawler.signals.connect(spider.fill, scheduler_empty)
            return spider

        def fill(self) -> None:
            self.crawler.engine.crawl(Request("http://a.example/more"))

    (page,) = await pages_of(Filled, answer_of(), task_of(idle_url(1, 5)))

    assert page.outcome is not None and page.outcome.stats == {"!idle": 1}
    assert [url for links in page.links for url in links.urls] == ["http://a.example/more"]
