"""One HTTP fetch, on aiohttp: no redirects followed, no cookies kept, every limit enforced.

This is the hottest path of the shell. aiohttp's own time limits, inflating and cookie jar are
switched off where a cheaper or stricter way exists here.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self, cast

import aiohttp
from aiohttp import HttpVersion, HttpVersion10, HttpVersion11
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from p2pcrawl.fetch.connection.dial import Dialer
from p2pcrawl.fetch.connection.failures import fetch_error
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.fetch.connection.inflate import ACCEPT_ENCODING, inflate, inflate_prefix
from p2pcrawl.fetch.connection.patience import Patience, Standstill
from p2pcrawl.fetch.connection.raw_pages import RawPages, RecordedResponse, RecordingConnection, raw_page
from p2pcrawl.fetch.connection.round_trip import CountingConnection, LimitedResponse
from p2pcrawl.fetch.connection.socks import SocksRequest
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure

_PLAIN_URL: Final = re.compile(r"https?://[!-~]+\Z").match
"""Nothing in it needs quoting: it is sent as it was found."""
_HEADERS_MAX: Final = 256
_FOR_PROXY: Final = "Proxy-Authorization"
_PROTOCOLS: Final[dict[HttpVersion | None, str]] = {HttpVersion10: "HTTP/1.0", HttpVersion11: "HTTP/1.1"}


class HttpClient:
    """Fetches pages over pooled connections; an async context manager.

    How many requests are open at once is the caller's business. ``raw_pages`` is given each answer as it came, before
    anybody hears of it.
    """

    def __init__(self, settings: Settings, networks: Networks, *, raw_pages: RawPages | None = None) -> None:
        self.settings = settings
        self._raw_pages = raw_pages
        self._clock = Standstill()
        self._response_class, line = (
            (LimitedResponse, CountingConnection) if raw_pages is None else (RecordedResponse, RecordingConnection)
        )
        self._dialer = Dialer(settings, networks, self._clock, line)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        settings = self.settings
        self._clock.start()
        self._session = aiohttp.ClientSession(
            connector=self._dialer.connector(),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={
                "User-Agent": settings.user_agent,
                "Accept-Encoding": ACCEPT_ENCODING if settings.compression_enabled else "identity",
            },
            auto_decompress=False,
            # Our own do not count the time in which the loop stood still.
            timeout=aiohttp.ClientTimeout(total=None),
            request_class=SocksRequest,
            response_class=self._response_class.limited(
                settings.first_byte_timeout, settings.header_maxsize, self._dialer, self._clock
            ),
            max_line_size=settings.header_maxsize,
            max_field_size=settings.header_maxsize,
            max_headers=_HEADERS_MAX,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes all connections; a fetch that is under way fails."""
        session, self._session = self._session, None
        self._clock.stop()
        if session is not None:
            await session.close()
        await self._dialer.close()

    async def fetch(self, request: Request, *, cut: int | None = None) -> Answer:
        """Fetches ``request``. Returns the answer, whatever its status, with its body inflated.

        ``cut``: take so many bytes of the body and leave the rest, in place of failing for a body that is too large.
        ``meta`` may hold download_timeout, download_maxsize and proxy.

        Raises FetchError with the kind of the failure, or Blocked when the address is out of bounds; StorageError when
        the raw page cannot be kept. A cancelled fetch leaves no connection behind.
        """
        session = self._session
        if session is None:
            raise RuntimeError("the client is not open: use it in `async with`")
        meta = request.meta
        limit = self.settings.download_maxsize
        options: dict[str, Any] = {}
        target_ip = ""
        response: LimitedResponse | None = None
        began_at = time.time()
        try:
            target = _target(request.url)
            if meta:
                limit = int(meta.get("download_maxsize") or limit)
                options, target_ip = await self._options(meta, target)
            headers = CIMultiDict(request.headers.lines)
            if _FOR_PROXY in headers:
                headers = _without_proxys(headers, target, options)
            if request.body:
                options["data"] = request.body
            with Patience(self._clock, float(meta.get("download_timeout") or self.settings.download_timeout)):
                response = cast(
                    LimitedResponse,
                    await session.request(request.method, target, headers=headers, allow_redirects=False, **options),
                )
                await _receive(response, limit, cut)
            body = _inflated(response, limit, cut)
            received = _as_inflated(response.headers) if body else response.headers
        except Exception as error:
            failure = fetch_error(error)
            if response is not None and self._raw_pages is not None:
                page = raw_page(request, response, began_at, error, proxied="proxy" in options)
                await self._raw_pages.keep(page)
            if failure is None:
                raise
            raise failure from error
        finally:
            if response is not None and not response.closed:
                response.close()
        if self._raw_pages is not None:
            await self._raw_pages.keep(raw_page(request, response, began_at, None, proxied="proxy" in options))
        return Answer(
            request.url,
            response.status,
            received,
            body,
            response.latency_s,
            # Never the proxy's own: a host is not private because the proxy is.
            target_ip if "proxy" in options else response.ip,
            tuple(received.getall("Set-Cookie", ())),
            protocol=_PROTOCOLS.get(response.version, ""),
        )

    async def _options(self, meta: Mapping[str, Any], target: URL) -> tuple[dict[str, Any], str]:
        """Returns options for the session; and the target's address when it is asked through a proxy."""
        options: dict[str, Any] = {}
        ip = ""
        if meta.get("proxy"):
            options["proxy"] = meta["proxy"]
            ip = await self._dialer.check_target(target)
        return options, ip


