"""The depths of hosts' queues, counted again no more often than that costs a fiftieth of one thread."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import monotonic

from p2pcrawl.frontier.reading.queue_depths import QueueDepths, names_of, queue_depths

FRESH_S = 1.0
"""No sooner than this they are counted again,"""
TIMES = 50.0
"""and no sooner than so many times what counting took."""
NAMES_MAX = 20_000
"""Names of hosts without a seat that are remembered."""


class Depths:
    """Counts in a thread, only when somebody asks. Those who ask at the same time are told the same."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known = QueueDepths()
        self._until = 0.0
        self._counting: asyncio.Task[None] | None = None
        self._names: dict[int, str] = {}

    async def now(self) -> QueueDepths:
        """Returns them as they were a moment ago: a second, or with a million queued some ten."""
        if monotonic() >= self._until:
            if self._counting is None:
                self._counting = asyncio.create_task(self._count())
            await asyncio.shield(self._counting)
        return self._known

    async def names(self, hosts: list[tuple[int, int]]) -> dict[int, str]:
        """Returns the names of hosts, each given by a job and its key, as far as pages of them are queued."""
        unknown = [each for each in hosts if each[1] not in self._names]
        if unknown:
            found = await asyncio.to_thread(names_of, self._folder, unknown)
            if len(self._names) + len(found) > NAMES_MAX:
                self._names.clear()
            self._names |= found
        return {key: self._names[key] for _, key in hosts if key in self._names}

    async def _count(self) -> None:
        began = monotonic()
        try:
            self._known = await asyncio.to_thread(queue_depths, self._folder)
        finally:
            ended = monotonic()
            self._until = ended + max(FRESH_S, TIMES * (ended - began))
            self._counting = None
