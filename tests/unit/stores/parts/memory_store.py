"""A place for parts in memory, which others may share, and which may fail at any step."""

from __future__ import annotations

import asyncio
import hashlib
import random
import time
from collections.abc import Awaitable, Callable

from p2pcrawl.stores.parts.part_store import Blob, BlobFacts, Overtaken
from p2pcrawl.stores.sink import SinkAway


class MemoryStore:
    """A place that ``files`` are in.

    ``fails_at``: the change, counted from 0, in which it becomes unreachable; ``done``: after having made it.
    ``before`` is awaited before each change that has this in its name.
    """

    compares = True

    def __init__(self, files: dict[str, bytes] | None = None, fails_at: int = -1, *, done: bool = False) -> None:
        self.files = {} if files is None else files
        self.changes = 0
        self.before: tuple[str, Callable[[], Awaitable[None]]] | None = None
        self._fails_at = fails_at
        self._done = done

    async def get(self, name: str) -> Blob | None:
        self._reachable()
        data = self.files.get(name)
        return None if data is None else Blob(data, _tag(data))

    async def facts(self, name: str) -> BlobFacts | None:
        self._reachable()
        data = self.files.get(name)
        return None if data is None else BlobFacts(time.time(), len(data), _tag(data))

    async def put(self, name: str, data: bytes) -> None:
        await self._change(name, lambda: self.files.__setitem__(name, data))

    async def exchange(self, name: str, data: bytes, tag: str | None) -> str:
        def exchanged() -> None:
            there = self.files.get(name)
            if (None if there is None else _tag(there)) != tag:
                raise Overtaken(name)
            self.files[name] = data

        await self._change(name, exchanged)
        return _tag(data)

    async def names(self, folder: str) -> list[str]:
        self._reachable()
        split = [name.rpartition("/") for name in self.files]
        return [name for outer, _, name in split if outer == folder]

    async def delete(self, name: str) -> None:
        await self._change(name, lambda: self.files.pop(name, None))

    async def close(self) -> None:
        return

    async def _change(self, name: str, make: Callable[[], object]) -> None:
        self._reachable()
        if self.before is not None and self.before[0] in name:
            hook, self.before = self.before[1], None
            await hook()
        self.changes += 1
        if self.changes - 1 != self._fails_at:
            make()
            return
        if self._done:
            make()
        raise SinkAway("the connection broke")

    def _reachable(self) -> None:
        if 0 <= self._fails_at < self.changes:
            raise SinkAway("it is not there")


def _tag(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class CarelessStore(MemoryStore):
    """A place that compares nothing."""

    compares = False

    async def exchange(self, name: str, data: bytes, tag: str | None) -> str:
        await self.put(name, data)
        return _tag(data)


class RestlessStore(MemoryStore):
    """A place whose every answer takes turns with those of others, and some of which do not come."""

    def __init__(self, files: dict[str, bytes], dice: random.Random) -> None:
        super().__init__(files)
        self._dice = dice

    async def get(self, name: str) -> Blob | None:
        await self._wait()
        return await super().get(name)

    async def names(self, folder: str) -> list[str]:
        await self._wait()
        return await super().names(folder)

    async def _change(self, name: str, make: Callable[[], object]) -> None:
        await self._wait()
        fate = self._dice.random()
        if fate > 0.03:
            make()
        if fate < 0.06:
            raise SinkAway("the connection broke")
        await self._wait()

    async def _wait(self) -> None:
        for _ in range(self._dice.randrange(4)):
            await asyncio.sleep(0)
