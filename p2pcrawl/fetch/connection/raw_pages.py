"""Raw pages as they are made of an exchange over aiohttp, and the port to whoever keeps them.

The head of the request is the one that was sent, that of the answer the one that came, byte by byte. The body is as it
was transferred, with its content codings, but without the framing of chunks: its ``Transfer-Encoding`` is therefore
told under the name of ``X-Crawler-Transfer-Encoding``, so that nobody looks for chunks.

Where aiohttp ends a head elsewhere than at its first empty line, which is no HTTP, the head is put together from what
aiohttp makes of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol

import aiohttp

from p2pcrawl.fetch.connection.round_trip import CountingConnection, LimitedResponse
from p2pcrawl.model.crawl.raw_page import RawPage, Truncated
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure

if TYPE_CHECKING:
    from aiohttp.connector import Connection

_HEAD_END: Final = re.compile(rb"\n\r?\n").search
_INTERIM: Final = re.compile(rb"\s*\Z|HTTP/\d\.\d 1(?!01)\d\d").match
"""Answers before the answer, and empty lines before it."""
_CHUNKS: Final = re.compile(rb"(?im)^transfer-encoding(?=[ \t]*:)")
_HIDDEN: Final = b"X-Crawler-Transfer-Encoding"


class RawPages(Protocol):
    """Keeps raw pages."""

    async def keep(self, page: RawPage) -> None:
        """Returns when the page is where no death of this process takes it away. Raises StorageError when that cannot
        be: the page must not count as fetched then.
        """
        ...


class RecordingConnection(CountingConnection):
    """A connection that also keeps the head of each answer as it comes."""

    _head = b""
    _coming: bytearray | None = None

    def begin(self, head_maxsize: int) -> bool:
        self._coming, self._head = bytearray(), b""
        return super().begin(head_maxsize)

    def take_head(self) -> bytes:
        """Returns the head of the answer; what comes from now on is none. b"" where it has no end."""
        head, self._head, self._coming = self._head, b"", None
        return head

    def data_received(self, data: bytes) -> None:
        if self._coming is not None:
            self._look_for_head(self._coming, data)
        super().data_received(data)

    def _look_for_head(self, coming: bytearray, data: bytes) -> None:
        looked_at = max(0, len(coming) - 2)
        coming += data
        while end := _HEAD_END(coming, looked_at):
            head = bytes(coming[: end.end()])
            if not _INTERIM(head):
                self._head, self._coming = head, None
                return
            del coming[: len(head)]
            looked_at = 0


class RecordedResponse(LimitedResponse):
    """An answer that knows its head byte by byte."""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        line = connection.protocol
        await super().start(connection)
        # At once: when the answer is complete the connection is another's.
        if isinstance(line, RecordingConnection):
            self.received_head = line.take_head()
        return self


def raw_page(
    request: Request, response: LimitedResponse, began_at: float, error: Exception | None, *, proxied: bool
) -> RawPage:
    """Builds the raw page of an answer, or of as much as came of it before ``error``."""
    asked, headers = response.request_info, response.headers
    return RawPage(
        url=str(asked.url),
        method=request.method,
        began_at=began_at,
        ip="" if proxied else response.ip,
        request_head=_request_head(response, proxied and asked.url.scheme == "http"),
        request_body=request.body,
        status=response.status,
        content_type=headers.get("Content-Type", ""),
        is_encoded="Content-Encoding" in headers,
        head=_CHUNKS.sub(_HIDDEN, response.received_head or _told_head(response)),
        body=response.transferred,
        truncated="" if response.content.at_eof() else _why(error),
    )


def _why(error: Exception | None) -> Truncated:
    if isinstance(error, TimeoutError):
        return "time"
    if error is None or (isinstance(error, FetchError) and error.kind is Failure.TOO_LARGE):
        return "length"
    return "disconnect"


def _request_head(response: LimitedResponse, absolute: bool) -> bytes:
    asked = response.request_info
    target = str(asked.url) if absolute else asked.url.raw_path_qs
    lines = [f"{asked.method} {target} HTTP/1.1"]
    lines.extend(f"{name}: {value}" for name, value in asked.headers.items())
    return "\r\n".join([*lines, "", ""]).encode()


def _told_head(response: LimitedResponse) -> bytes:
    version = response.version
    major, minor = (version.major, version.minor) if version is not None else (1, 1)
    status = f"HTTP/{major}.{minor} {response.status} {response.reason or ''}"
    lines = [status.encode("utf-8", "surrogateescape"), *(b": ".join(header) for header in response.raw_headers)]
    return b"\r\n".join([*lines, b"", b""])
