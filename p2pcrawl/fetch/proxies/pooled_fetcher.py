"""The fetcher that goes through a pool of proxies, never past it.

It stands between the chain of components and the network, so all that a job asks for goes this way, robots.txt too.
A request that names its own proxy in ``meta["proxy"]`` (or none, by an empty one) has it.

A proxy that cannot be used costs the host nothing, so the next one is tried at once. What did reach the host (a ban, an
answer that never came) ends the attempt: the next one comes when the host's delay is over, as any other request.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from time import monotonic
from typing import Final

import aiohttp

from p2pcrawl.core.hosts.retry_after import retry_after_s
from p2pcrawl.core.proxies.proxy_standing import ProxyStanding
from p2pcrawl.fetch.connection.fetcher import Fetcher
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.fetch.connection.socks import SocksRefused
from p2pcrawl.fetch.proxies.bans import BanSigns
from p2pcrawl.fetch.proxies.keeper import ProxyKeeper
from p2pcrawl.fetch.proxies.proxy_sources import ProxySources
from p2pcrawl.fetch.proxies.verifier import ProxyVerifier
from p2pcrawl.model.choosing.proxy_stickiness import ProxyStickiness
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure
from p2pcrawl.model.redaction import redacted

log = logging.getLogger(__name__)

TRIES_MAX: Final = 5
"""Proxies that an attempt goes through until one can be used."""
_UNUSABLE: Final = frozenset({Failure.PROXY, Failure.CONNECT, Failure.CONNECT_TIMEOUT, Failure.DNS, Failure.NO_NAME})
_ON_THE_WAY: Final = frozenset(
    {
        *(Failure.FIRST_BYTE_TIMEOUT, Failure.TOTAL_TIMEOUT, Failure.LOST_CONNECTION, Failure.PROTOCOL, Failure.TLS),
        *(Failure.BAD_ENCODING,),
    }
)


class PooledFetcher:
    """Fetches through the proxies that a keeper has."""

    def __init__(self, settings: Settings, fetcher: Fetcher, keeper: ProxyKeeper, bans: BanSigns) -> None:
        self._fetcher = fetcher
        self._keeper = keeper
        self._bans = bans
        self._stickiness = settings.proxy_sticky
        self._attempts = settings.proxy_retry_times
        self._patience_s = 2 * settings.proxy_check_timeout + settings.connect_timeout
        self._draw = random.Random().randrange

    async def fetch(self, request: Request, *, cut: int | None = None) -> Answer:
        """Fetches ``request`` through a proxy. Raises FetchError, of the kind PROXY when no proxy could be used or the
        answer did not come through, BANNED when the host keeps the proxy out; and what the fetcher beneath raises.
        """
        if "proxy" in request.meta:
            return await self._fetcher.fetch(request, cut=cut)
        host, tried = host_of(request.url), list[ProxyStanding]()
        sticky = self._sticky(request, host)
        while len(tried) < TRIES_MAX:
            standing = await self._chosen(host, sticky, tried)
            answer = await self._through(standing, request, host, cut)
            if answer is not None:
                return self._judged(standing, request, host, sticky, answer)
            tried.append(standing)
        raise FetchError(Failure.PROXY, f"{len(tried)} proxies, one after the other, could not be used")

    async def _chosen(self, host: str, sticky: str, tried: list[ProxyStanding]) -> ProxyStanding:
        if not await self._keeper.live(self._patience_s):
            raise FetchError(Failure.PROXY, f"none of {len(self._keeper.roster)} proxies can be used")
        standing = self._keeper.roster.choose(host, sticky, monotonic(), self._draw, tried)
        if standing is None:
            kind = Failure.PROXY if tried else Failure.BANNED
            raise FetchError(kind, f"all {self._keeper.roster.live} proxies rest for {host}")
        return standing

    async def _through(self, standing: ProxyStanding, request: Request, host: str, cut: int | None) -> Answer | None:
        """Asks through one proxy; returns None when that could not be used."""
        roster = self._keeper.roster
        standing.open += 1
        request.meta["proxy"] = standing.url
        try:
            answer = await self._fetcher.fetch(request, cut=cut)
        except FetchError as error:
            if error.kind in _UNUSABLE:
                if _refused_tunnel(error):
                    roster.failed(standing, host, monotonic())
                else:
                    roster.broken(standing, monotonic())
                log.debug("the proxy %s could not be used: %s", redacted(standing.url), error)
                return None
            if error.kind in _ON_THE_WAY:
                roster.failed(standing, host, monotonic())
                told = f"{error} (through {redacted(standing.url)})"
                raise FetchError(Failure.PROXY, told) from error
            raise
        finally:
            standing.open -= 1
            request.meta.pop("proxy", None)
        if answer.status == 407:
            roster.broken(standing, monotonic())
            return None
        return answer

    def _judged(self, standing: ProxyStanding, request: Request, host: str, sticky: str, answer: Answer) -> Answer:
        roster = self._keeper.roster
        why = self._bans.seen(request, answer)
        if not why:
            roster.worked(standing, host, answer.latency_s)
            return answer
        wished_s = retry_after_s(answer.headers, datetime.now(UTC)) or 0.0
        rest_s = roster.banned(standing, host, monotonic(), wished_s)
        if sticky:
            roster.forget(sticky)
        log.debug("%s keeps %s out: %s; it rests for %.0f s", host, redacted(standing.url), why, rest_s)
        if int(request.meta.get("retry_times") or 0) >= self._attempts:
            # It is the same through so many that it may be what the page is.
            return answer
        raise FetchError(Failure.BANNED, f"{host} keeps the proxy {redacted(standing.url)} out: {why}")

    def _sticky(self, request: Request, host: str) -> str:
        if self._stickiness is ProxyStickiness.HOST:
            return f"host {host}"
        if self._stickiness is ProxyStickiness.NONE or not request.meta:
            return ""
        name = request.meta.get("session", request.meta.get("cookiejar"))
        return f"session {name}" if name is not None else ""


def _refused_tunnel(error: FetchError) -> bool:
    """Tells whether the proxy was there and would not, or could not, go on to the host."""
    cause = error.__cause__
    if isinstance(cause, SocksRefused):
        return True
    return isinstance(cause, aiohttp.ClientHttpProxyError) and cause.status != 407


@asynccontextmanager
async def proxy_pool(settings: Settings, fetcher: Fetcher, networks: Networks) -> AsyncIterator[PooledFetcher]:
    """Keeps a pool as settings ask for, and goes through it. Raises ConfigurationError for sources that are none."""
    candidates = ProxySources(settings.proxy_pool, fetcher, networks, settings.user_agent)
    keeper = ProxyKeeper(settings, candidates, ProxyVerifier(settings, fetcher))
    pooled = PooledFetcher(settings, fetcher, keeper, BanSigns(settings))
    keeping = asyncio.create_task(keeper.run())
    keeping.add_done_callback(_told_of)
    try:
        yield pooled
    finally:
        keeping.cancel()
        await asyncio.wait([keeping])


def _told_of(keeping: asyncio.Task[None]) -> None:
    if not keeping.cancelled() and (error := keeping.exception()) is not None:
        log.error("the pool of proxies is kept no more", exc_info=error)
