"""Answers that are made of raw pages, in place of the web's."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Final

from multidict import CIMultiDict

from p2pcrawl.fetch.connection.inflate import inflate, inflate_prefix
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure
from p2pcrawl.stores.warc.page_index import StoredPage

FindPage = Callable[[bytes, int], Awaitable[StoredPage | None]]
"""Finds the last answer to a request by its key, with a body of so many bytes at most. Raises FetchError for one that
cannot be read.
"""
_TRUNCATED: Final = {
    "length": Failure.TOO_LARGE,
    "time": Failure.TOTAL_TIMEOUT,
    "disconnect": Failure.LOST_CONNECTION,
}

_chunk: Final = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r\n").match


class StoredFetcher:
    """Answers requests with what is stored, the last answer to each."""

    def __init__(self, find: FindPage, settings: Settings) -> None:
        self._find = find
        self._limit = settings.download_maxsize

    async def fetch(self, request: Request, *, cut: int | None = None) -> Answer:
        """Returns the stored answer. Raises FetchError for what is not stored, or was not whole."""
        key = fingerprint(request.url, request.method, request.body)
        page = await self._find(key, self._limit)
        if page is None:
            raise FetchError(Failure.NOT_STORED, "there is no raw page of it, and nobody is asked")
        if page.truncated and cut is None:
            kind = _TRUNCATED.get(page.truncated, Failure.LOST_CONNECTION)
            raise FetchError(kind, f"only the beginning of it is stored ({page.truncated})")
        protocol, headers = _head_of(page.head)
        body = _without_chunks(page.body) if "chunked" in headers.get("Transfer-Encoding", "").lower() else page.body
        encoding = ",".join(headers.popall("Content-Encoding", ()))
        if encoding:
            body = inflate(body, encoding, self._limit) if cut is None else inflate_prefix(body, encoding, cut)
        cookies = tuple(headers.getall("Set-Cookie", ()))
        return Answer(
            request.url, page.status, headers, body if cut is None else body[:cut],
            set_cookies=cookies, protocol=protocol, asked=False, answered=True,
        )  # fmt: skip


def _without_chunks(body: bytes) -> bytes:
    """Returns a body without the framing of chunks, which others keep and we do not; as it is where it has none."""
    parts: list[bytes] = []
    place = 0
    while (chunk := _chunk(body, place)) is not None:
        size = int(chunk[1], 16)
        place = chunk.end() + size + 2
        if not size:
            return b"".join(parts)
        if body[place - 2 : place] != b"\r\n":
            break
        parts.append(body[chunk.end() : place - 2])
    return body


def _head_of(head: bytes) -> tuple[str, CIMultiDict[str]]:
    """Reads the head of an answer: its protocol, and its headers."""
    first, *lines = head.split(b"\n")
    headers = CIMultiDict[str]()
    for line in lines:
        name, colon, value = line.decode("utf-8", "surrogateescape").partition(":")
        if colon:
            headers.add(name.strip(), value.strip())
    return first.split(b" ", 1)[0].decode("latin-1"), headers
