"""Standard output: JSON lines for the next program in a pipe. What has gone there cannot be taken back."""

from __future__ import annotations

import os
import select
from collections.abc import Sequence

from p2pcrawl.model.errors import StorageError
from p2pcrawl.model.printable import printable
from p2pcrawl.stores.files.disk import storage_errors
from p2pcrawl.stores.files.formats import JsonLines
from p2pcrawl.stores.files.local_sink import Position

_NAME = "standard output"


class StreamSink:
    """A :class:`~p2pcrawl.stores.files.local_sink.LocalSink` on an open file descriptor, which stays open."""

    def __init__(self, descriptor: int = 1) -> None:
        self._descriptor = descriptor
        self._format = JsonLines()
        self._offset = 0
        self._count = 0

    def resume(self, position: Position | None) -> Position:
        try:
            self._offset = 0 if position is None else int(position["offset"])
            self._count = 0 if position is None else int(position["count"])
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(f"the stored position of {_NAME} is damaged: {error!r}") from None
        self._format.begin()
        return self.sync()

    def write(self, items: Sequence[bytes]) -> None:
        if not items:
            return
        data = self._format.encode(items)
        if os.isatty(self._descriptor):
            # The same JSON, without what a terminal would obey.
            data = printable(data.decode("utf-8", "replace")).encode()
        view = memoryview(data)
        self._offset += len(view)
        self._count += len(items)
        with storage_errors(_NAME):
            while view:
                try:
                    view = view[os.write(self._descriptor, view) :]
                except BlockingIOError:
                    # The other end made the pipe non-blocking, which it shares with us.
                    select.select([], [self._descriptor], [])

    def sync(self) -> Position:
        return {"format": self._format.name, "gzip": False, "offset": self._offset, "count": self._count}

    def finish(self) -> None:
        pass

    def close(self) -> None:
        pass
