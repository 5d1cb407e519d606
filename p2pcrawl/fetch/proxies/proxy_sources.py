"""Candidates for a pool of proxies: from the settings themselves, files, lists on the web, commands and classes.

Each source is asked anew once in a period. One that fails is told of, and what it gave before stays.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import shlex
from collections.abc import AsyncIterable, Iterable, Sequence
from inspect import isawaitable
from pathlib import Path
from typing import Any, Final

from p2pcrawl.fetch.connection.fetcher import Fetcher
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.fetch.connection.socks import NEEDED, has_socks
from p2pcrawl.fetch.proxies.proxy_lines import foreign_proxies, proxy_of
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.redaction import redacted

log = logging.getLogger(__name__)

TEXT_MAX: Final = 4 * 1024 * 1024
"""Bytes that are read of a file, a list or a command's output."""
COMMAND_S: Final = 60.0
_KINDS: Final = ("file", "url", "command", "class")


class ProxySources:
    """The sources of PROXY_POOL. Raises ConfigurationError for one that is none."""

    def __init__(self, sources: Sequence[str], fetcher: Fetcher, networks: Networks, user_agent: str) -> None:
        self._fetcher = fetcher
        self._networks = networks
        self._headers = {"User-Agent": user_agent}
        if not has_socks() and any(source.startswith("socks") for source in sources):
            raise ConfigurationError(NEEDED)
        self._own = [proxy for source in sources if (proxy := _proxy_itself(source))]
        self._sources: list[tuple[str, str]] = []
        self._made: dict[str, Any] = {}
        for source in sources:
            kind, _, rest = source.partition(":")
            if kind in _KINDS:
                self._sources.append((kind, rest))
                if kind == "class":
                    self._made[rest] = _made(rest)
            elif not _proxy_itself(source):
                raise ConfigurationError(
                    f"PROXY_POOL: {redacted(source)!r} is no proxy, and no source: file:PATH, url:https://..., "
                    "command:..., class:package.module.Class"
                )

    async def load(self) -> list[list[str]]:
        """Asks all sources at once; returns what each gave."""
        return [self._own, *await asyncio.gather(*(self._given_by(kind, rest) for kind, rest in self._sources))]

    async def _given_by(self, kind: str, rest: str) -> list[str]:
        try:
            return await self._of(kind, rest)
        except Exception as error:
            log.warning("%s:%s gave no proxies: %s", kind, redacted(rest), redacted(str(error)))
            return []

    async def _of(self, kind: str, rest: str) -> list[str]:
        if kind == "url":
            text = await self._listed(rest)
            return list(foreign_proxies(text.splitlines(), self._networks))
        if kind == "file":
            text = await asyncio.to_thread(_read, rest)
        elif kind == "command":
            text = await _said(rest)
        else:
            return [proxy for line in await _asked(self._made[rest]) if (proxy := proxy_of(str(line)))]
        return [proxy for line in text.splitlines() if (proxy := proxy_of(line))]

    async def _listed(self, url: str) -> str:
        # No redirects: who may be believed is who was named. Never through a proxy: a liar would name his own.
        request = Request(url, headers=self._headers, meta={"proxy": ""})
        answer = await self._fetcher.fetch(request, cut=TEXT_MAX)
        if answer.status != 200:
            raise ConfigurationError(f"status {answer.status}")
        return answer.body.decode("utf-8", "replace")


def _proxy_itself(source: str) -> str:
    return proxy_of(source) if source.partition(":")[0] not in _KINDS else ""


def _made(path: str) -> Any:
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)()
    except Exception as error:
        raise ConfigurationError(f"PROXY_POOL: {path} cannot be made: {type(error).__name__}: {error}") from error


async def _asked(source: Any) -> Iterable[object]:
    """Returns what a class's ``proxies()`` gives, which may be a coroutine or yield them, also asynchronously."""
    given = await asyncio.to_thread(source.proxies)
    if isawaitable(given):
        given = await given
    if isinstance(given, AsyncIterable):
        return [each async for each in given]
    return list(given)


def _read(path: str) -> str:
    with Path(path).expanduser().open("rb") as file:
        return file.read(TEXT_MAX).decode("utf-8", "replace")


async def _said(command: str) -> str:
    """Runs a command, without a shell, and returns what it writes. Its process ends when its time is over."""
    process = await asyncio.create_subprocess_exec(
        *shlex.split(command), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(COMMAND_S):
            said = bytearray()
            while len(said) < TEXT_MAX and (piece := await process.stdout.read(1 << 16)):
                said += piece
            if len(said) < TEXT_MAX and await process.wait():
                raise ConfigurationError(f"it ended with {process.returncode}")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return said.decode("utf-8", "replace")
