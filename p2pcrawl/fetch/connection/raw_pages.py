"""Raw pages as they are made of an exchange over aiohttp, and the port to whoever keeps them.

The head of the request is the one that was sent. Of the answer there are all header lines in their order and spelling,
with the bytes that came; white space around a value, and how lines were broken, is not known any more. The body is as
it was transferred, with its content codings, but without the framing of chunks: its ``Transfer-Encoding`` is therefore
told under the name of ``X-Crawler-Transfer-Encoding``, so that nobody looks for chunks.
"""

from __future__ import annotations

from typing import Final, Protocol

from p2pcrawl.fetch.connection.round_trip import LimitedResponse
from p2pcrawl.model.crawl.raw_page import RawPage, Truncated
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure

_HIDDEN: Final = b"transfer-encoding"
_HIDDEN_AS: Final = b"X-Crawler-Transfer-Encoding"


class RawPages(Protocol):
    """Keeps raw pages."""

    async def keep(self, page: RawPage) -> None:
        """Returns when the page is where no death of this process takes it away. Raises StorageError when that cannot
        be: the page must not count as fetched then.
        """
        ...


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
        head=_answer_head(response),
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


def _answer_head(response: LimitedResponse) -> bytes:
    version = response.version
    major, minor = (version.major, version.minor) if version is not None else (1, 1)
    status = f"HTTP/{major}.{minor} {response.status} {response.reason or ''}"
    lines = [status.encode("utf-8", "surrogateescape")]
    for name, value in response.raw_headers:
        lines.append((_HIDDEN_AS if name.lower() == _HIDDEN else name) + b": " + value)
    lines.append(b"\r\n")
    return b"\r\n".join(lines)
