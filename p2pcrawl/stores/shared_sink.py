"""One file for the items of several jobs of one store, each of which is cut off where it must be after a crash.

Each job keeps a cursor of its own, with the position of the file when its last batch was in it. Whoever brings a
batch has the *turn* until that cursor is noted, so cursors are noted, and stored, in the order of what they stand for:
the furthest position that is stored holds what all stored cursors say, and nothing else. There the file is opened
again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from p2pcrawl.stores.sink import Position, Sink, SinkPage, Written

_WRITES = "writes"
"""In a position: the number of batches of all jobs that the file holds."""


class SharedSink:
    """A :class:`~p2pcrawl.stores.sink.Sink` that several deliveries use, each while it has the ``turn``."""

    def __init__(self, sink: Sink, stored: Iterable[Position | None]) -> None:
        """``stored``: the positions of all jobs that have written to it, as far as their cursors are stored."""
        self._sink = sink
        self.limits = sink.limits
        self._position: Position | None = None
        for position in stored:
            if position is not None and _writes(position) >= _writes(self._position or {}):
                self._position = position
        self._is_open = False
        self.turn = asyncio.Lock()

    async def open(self, position: Position | None) -> Position:
        """Opens the file at the furthest position, if it is not open; a single job's own one says nothing."""
        if not self._is_open:
            self._position = self._counted(await self._sink.open(self._position), 0)
            self._is_open, self.limits = True, self._sink.limits
        assert self._position is not None
        return dict(self._position)

    async def write(self, pages: Sequence[SinkPage]) -> Written:
        written = await self._sink.write(pages)
        self._position = self._counted(written.position, 1)
        return Written(dict(self._position), written.refused, written.left_out)

    async def finish(self) -> None:
        await self._sink.finish()

    async def close(self) -> None:
        await self._sink.close()

    def _counted(self, position: Position, more: int) -> Position:
        return {**position, _WRITES: _writes(self._position or {}) + more}


def _writes(position: Position) -> int:
    return int(position.get(_WRITES, 0))
