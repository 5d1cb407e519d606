"""Fetches in the middle of a callback: ``await crawler.engine.download(request)``.

They pass the guard, robots.txt and the chain like a page. Their host's turn is the master's, who does not know of them:
so one at a time is made to a host, each as long after the last one as the crawl's delay, beside what the master grants.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, Final

from p2pcrawl.fetch.components.chain import Redirected
from p2pcrawl.fetch.components.status import StatusError
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.url import host_of, origin_of
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure
from p2pcrawl.slave.middlewares.peoples import Requeued, seen_response

HOSTS_MAX: Final = 10_000


class InlineFetches:
    """``run`` fetches through the chain, and raises ``missing`` where robots.txt is to be read first, by ``read``.
    ``delay_of`` tells the seconds to keep between two fetches of a host.
    """

    def __init__(
        self,
        run: Callable[[Request], Awaitable[Answer]],
        missing: type[Exception],
        read: Callable[[str], Awaitable[None]],
        delay_of: Callable[[str], float],
        redirects_max: int,
    ) -> None:
        self._run = run
        self._missing = missing
        self._read = read
        self._delay_of = delay_of
        self._redirects_max = redirects_max
        self._turns: OrderedDict[str, _HostTurn] = OrderedDict()

    async def fetch(self, request: Request) -> Any:
        """Fetches a request and follows its redirects. Returns the response, whatever its status; raises FetchError and
        IgnoreRequest.
        """
        for _ in range(self._redirects_max + 1):
            try:
                async with self._turn_of(host_of(request.url)):
                    answer = await self._fetched(request)
                return seen_response(answer, request)
            except Redirected as redirected:
                request = redirected.request
            except Requeued as requeued:
                request = requeued.request
            except StatusError as error:
                return seen_response(error.answer, request)
        raise FetchError(Failure.BAD_REDIRECT, f"led elsewhere more than {self._redirects_max} times")

    async def _fetched(self, request: Request) -> Answer:
        try:
            return await self._run(request)
        except self._missing:
            await self._read(origin_of(request.url))
            return await self._run(request)

    def _turn_of(self, host: str) -> _HostTurn:
        turn = self._turns.get(host)
        if turn is None:
            turn = self._turns[host] = _HostTurn()
            if len(self._turns) > HOSTS_MAX:
                self._turns.popitem(last=False)
        turn.delay_s = self._delay_of(host)
        return turn


class _HostTurn:
    """One host's: entered by one at a time, and no sooner than its delay after the last one has left."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._free_at = 0.0
        self.delay_s = 0.0

    async def __aenter__(self) -> None:
        await self._lock.acquire()
        try:
            await asyncio.sleep(self._free_at - asyncio.get_running_loop().time())
        except BaseException:
            self._lock.release()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._free_at = asyncio.get_running_loop().time() + self.delay_s
        self._lock.release()
