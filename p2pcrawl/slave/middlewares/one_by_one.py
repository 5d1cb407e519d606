"""The base of spider middlewares that look at requests and items one by one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, Self

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.page.response import Response


class BaseSpiderMiddleware:
    """Passes on all that callbacks and the start yield. Override :meth:`get_processed_request` and
    :meth:`get_processed_item` to change it or leave it out.
    """

    def __init__(self, crawler: CrawlHandle) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: CrawlHandle) -> Self:
        return cls(crawler)

    def process_start_requests(self, start: Iterable[Any], spider: Any) -> Iterator[Any]:
        """Yields what the start of a spider comes to, where that is plain."""
        yield from self._passed(start, None)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yields what the start of a spider comes to."""
        async for each in start:
            for passed in self._passed((each,), None):
                yield passed

    def process_spider_output(self, response: Response, result: Iterable[Any]) -> Iterator[Any]:
        """Yields what a plain callback comes to."""
        yield from self._passed(result, response)

    async def process_spider_output_async(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yields what an async callback comes to."""
        async for each in result:
            for passed in self._passed((each,), response):
                yield passed

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        """Returns the request to go on with; None: it is left out. ``response`` is None at the start."""
        return request

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        """Returns the item to go on with; None: it is left out. ``response`` is None at the start."""
        return item

    def _passed(self, things: Iterable[Any], response: Response | None) -> Iterator[Any]:
        for thing in things:
            is_request = isinstance(thing, Request)
            made = (self.get_processed_request if is_request else self.get_processed_item)(thing, response)
            if made is not None:
                yield made
