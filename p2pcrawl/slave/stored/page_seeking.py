"""The questions of a slave about stored pages: which there are, and each of them, wherever in the cluster it is.

An answer comes in the order in which it was found, so each question has a number. When the session ends nobody
answers any more: whatever waits fails then, for its page is begun again under another session.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count

from p2pcrawl.fetch.connection.fetcher import OpenFetcher
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import FetchError, P2PCrawlError
from p2pcrawl.model.outcome import Failure
from p2pcrawl.slave.stored.stored_fetcher import StoredFetcher
from p2pcrawl.stores.warc.page_index import StoredPage
from p2pcrawl.wire.messages.slave_messages import LinksTold, PageTold, SeekLinks, SeekPage

Told = LinksTold | PageTold


class PageSeeking:
    """``send`` sends a question to the master of the session. Give each answer to :meth:`told`."""

    def __init__(self, send: Callable[[SeekLinks | SeekPage], None]) -> None:
        self._send = send
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[Told]] = {}

    def told(self, message: Told) -> None:
        """Takes an answer. One that nobody waits for any more is dropped."""
        waiting = self._waiting.get(message.number)
        if waiting is not None and not waiting.done():
            waiting.set_result(message)

    def over(self) -> None:
        """Fails what waits: the session has ended."""
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(FetchError(Failure.RAW_PAGE_AWAY, "the session with the master has ended"))

    async def links(self, job: int, of: int) -> AsyncIterator[list[Link]]:
        """Yields the links whose pages the job ``of`` has had, in parts, for another ``job``. Raises
        P2PCrawlError where that cannot be told.
        """
        again = True
        while True:
            told = await self._ask(SeekLinks(next(self._numbers), job, of, again))
            assert isinstance(told, LinksTold)
            if told.trouble:
                raise P2PCrawlError(told.trouble)
            if not told.links:
                return
            yield told.links
            again = False

    async def page(self, job: int, key: bytes, limit: int) -> StoredPage | None:
        """Returns the last raw page of a request; None where it is stored nowhere. Raises FetchError where a machine is
        away that may have it, and for one that cannot be read.
        """
        first = await self._piece(SeekPage(next(self._numbers), job, key, limit))
        if not first.at:
            return None
        body = bytearray(first.body)
        while len(body) < first.size:
            more = await self._piece(SeekPage(next(self._numbers), job, key, limit, first.at, len(body)))
            if not more.body or more.size != first.size:
                raise FetchError(Failure.NOT_STORED, "its raw page has changed while it was read")
            body += more.body
        return StoredPage(first.url, first.status, first.head, bytes(body), first.truncated)

    def opener(self, job: int) -> OpenFetcher:
        """Returns what opens the fetcher of a job that reads stored pages."""

        @asynccontextmanager
        async def opened(settings: Settings, networks: Networks) -> AsyncIterator[StoredFetcher]:
            yield StoredFetcher(lambda key, limit: self.page(job, key, limit), settings)

        return opened

    async def _piece(self, question: SeekPage) -> PageTold:
        told = await self._ask(question)
        assert isinstance(told, PageTold)
        if told.trouble:
            raise FetchError(Failure.RAW_PAGE_AWAY if told.away else Failure.NOT_STORED, told.trouble)
        return told

    async def _ask(self, question: SeekLinks | SeekPage) -> Told:
        waiting: asyncio.Future[Told] = asyncio.get_running_loop().create_future()
        self._waiting[question.number] = waiting
        try:
            self._send(question)
            return await waiting
        finally:
            del self._waiting[question.number]
