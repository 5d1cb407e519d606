"""The hooks of one job in one slave: its extensions, its engine, and what is announced."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.slave.hooks.announcing import Announcing
from p2pcrawl.slave.hooks.engine_handle import EngineHandle
from p2pcrawl.slave.hooks.own_lines import formatter_of
from p2pcrawl.slave.middlewares.assembly import peoples
from p2pcrawl.slave.middlewares.peoples import seen_response
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.hooks.signal_names import (
    request_left_downloader,
    request_reached_downloader,
    response_downloaded,
    spider_closed,
)


class RunHooks:
    """``download_one`` fetches in the middle of a callback; ``close_job`` asks the master to end the job."""

    def __init__(
        self,
        handle: CrawlHandle,
        settings: Settings,
        download_one: Callable[[Request], Awaitable[Any]],
        close_job: Callable[[str], None],
    ) -> None:
        self._handle = handle
        handle.engine = self.engine = EngineHandle(handle, download_one, close_job)
        handle.logformatter = formatter_of(handle)
        handle.parts["addon"] = [addon for _, addon in peoples(settings.addons, handle)]
        handle.parts["extension"] = [extension for _, extension in peoples(settings.extensions, handle)]
        # Spiders define it with a spider or without one.
        handle.signals.connect(handle.spider.close, spider_closed, weak=False)
        self.announcing = Announcing(handle)

    async def fetched(self, request: Request, fetch: Callable[[Request], Awaitable[Answer]]) -> Answer:
        """Fetches a request, and tells those who listen."""
        signals, spider = self._handle.signals, self._handle.spider
        if signals.has(request_reached_downloader):
            await signals.send(request_reached_downloader, request=request, spider=spider)
        try:
            answer = await fetch(request)
        finally:
            if signals.has(request_left_downloader):
                await signals.send(request_left_downloader, request=request, spider=spider)
        if signals.has(response_downloaded):
            response = seen_response(answer, request)
            await signals.send(response_downloaded, response=response, request=request, spider=spider)
        return answer
