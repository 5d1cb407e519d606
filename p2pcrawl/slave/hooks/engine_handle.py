"""The engine, as people's components see it in one slave."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle

PENDING_MAX: Final = 10_000
"""Requests that may wait for a page that they are reported with."""


class EngineHandle:
    """``download_one`` fetches a request at once; ``close`` asks the master to end the job."""

    def __init__(
        self,
        handle: CrawlHandle,
        download_one: Callable[[Request], Awaitable[Any]],
        close: Callable[[str], None],
    ) -> None:
        self._handle = handle
        self._download_one = download_one
        self._close = close
        self.pending: deque[Request] = deque()

    @property
    def spider(self) -> Any:
        return self._handle.spider

    def crawl(self, request: Request, spider: Any = None) -> None:
        """Queues a request. It is reported, and durable, with the next page that ends in this slave. Raises
        OverflowError when too many wait for one.
        """
        if not isinstance(request, Request):
            raise TypeError(f"what is crawled is a Request, not {request!r:.80}")
        if len(self.pending) >= PENDING_MAX:
            raise OverflowError(f"{PENDING_MAX} requests wait already: yield them from a callback")
        self.pending.append(request)

    def close_spider(self, spider: Any = None, reason: str = "cancelled") -> None:
        """Ends the whole job, after what is in flight, for this reason."""
        self._close(str(reason))

    async def close_spider_async(self, *, reason: str = "cancelled") -> None:
        """Does as :meth:`close_spider`."""
        self._close(str(reason))

    async def download(self, request: Request, spider: Any = None) -> Any:
        """Fetches a request at once, and returns its response, whatever its status. Raises what a fetch raises, and
        IgnoreRequest where robots.txt forbids it.

        It is no record of the crawl: it is neither filtered nor counted nor tried again.
        """
        return await self._download_one(request)

    async def download_async(self, request: Request) -> Any:
        """Does as :meth:`download`."""
        return await self._download_one(request)
