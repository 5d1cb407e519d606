"""The receiver of a webhook, as seen from here: one POST, and what its answer means.

Receivers are the user's own word, so any address goes, loopback too; yet they are somebody else's program. Nothing
that one answers is followed, inflated, kept or waited for beyond a bound.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto
from typing import Final

import aiohttp
from yarl import URL

from p2pcrawl.core.hosts.retry_after import retry_after_s
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.printable import on_one_line
from p2pcrawl.stores.sink import SinkAway

ANSWER_S: Final = 30.0
"""The whole of a POST. Receivers are told everywhere to answer at once and to work afterwards."""
CONNECT_S: Final = 10.0
BODY_S: Final = 1.0
"""For how long the rest of an answer is read, once its status has said all."""
BODY_BYTES_MAX: Final = 16 * 1024
RETRY_AFTER_MAX_S: Final = 3600.0
_REASON_MAX: Final = 200
_LATER: Final = frozenset({408, 421, 423, 425, 429})
_SHUT: Final = frozenset({401, 402, 403, 404, 405, 407, 410})
_NO_SUCH_NAME: Final = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})


class Verdict(Enum):
    """The meaning of an answer."""

    TAKEN = auto()
    LATER = auto()
    """Nothing can be taken now; that may pass."""
    SHUT = auto()
    """Nothing will be taken here, whatever is brought: another address or password is needed."""
    REFUSED = auto()
    """What was brought will not be taken."""


@dataclass(frozen=True, slots=True)
class ReceiverAnswer:
    """An answer to one POST."""

    verdict: Verdict
    told: str
    """The status, and for a refusal what the receiver says, in one line."""
    wait_s: float = 0.0
    """The time for which it wants to be left alone."""


class Unreachable(Exception):
    """Raised when there was no answer. ``final``: as far as one can see, there never will be one."""

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


class Receiver:
    """One URL that takes POSTs. Raises ConfigurationError for what is none.

    Connections are made when they are needed, and belong to the running loop; ``aclose`` lets them go.
    """

    def __init__(self, url: str, headers: Mapping[str, str], *, parallel: int, answer_s: float = ANSWER_S) -> None:
        self.shown = url.partition("?")[0]
        """The URL without what may be a secret."""
        try:
            self._url = URL(url)
        except ValueError as error:
            raise ConfigurationError(f"the webhook {self.shown} is no URL: {error}") from None
        if not self._url.host:
            raise ConfigurationError(f"the webhook {self.shown} names no host")
        self._headers = {"User-Agent": "p2pcrawl/0.1", **headers}
        self._parallel = parallel
        self._answer_s = answer_s
        self._session: aiohttp.ClientSession | None = None

    async def post(self, body: bytes, headers: Mapping[str, str]) -> ReceiverAnswer:
        """Posts a body. Raises Unreachable."""
        try:
            async with asyncio.timeout(self._answer_s):
                answer = await self._opened().post(
                    self._url, data=body, headers=headers, allow_redirects=False, raise_for_status=False
                )
        except TimeoutError:
            raise Unreachable(f"{self.shown} does not answer within {self._answer_s:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _unreachable(self.shown, error) from None
        try:
            return await _understood(answer)
        finally:
            answer.close()  # Of an answer that was read to its end, the connection is free for the next one already.

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._parallel, keepalive_timeout=15),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=self._headers,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=min(CONNECT_S, self._answer_s)),
                auto_decompress=False,
                trust_env=False,
            )
        return self._session

    async def aclose(self) -> None:
        """Lets go of all connections. May be repeated; raises nothing."""
        session, self._session = self._session, None
        if session is not None:
            with suppress(Exception):
                await session.close()


async def _understood(answer: aiohttp.ClientResponse) -> ReceiverAnswer:
    """Returns what an answer means. Its status decides; whatever happens to the rest of it changes nothing."""
    text = await _beginning(answer)
    status = answer.status
    told = on_one_line(f"{status} {answer.reason or ''}".strip())
    if 200 <= status < 300:
        return ReceiverAnswer(Verdict.TAKEN, told)
    if 300 <= status < 400:
        return ReceiverAnswer(Verdict.SHUT, f"{told}: redirects are not followed, give the address that it leads to")
    if status in _LATER or status >= 500:
        wait_s = retry_after_s(answer.headers, datetime.now(UTC)) or 0.0
        return ReceiverAnswer(Verdict.LATER, told, min(wait_s, RETRY_AFTER_MAX_S))
    if status in _SHUT:
        return ReceiverAnswer(Verdict.SHUT, told)
    return ReceiverAnswer(Verdict.REFUSED, f"{told}: {_reason(text)}" if text.strip() else told)


async def _beginning(answer: aiohttp.ClientResponse) -> bytes:
    """Reads the answer's body, of a long or slow one what has come of it."""
    text = b""
    with suppress(TimeoutError, aiohttp.ClientError, OSError, ValueError):
        async with asyncio.timeout(BODY_S):
            while len(text) < BODY_BYTES_MAX and (part := await answer.content.read(BODY_BYTES_MAX)):
                text += part
    return text


def _reason(body: bytes) -> str:
    """Returns what a receiver says of its refusal: the message within a JSON object, else the beginning of its text."""
    text = body.decode(errors="replace")
    with suppress(ValueError, RecursionError):
        found = json.loads(text)
        for name in ("message", "detail", "error", "title"):
            if isinstance(found, dict) and isinstance(found.get(name), str):
                text = found[name]
                break
    return on_one_line(" ".join(text[: 4 * _REASON_MAX].split())[:_REASON_MAX])


def _unreachable(shown: str, error: Exception) -> Unreachable:
    cause = getattr(error, "os_error", error)
    if isinstance(cause, socket.gaierror) and cause.errno in _NO_SUCH_NAME:
        return Unreachable(f"{shown} cannot be reached: there is no host of this name", final=True)
    if isinstance(error, aiohttp.ClientSSLError) or isinstance(cause, ssl.SSLError):
        return Unreachable(f"{shown} cannot be trusted: {on_one_line(str(cause))[:_REASON_MAX]}", final=True)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return Unreachable(f"{shown} hung up without an answer")
    if isinstance(error, aiohttp.ClientResponseError):
        return Unreachable(f"{shown} does not answer as HTTP does")
    # What other errors of the library say may hold the whole URL.
    number = getattr(cause, "errno", None) or 0
    why = on_one_line(os.strerror(number) if number > 0 else getattr(cause, "strerror", None) or type(error).__name__)
    return Unreachable(f"{shown} cannot be reached: {why[:_REASON_MAX]}")


def away(shown: str, answer: ReceiverAnswer) -> SinkAway:
    """Builds the error for an answer by which nothing was taken."""
    return SinkAway(f"{shown} answers {answer.told}")
