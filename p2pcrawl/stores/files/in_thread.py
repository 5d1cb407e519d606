"""Files as sinks: the synchronous protocol of output files behind the contract of all sinks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from p2pcrawl.model.choosing.feed_encoding import is_marked
from p2pcrawl.stores.address import SinkAddress
from p2pcrawl.stores.files.local_sink import LocalSink
from p2pcrawl.stores.files.opening import open_local_sink
from p2pcrawl.stores.kinds import SinkPlace
from p2pcrawl.stores.shaping import fields_of
from p2pcrawl.stores.sink import BatchLimits, Position, SinkPage, Written

T = TypeVar("T")

LIMITS = BatchLimits(items=5_000, bytes=8 * 1024 * 1024)


def make_file_sink(address: SinkAddress, place: SinkPlace) -> SinkInThread:
    """Makes the sink for a path, or for standard output. Raises ConfigurationError when the path can already be seen
    not to work.
    """
    options, settings = address.options, place.settings
    local = open_local_sink(
        address.url,
        replace=place.replace,
        fields=[name for _, name in fields_of(options["fields"])] if "fields" in options else (),
        csv_safe=settings.feed_csv_safe,
        csv_marked=is_marked(options.get("encoding", settings.feed_export_encoding)),
        format=options.get("format", ""),
        indent=int(options.get("indent", settings.feed_export_indent)),
    )
    return SinkInThread(local)


class SinkInThread:
    """A :class:`~p2pcrawl.stores.sink.Sink` that lets an output file be written in a thread of its own: its disk is
    waited for by nobody else. Raises StorageError, too, which ends the crawl: the disk is one of this machine.
    """

    limits = LIMITS

    def __init__(self, local: LocalSink) -> None:
        self._local = local
        self._thread = ThreadPoolExecutor(1, "output")

    async def open(self, position: Position | None) -> Position:
        return await self._run(lambda: self._local.resume(position))

    async def write(self, pages: Sequence[SinkPage]) -> Written:
        def written() -> Position:
            self._local.write([item for page in pages for item in page.items])
            return self._local.sync()

        return Written(await self._run(written))

    async def finish(self) -> None:
        await self._run(self._local.finish)

    async def close(self) -> None:
        self._local.give_up()
        await self._run(self._local.close)

    def _run(self, call: Callable[[], T]) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._thread, call)
