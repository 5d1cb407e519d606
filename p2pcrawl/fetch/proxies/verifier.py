"""The verification of proxies: one works if it brings what everybody else gets.

What it has to bring is either what the check URL answers when it is asked without a proxy, byte by byte, or what
matches a pattern, for URLs whose answers differ.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from p2pcrawl.fetch.connection.fetcher import Fetcher
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure

BODY_MAX: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ProxyVerdict:
    """The result of a check. ``lies``: an answer came, and it was another one."""

    passed: bool
    latency_s: float = 0.0
    lies: bool = False


class ProxyVerifier:
    """Asks PROXY_CHECK_URL through proxies."""

    def __init__(self, settings: Settings, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self._url = settings.proxy_check_url
        self._pattern = re.compile(settings.proxy_check_pattern.encode()) if settings.proxy_check_pattern else None
        self._headers = {"User-Agent": settings.user_agent}
        self._timeout_s = settings.proxy_check_timeout
        self._expected: bytes | None = None

    @property
    def ready(self) -> bool:
        """True if it is known what a proxy has to bring."""
        return self._pattern is not None or self._expected is not None

    async def learn(self) -> None:
        """Asks without a proxy what the check URL answers. Raises FetchError and Blocked."""
        if self._pattern is None:
            answer = await self._ask("")
            if answer.status != 200:
                raise FetchError(Failure.HTTP_OTHER, f"status {answer.status}")
            self._expected = _digest(answer)

    async def verify(self, proxy: str) -> ProxyVerdict:
        """Asks through a proxy. Raises Blocked when the check URL is out of bounds."""
        try:
            answer = await self._ask(proxy)
        except FetchError:
            return ProxyVerdict(False)
        if answer.status == 200 and self._is_right(answer):
            return ProxyVerdict(True, answer.latency_s)
        return ProxyVerdict(False, answer.latency_s, lies=200 <= answer.status < 300)

    async def _ask(self, proxy: str) -> Answer:
        meta = {"proxy": proxy, "download_timeout": self._timeout_s}
        return await self._fetcher.fetch(Request(self._url, headers=self._headers, meta=meta), cut=BODY_MAX)

    def _is_right(self, answer: Answer) -> bool:
        if self._pattern is not None:
            return self._pattern.search(answer.body) is not None
        return _digest(answer) == self._expected


def _digest(answer: Answer) -> bytes:
    return blake2b(answer.body, digest_size=16).digest()
