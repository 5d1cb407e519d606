"""The signals of one job in one slave as they are sent, and the stats that go with them."""

from __future__ import annotations

import logging
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import CloseSpider, DontCloseSpider, IgnoreRequest
from p2pcrawl.spiders.failure import PageFailure
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.hooks.signal_names import (
    engine_started,
    engine_stopped,
    request_dropped,
    request_scheduled,
    response_received,
    scheduler_empty,
    spider_closed,
    spider_error,
    spider_idle,
    spider_opened,
)

log = logging.getLogger(__name__)


class Announcing:
    """Tells a crawl's handlers what happens in its slave. Without handlers nothing but counting is done."""

    def __init__(self, handle: CrawlHandle) -> None:
        self._handle = handle
        self._signals, self._stats = handle.signals, handle.stats
        self._is_open = False
        self._told_listening = False

    async def opened(self) -> None:
        self._is_open = True
        self._stats.set_here("start_time", datetime.now(UTC))
        await self._signals.send(engine_started)
        await self._signals.send(spider_opened, spider=self._handle.spider)

    def listening(self) -> None:
        """Has the job hear, with the next page, that handlers of its idleness are here, if there are any."""
        if not self._told_listening and (self._signals.has(spider_idle) or self._signals.has(scheduler_empty)):
            self._told_listening = True
            self._stats.tell_listening()

    async def idle(self) -> tuple[bool, str]:
        """Says that nothing is left of the job. Returns whether a handler wants it to go on all the same, and the
        reason for which one wants it to end.
        """
        await self._signals.send(scheduler_empty)
        told = await self._signals.send(spider_idle, spider=self._handle.spider)
        reasons = [result.reason for _, result in told if isinstance(result, CloseSpider)]
        return any(isinstance(result, DontCloseSpider) for _, result in told), next(iter(reasons), "")

    async def closed(self, reason: str) -> None:
        """Says that the spider is closed here, if it was opened."""
        if not self._is_open:
            return
        self._is_open = False
        now, stats = datetime.now(UTC), self._stats
        stats.set_here("finish_time", now)
        stats.set_here("elapsed_time_seconds", (now - stats.get_value("start_time", now)).total_seconds())
        stats.set_here("finish_reason", reason)
        await self._signals.send(spider_closed, spider=self._handle.spider, reason=reason)
        await self._signals.send(engine_stopped)
        await self._signals.settle()

    async def received(self, request: Request, response: Any) -> None:
        """Says that a response is on its way to its callback."""
        self._stats.count_here("response_received_count")
        if self._signals.has(response_received):
            facts = {"response": response, "request": request, "spider": self._handle.spider}
            await self._signals.send(response_received, **facts)

    def raised(self, error: BaseException, request: Request | None, response: Any) -> None:
        """Says that a callback raised."""
        stats = self._stats
        stats.count_here("spider_exceptions/count")
        stats.count_here(f"spider_exceptions/{type(error).__name__}")
        if self._signals.has(spider_error):
            failure = PageFailure(request, error, response)  # type: ignore[arg-type]
            self._signals.send_catch_log(spider_error, failure=failure, response=response, spider=self._handle.spider)

    @property
    def hears_requests(self) -> bool:
        """True if anybody wants to hear of single requests."""
        return self._signals.has(request_scheduled) or self._signals.has(request_dropped)

    async def scheduled(self, request: Request) -> bool:
        """Says that a request was yielded. Returns False where a handler wants it to be left out."""
        told = await self._signals.send(request_scheduled, request=request, spider=self._handle.spider)
        if any(isinstance(result, IgnoreRequest) for _, result in told):
            await self.dropped(request)
            return False
        return True

    async def dropped(self, request: Request) -> None:
        """Says that a request was filtered here."""
        await self._signals.send(request_dropped, request=request, spider=self._handle.spider)

    def gathered(self, links: int, filtered: Counter[str]) -> None:
        """Counts what a page led to."""
        stats = self._stats
        stats.count_here("scheduler/dequeued")
        if links:
            stats.count_here("scheduler/enqueued", links)
        for reason, count in filtered.items():
            stats.count_here(_FILTERED.get(reason, f"filtered/{reason}"), count)


_FILTERED = {
    "seen": "dupefilter/filtered",
    "offsite": "offsite/filtered",
    "depth": "depth/filtered",
    "url-length": "urllength/request_ignored_count",
}
