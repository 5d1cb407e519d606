"""Fetches in the middle of a callback: ``await crawler.engine.download(request)``.

They are made in the place of the page in hand. A page's lease is the right to one place at its host until its report:
where the host has a delay, nobody else asks it before that, and elsewhere the page holds one of its places. So what a
callback fetches from that host, one at a time and each after the delay, is as polite as the page, by nothing that the
master has to know. Other hosts have other turns: a callback cannot wait for these, and a Request can.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from typing import Any, TypeVar

from p2pcrawl.fetch.components.chain import Redirected
from p2pcrawl.fetch.components.status import StatusError
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.url import host_of, origin_of
from p2pcrawl.model.errors import FetchError, NotSupported
from p2pcrawl.model.outcome import Failure
from p2pcrawl.slave.link.fence import Fence
from p2pcrawl.slave.middlewares.peoples import Requeued, seen_response

Answered = TypeVar("Answered")


class HostPlace:
    """The place of one page at its host: for one request at a time, each ``delay_s`` after the last answer."""

    def __init__(self, host: str, delay_s: float, fence: Fence) -> None:
        self.host = host
        self._fence = fence
        self.is_over = False
        """The page is reported, or about to be: its place is another's."""
        self._delay_s = delay_s
        self._lock = asyncio.Lock()
        self._free_at = 0.0

    def answered(self) -> None:
        """Counts the delay from now."""
        self._free_at = asyncio.get_running_loop().time() + self._delay_s

    async def __aenter__(self) -> None:
        await self._lock.acquire()
        try:
            await self.held(self.pause())
        except BaseException:
            self._lock.release()
            raise

    async def __aexit__(self, *_: object) -> None:
        self.answered()
        self._lock.release()

    async def held(self, fetch: Coroutine[Any, Any, Answered]) -> Answered:
        """Awaits a fetch, as long as the session lasts. Raises SessionExpired when it ends."""
        return await self._fence.guard(fetch)

    async def pause(self) -> None:
        """Waits until the host may be asked. Raises NotSupported when the page is over by then."""
        await asyncio.sleep(self._free_at - asyncio.get_running_loop().time())
        if self.is_over:
            raise NotSupported("engine.download is for callbacks, and the page of this one is over: yield a Request")


PLACE: ContextVar[HostPlace | None] = ContextVar("PLACE", default=None)
"""The place of the page that the running task works on."""


class InlineFetches:
    """``run`` fetches through the chain, and raises ``missing`` where robots.txt is to be read first, by ``read``,
    which is given what to await before each redirect.
    """

    def __init__(
        self,
        run: Callable[[Request], Awaitable[Answer]],
        missing: type[Exception],
        read: Callable[[str, Callable[[str], Awaitable[None]]], Awaitable[None]],
        redirects_max: int,
    ) -> None:
        self._run = run
        self._missing = missing
        self._read = read
        self._redirects_max = redirects_max

    async def fetch(self, request: Request) -> Any:
        """Fetches a request of the page's host and follows its redirects. Returns the response, whatever its status;
        raises FetchError and IgnoreRequest, and NotSupported for another host.
        """
        for _ in range(self._redirects_max + 1):
            place = _place_for(request)
            try:
                async with place:
                    answer = await place.held(self._fetched(request, place))
                return seen_response(answer, request)
            except Redirected as redirected:
                request = redirected.request
            except Requeued as requeued:
                request = requeued.request
            except StatusError as error:
                return seen_response(error.answer, request)
        raise FetchError(Failure.BAD_REDIRECT, f"led elsewhere more than {self._redirects_max} times")

    async def _fetched(self, request: Request, place: HostPlace) -> Answer:
        async def pause(host: str) -> None:
            if host != place.host:
                raise NotSupported(f"robots.txt of {place.host} is redirected to {host}: yield a Request")
            place.answered()
            await place.pause()

        try:
            return await self._run(request)
        except self._missing:
            await self._read(origin_of(request.url), pause)
            await pause(place.host)
            return await self._run(request)


def _place_for(request: Request) -> HostPlace:
    place, host = PLACE.get(), host_of(request.url)
    if place is None:
        raise NotSupported("engine.download is for callbacks of pages: yield a Request")
    if host != place.host:
        raise NotSupported(
            f"engine.download asks the host of the page in hand ({place.host}) and no other, for {host} has turns of"
            " its own: yield a Request with a callback"
        )
    return place
