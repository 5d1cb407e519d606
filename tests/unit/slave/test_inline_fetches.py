"""Fetches in the middle of a callback have the place of its page: at its host, after its delay, in its session."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from time import monotonic
from typing import Any

import pytest

from p2pcrawl import Request, Spider
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.job import START_URL
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import NotSupported
from p2pcrawl.slave.link.fence import Fence, SessionExpired
from p2pcrawl.slave.link.outbox import Outbox
from p2pcrawl.slave.work.job_run import JobRun
from p2pcrawl.wire.messages.slave_messages import Task
from tests.unit.slave.media_crawls import Site
from tests.unit.slave.tasks import FakeLink, task_of

PAGE, MORE, OTHER = "http://a.example/", "http://a.example/more", "http://b.example/"


class TimedSite(Site):
    """Notes when each request began and ended."""

    def __init__(self) -> None:
        super().__init__({PAGE: b"page", MORE: b"more", OTHER: b"other"})
        self.times: list[tuple[float, float]] = []

    async def fetch(self, request: Request, *, cut: int | None = None) -> Answer:
        began = asyncio.get_running_loop().time()
        await asyncio.sleep(0.01)
        self.times.append((began, asyncio.get_running_loop().time()))
        return await super().fetch(request, cut=cut)


async def work(spider: type[Spider], site: Site, task: Task, fence: Fence | None = None) -> FakeLink:
    settings = Settings().updated({"robotstxt_obey": False})
    run = JobRun(spider, {}, settings, Networks(), lambda *_: nullcontext(site))  # type: ignore[arg-type]
    await run.open()
    link = FakeLink()
    outbox = Outbox(link)
    try:
        await run.work(task, outbox, fence or Fence(0.0, 0.0, lambda: None))
    finally:
        outbox.flush()
        await run.close()
    return link


class Asking(Spider):
    """Asks for a few pages while it has one in hand, and tells what came of each."""

    urls: tuple[str, ...] = (MORE,)

    async def asked(self, url: str) -> str:
        try:
            return (await self.crawler.engine.download(Request(url))).text
        except NotSupported as error:
            return str(error)

    async def parse(self, response: Any) -> Any:
        for answer in await asyncio.gather(*map(self.asked, self.urls)):
            yield {"answer": answer}


async def test_host_is_asked_by_one_at_a_time_after_its_delay() -> None:
    class Twice(Asking):
        urls = (MORE, MORE)

    site = TimedSite()

    await work(Twice, site, task_of(PAGE, delay_s=0.05))

    assert site.asked == [PAGE, MORE, MORE]
    assert all(began >= ended + 0.049 for (_, ended), (began, _) in zip(site.times, site.times[1:], strict=False))


async def test_other_hosts_are_asked_by_requests_only() -> None:
    class Elsewhere(Asking):
        urls = (OTHER, MORE)

    site = TimedSite()

    link = await work(Elsewhere, site, task_of(PAGE))

    refused, had = [item for report in link.reports for page in report.pages for item in page.items]
    assert b"asks the host of the page in hand (a.example) and no other" in refused and had == b'{"answer":"more"}'
    assert site.asked == [PAGE, MORE]


async def test_redirect_to_another_host_is_not_followed() -> None:
    site = TimedSite()
    site.answers[MORE] = Answer(MORE, 302, {"Location": OTHER}, b"", 0.1)

    await work(Asking, site, task_of(PAGE))

    assert site.asked == [PAGE, MORE]


async def test_nothing_is_asked_where_no_page_is_in_hand() -> None:
    told: list[str] = []

    class Early(Asking):
        async def start(self) -> Any:
            told.append(await self.asked(MORE))
            yield Request(PAGE)

    class Late(Asking):
        async def parse(self, response: Any) -> Any:
            self.later = asyncio.create_task(self.asked_later())
            yield {}

        async def asked_later(self) -> None:
            await asyncio.sleep(0.02)
            told.append(await self.asked(MORE))

        async def closed(self, reason: str) -> None:
            await self.later

    site = TimedSite()

    await work(Early, site, task_of(START_URL + "1"))
    await work(Late, site, task_of(PAGE))

    assert ["is for callbacks of pages" in told[0], "the page of this one is over" in told[1]] == [True, True]
    assert site.asked == [PAGE]


async def test_fetch_ends_with_its_session_and_its_page_is_another_slaves() -> None:
    class Slow(Site):
        async def fetch(self, request: Request, *, cut: int | None = None) -> Answer:
            if request.url == MORE:
                fence.close()
                await asyncio.Event().wait()
            return await super().fetch(request, cut=cut)

    fence = Fence(60.0, monotonic(), lambda: None)

    with pytest.raises(SessionExpired):
        await work(Asking, Slow({PAGE: b"page"}), task_of(PAGE), fence)