def _without_proxys(headers: CIMultiDict[str], target: URL, options: dict[str, Any]) -> CIMultiDict[str]:
    """Returns the headers without what is the proxy's alone: a host gets it neither through a tunnel nor without a
    proxy.
    """
    proxied = bool(options.get("proxy"))
    if proxied and target.scheme == "http":
        return headers
    held = headers.popall(_FOR_PROXY)
    if proxied:
        options["proxy_headers"] = {_FOR_PROXY: held[-1]}
    return headers


def _target(url: str) -> URL:
    return URL(url, encoded=True) if _PLAIN_URL(url) else URL(url)


async def _receive(response: LimitedResponse, limit: int, cut: int | None) -> None:
    """Reads the body into ``response.transferred``. What is over the limit is never read."""
    announced = response.headers.get("Content-Length")
    content = response.content
    if cut is None and announced is not None and not content.at_eof() and int(announced) > limit:
        raise FetchError(Failure.TOO_LARGE, f"the body has {announced} bytes, over the limit of {limit}")
    enough = limit if cut is None else cut
    response.transferred = body = await content.readany()
    if not content.at_eof() and len(body) <= enough:
        # Pieces may be as small as a byte, so they are not kept apart.
        response.transferred = gathered = bytearray(body)
        while len(gathered) <= enough and (piece := await content.readany()):
            gathered += piece
    if cut is None and len(response.transferred) > limit:
        raise FetchError(Failure.TOO_LARGE, f"the body is over the limit of {limit} bytes")


def _as_inflated(headers: CIMultiDictProxy[str]) -> CIMultiDictProxy[str] | CIMultiDict[str]:
    """Returns the headers without what is not so any more: people's code would inflate the body once more."""
    if "Content-Encoding" not in headers:
        return headers
    inflated = headers.copy()
    inflated.popall("Content-Encoding")
    return inflated


def _inflated(response: LimitedResponse, limit: int, cut: int | None) -> bytes:
    """Returns the body without its content codings."""
    body, headers = bytes(response.transferred), response.headers
    encoding = ",".join(headers.getall("Content-Encoding")) if "Content-Encoding" in headers else ""
    if cut is not None:
        body = inflate_prefix(body, encoding, cut) if encoding else body
        return body[:cut]
    return inflate(body, encoding, limit) if encoding else body
