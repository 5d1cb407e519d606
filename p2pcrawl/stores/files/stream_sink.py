"""Standard output: JSON lines for the next program in a pipe. What has gone there cannot be taken back."""

from __future__ import annotations

import os
import select
from collections.abc import Sequence
from contextlib import suppress

from p2pcrawl.model.errors import StorageError
from p2pcrawl.model.printable import printable
from p2pcrawl.stores.files.disk import storage_errors
from p2pcrawl.stores.files.formats import JsonLines
from p2pcrawl.stores.files.local_sink import Position

_NAME = "standard output"
LOOK_S = 0.2


class StreamSink:
    """A :class:`~p2pcrawl.stores.files.local_sink.LocalSink` on an open file descriptor, which stays open."""

    def __init__(self, descriptor: int = 1) -> None:
        self._descriptor = descriptor
        self._format = JsonLines()
        self._offset = 0
        self._count = 0
        self._given_up = False

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
                self._wait_for_room()
                with suppress(BlockingIOError):  # The other end made the pipe non-blocking, which it shares with us.
                    view = view[os.write(self._descriptor, view[: select.PIPE_BUF]) :]

    def _wait_for_room(self) -> None:
        """Returns when as much can be written as a pipe takes at once without waiting."""
        while not select.select([], [self._descriptor], [], LOOK_S)[1]:
            if self._given_up:
                raise StorageError(f"{_NAME} is not read")

    def sync(self) -> Position:
        return {"format": self._format.name, "gzip": False, "offset": self._offset, "count": self._count}

    def finish(self) -> None:
        pass

    def give_up(self) -> None:
        self._given_up = True

    def close(self) -> None:
        pass
