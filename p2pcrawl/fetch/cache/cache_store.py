"""The stock of answers as one process sees it: reads at once, writes behind, from one thread.

What is put or dropped counts at once for whoever looks here, and is on disk a moment later, many at a time; other
processes see it then. A cache is worth less than what it serves: when the disk fails, or others hold the file for long,
what was to be written is left out, and that is said once.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from p2pcrawl.core.caching.stored_answer import StoredAnswer
from p2pcrawl.fetch.cache.cache_file import CacheFile, Put, size_of
from p2pcrawl.model.errors import StorageError

T = TypeVar("T")
log = logging.getLogger(__name__)

PENDING_MAX = 64 << 20
"""Bytes that wait to be written; what comes beyond is left out."""
SHARE_MAX = 8
"""No answer may take up more than this part of the cache."""
LARGE = 1 << 20
"""A body of so many bytes is read beside the loop."""
TOUCH_S = 60.0
"""When an answer was last used is known to this."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(StoredAnswer).decode


@dataclass(frozen=True, slots=True)
class Found:
    """An answer that is there. ``put``: it is not in the file yet."""

    key: bytes
    variant: bytes
    stored: StoredAnswer
    row: int = 0
    used_at: float = 0.0
    put: Put | None = None


@dataclass(slots=True)
class _Changes:
    """Changes that are written together: the drops first."""

    dropped: set[bytes] = field(default_factory=set)
    puts: dict[bytes, dict[bytes, Put]] = field(default_factory=dict)
    used: dict[int, float] = field(default_factory=dict)
    bytes: int = 0

    def __bool__(self) -> bool:
        return bool(self.dropped or self.puts or self.used)


class CacheStore:
    """The answers in a folder, from :meth:`open` to :meth:`close`. ``packed``: bodies are stored compressed."""

    def __init__(self, folder: Path, bytes_max: int, *, packed: bool = False) -> None:
        self._folder = folder
        self._bytes_max = bytes_max
        self._packed = packed
        self._next, self._writing = _Changes(), _Changes()
        self._write: asyncio.Future[None] | None = None
        self._said = False

    async def open(self) -> None:
        """Raises ConfigurationError, and StorageError for a file that cannot be read."""
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "httpcache")
        try:
            self._writer = await self._in_thread(CacheFile, self._folder)
            self._reader = await self._in_thread(CacheFile, self._folder)
        except (sqlite3.Error, OSError) as error:
            self._thread.shutdown()
            raise StorageError(f"the HTTP cache in {self._folder} cannot be opened: {error}; delete it") from error
        except BaseException:
            self._thread.shutdown()
            raise

    async def close(self) -> None:
        """Returns when all is written."""
        while self._write is not None:
            await asyncio.wait([self._write])
        self._reader.close()
        await self._in_thread(self._writer.close)
        self._thread.shutdown()

    # -- reading ------------------------------------------------------------------------------

    def find(self, key: bytes) -> list[Found]:
        """Returns what there is of a request, the newest first."""
        found: dict[bytes, Found] = {}
        for changes in (self._next, self._writing):
            for variant, put in changes.puts.get(key, {}).items():
                found.setdefault(variant, Found(key, variant, _decode(put.head), put=put))
            if key in changes.dropped:
                return list(found.values())
        try:
            for row in self._reader.rows(key):
                if row.variant not in found:
                    found[row.variant] = Found(key, row.variant, _decode(row.head), row.id, row.used_at)
        except (sqlite3.Error, msgspec.DecodeError) as error:
            self._complain(error)
        return list(found.values())

    async def body(self, found: Found, now: float) -> bytes | None:
        """Returns the body of an answer, which counts as used now; None when it is gone."""
        if found.put is not None:
            return found.put.body
        if found.used_at + TOUCH_S < now:
            self._next.used[found.row] = now
            self._flush()
        try:
            if found.stored.size < LARGE:
                body = self._reader.body(found.row, found.variant)
            else:
                body = await self._in_thread(self._writer.body, found.row, found.variant)
            return None if body is None else _whole(found.stored, body)
        except (sqlite3.Error, zlib.error) as error:
            self._complain(error)
            return None

    # -- writing ------------------------------------------------------------------------------

    def put(self, key: bytes, variant: bytes, stored: StoredAnswer, body: bytes, now: float) -> bool:
        """Stores an answer; returns False when it is too large, or too much waits to be written."""
        stored = replace(stored, size=len(body), packed=self._packed)
        made = Put(key, variant, now, _encode(stored), body)
        size = size_of(made.head, body)
        if size > self._bytes_max // SHARE_MAX or self._next.bytes + size > PENDING_MAX:
            return False
        self._next.puts.setdefault(key, {})[variant] = made
        self._next.bytes += size
        self._flush()
        return True

    def drop(self, keys: Iterable[bytes]) -> None:
        """Drops all that there is of these requests."""
        for key in keys:
            self._next.puts.pop(key, None)
            self._next.dropped.add(key)
        self._flush()

    def _flush(self) -> None:
        if self._write is not None or not self._next:
            return
        changes, self._next = self._next, _Changes()
        self._writing = changes
        self._write = self._in_thread(self._commit, changes)
        self._write.add_done_callback(self._flushed)

    def _flushed(self, write: asyncio.Future[None]) -> None:
        self._writing, self._write = _Changes(), None
        if not write.cancelled() and (error := write.exception()) is not None:
            self._complain(error)
        self._flush()

    def _commit(self, changes: _Changes) -> None:
        puts = [put for variants in changes.puts.values() for put in variants.values()]
        if self._packed:
            puts = [put._replace(body=zlib.compress(put.body)) for put in puts]
        used = [(at, row) for row, at in changes.used.items()]
        self._writer.write(puts, changes.dropped, used, self._bytes_max)

    def _complain(self, error: BaseException) -> None:
        if not self._said:
            self._said = True
            log.warning("the HTTP cache in %s does not work as it should: %s", self._folder, error)

    def _in_thread(self, call: Callable[..., T], *args: Any) -> asyncio.Future[T]:
        return self._loop.run_in_executor(self._thread, call, *args)


def _whole(stored: StoredAnswer, body: bytes) -> bytes | None:
    """Returns a body as it came, None for what is not of the size that it was."""
    if stored.packed:
        body = zlib.decompressobj().decompress(body, stored.size + 1)
    return body if len(body) == stored.size else None
