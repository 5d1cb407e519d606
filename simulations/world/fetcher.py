"""A slave's way to the simulated web."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import Callable, Mapping
from contextvars import copy_context
from pathlib import Path
from typing import Protocol, Self

from multidict import CIMultiDict

from p2pcrawl.fetch.connection.fetcher import OpenFetcher
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.raw_page import RawPage
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure
from p2pcrawl.private.folders import sync_folder
from p2pcrawl.stores.warc.warc_file import ENDING
from p2pcrawl.stores.warc.warc_records import pack_page

from ..kernel.life import current_life
from ..kernel.loop import SimLoop
from .web import Host, Reply, Visit

_FAILURES = {
    "refused": Failure.CONNECT,
    "reset": Failure.LOST_CONNECTION,
    "silence": Failure.FIRST_BYTE_TIMEOUT,
}

WorksFor = Callable[[], str]


class RawFolder:
    """Keeps the answers that one machine gets, in WARC records of the product, a file for each of its lives.

    The product keeps them where its HTTP client is, which is no part of a simulation.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, request: Request, reply: Reply, began_s: float, life: int) -> None:
        """Writes an answer; it is synced when this returns."""
        headers = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
        head = f"HTTP/1.1 {reply.status} Told\r\n{headers}\r\n".encode()
        page = RawPage(
            request.url, request.method, began_s, reply.ip, f"{request.method} / HTTP/1.1\r\n\r\n".encode(),
            request.body, reply.status, reply.headers.get("Content-Type", ""), False, head, reply.body, "",
        )  # fmt: skip
        packed = pack_page(page, hashlib.sha1(page.body, usedforsecurity=False).digest(), None)
        path = self.folder / f"life-{life}{ENDING}"
        is_new = not path.exists()
        self.folder.mkdir(exist_ok=True)
        with open(path, "ab") as file:
            file.write(packed.answer + packed.request)
            file.flush()
            os.fsync(file.fileno())
        if is_new:
            sync_folder(self.folder)
            sync_folder(self.folder.parent)


class AnyWeb(Protocol):
    """A web as fetchers need it."""

    visits: list[Visit]

    @property
    def hosts(self) -> Mapping[str, Host]: ...

    def reply(self, url: str, now_s: float = 0.0, condition: str = "") -> Reply: ...


class SimFetcher:
    """A Fetcher. What it has open when its process dies ends there, as the web sees it."""

    def __init__(
        self,
        web: AnyWeb,
        loop: SimLoop,
        settings: Settings,
        networks: Networks,
        works_for: WorksFor | None,
        raw_pages: RawFolder | None,
    ) -> None:
        self._web = web
        self._raw_pages = raw_pages
        self._loop = loop
        self._works_for = works_for
        self._settings = settings
        self._networks = networks
        self._job = settings.user_agent.partition("(")[2].rstrip(")")
        """By its label, which is in the user agent of all but the run's own."""
        self._open: dict[int, Visit] = {}

    async def __aenter__(self) -> Self:
        current_life().opened.append(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Cuts all open visits: the process, or its part that crawls, is no more."""
        for visit in self._open.values():
            _cut(visit, self._loop.now)
            self._note(visit)
        self._open.clear()

    async def fetch(self, request: Request, *, cut: int | None = None) -> Answer:
        loop, life = self._loop, current_life()
        if (there := self._web.hosts.get(host_of(request.url))) is not None:
            self._networks.check(there.ip, host=there.name)
        reply = self._web.reply(request.url, loop.now, request.headers.get("If-None-Match") or "")
        takes_s = self._settings.first_byte_timeout if reply.failure == "silence" else reply.takes_s
        host = request.url.split("/", 3)[2]
        retry_after_s = reply.retry_after_s
        visit = Visit(
            request.url, host, life.node.name, life.number, loop.now, loop.now + takes_s, reply.status, reply.failure,
            retry_after_s, self._works_for() if self._works_for is not None else life.node.name, self._job,
        )  # fmt: skip
        self._web.visits.append(visit)
        self._open[id(visit)] = visit
        done: asyncio.Future[None] = loop.create_future()
        # The host takes its time by the world's clock, whatever ours says.
        loop.node_at(visit.ended_s, copy_context(), _settle, done)
        try:
            await done
        except asyncio.CancelledError:
            _cut(visit, loop.now)
            raise
        finally:
            if self._open.pop(id(visit), None) is not None:
                self._note(visit)
        if reply.failure:
            raise FetchError(_FAILURES[reply.failure], reply.failure)
        if self._raw_pages is not None:
            self._raw_pages.keep(request, reply, time.time() - takes_s, life.number)
        body = reply.body if cut is None else reply.body[:cut]
        return Answer(request.url, reply.status, CIMultiDict(reply.headers), body, takes_s, reply.ip)

    def _note(self, visit: Visit) -> None:
        what = f"{visit.url}: {visit.failure or visit.status} after {visit.ended_s - visit.began_s:.2f} s"
        self._loop.network.log.add(self._loop.now, visit.node, what)


def fetchers(
    web: AnyWeb, loop: SimLoop, works_for: WorksFor | None = None, *, raw_pages: RawFolder | None = None
) -> OpenFetcher:
    """Makes what a slave opens in place of its HTTP client. ``works_for`` names its master, if that is another node;
    ``raw_pages`` keeps what it is answered.
    """

    def open_fetcher(settings: Settings, networks: Networks) -> SimFetcher:
        return SimFetcher(web, loop, settings, networks, works_for, raw_pages)

    return open_fetcher


def _cut(visit: Visit, now: float) -> None:
    if now < visit.ended_s:
        visit.ended_s, visit.status, visit.failure = now, 0, "cut"


def _settle(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
