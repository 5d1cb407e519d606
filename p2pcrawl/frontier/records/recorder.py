"""The frontier's store in a thread of its own: what is asked of it is done in the order in which it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from p2pcrawl.frontier.records.store import Store

P = ParamSpec("P")
T = TypeVar("T")


class Recorder:
    """Keeps the records of one data folder, from :meth:`open` to :meth:`close`.

    ``clustered``: buckets move from and to this folder, so records are found by their bucket, too.
    """

    def __init__(self, folder: Path, *, clustered: bool) -> None:
        self.folder = folder
        self._clustered = clustered
        self.store_id = ""
        """The name of the store, which no other in the world has; known when it is open."""
        self.life = ""
        """The name of what is counted in it."""

    async def open(self) -> None:
        """Raises as the store does."""
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "frontier")
        try:
            self._store = await self.in_thread(partial(Store, self.folder, clustered=self._clustered))
            self.store_id = await self.run(Store.store_id)
            self.life = await self.run(Store.life)
        except BaseException:
            self._thread.shutdown()
            raise

    async def close(self) -> None:
        """Returns when all that was asked for is done."""
        try:
            await self.in_thread(self._store.close)
        finally:
            self._thread.shutdown()

    def run(self, call: Callable[Concatenate[Store, P], T], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
        """Runs a call with the store as its first argument, in the store's thread."""
        return self.in_thread(partial(call, self._store, *args, **kwargs))

    def in_thread(self, call: Callable[[], T]) -> asyncio.Future[T]:
        """Runs a call that needs no store, between what the store is asked."""
        return self._loop.run_in_executor(self._thread, call)
