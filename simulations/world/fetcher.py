"""A slave's way to the simulated web."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextvars import copy_context
from typing import Protocol, Self

from multidict import CIMultiDict

from p2pcrawl.fetch.connection.fetcher import OpenFetcher
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure

from ..kernel.life import current_life
from ..kernel.loop import SimLoop
from .web import Host, Reply, Visit

_FAILURES = {
    "refused": Failure.CONNECT,
    "reset": Failure.LOST_CONNECTION,
    "silence": Failure.FIRST_BYTE_TIMEOUT,
}

WorksFor = Callable[[], str]


class AnyWeb(Protocol):
    """A web as fetchers need it."""

    visits: list[Visit]

    @property
    def hosts(self) -> Mapping[str, Host]: ...

    def reply(self, url: str, now_s: float = 0.0, condition: str = "") -> Reply: ...


class SimFetcher:
    """A Fetcher. What it has open when its process dies ends there, as the web sees it."""

    def __init__(
        self, web: AnyWeb, loop: SimLoop, settings: Settings, networks: Networks, works_for: WorksFor | None
    ) -> None:
        self._web = web
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
        body = reply.body if cut is None else reply.body[:cut]
        return Answer(request.url, reply.status, CIMultiDict(reply.headers), body, takes_s, reply.ip)

    def _note(self, visit: Visit) -> None:
        what = f"{visit.url}: {visit.failure or visit.status} after {visit.ended_s - visit.began_s:.2f} s"
        self._loop.network.log.add(self._loop.now, visit.node, what)


def fetchers(web: AnyWeb, loop: SimLoop, works_for: WorksFor | None = None) -> OpenFetcher:
    """Makes what a slave opens in place of its HTTP client. ``works_for`` names its master, if that is another node."""

    def open_fetcher(settings: Settings, networks: Networks) -> SimFetcher:
        return SimFetcher(web, loop, settings, networks, works_for)

    return open_fetcher


def _cut(visit: Visit, now: float) -> None:
    if now < visit.ended_s:
        visit.ended_s, visit.status, visit.failure = now, 0, "cut"


def _settle(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
