"""Databases are looked through once in a while, beside whoever writes to them."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from pathlib import Path

from p2pcrawl.frontier.database.integrity import look_through_beside
from p2pcrawl.frontier.database.schema import damaged
from p2pcrawl.model.errors import StorageError

log = logging.getLogger(__name__)

FIRST_S = 300.0
"""What was not looked through when a database was opened has its turn so much later."""
EVERY_S = 3600.0
"""At 300 MB/s, a store of 10 GB costs a disk one percent of its time."""


class Looking:
    """Looks a database through, once in a while. ``failed`` is called with what is damaged: going on would make it
    worse.
    """

    def __init__(self, path: Path, failed: Callable[[StorageError], None]) -> None:
        self._path = path
        self._failed = failed
        self._stopped = threading.Event()

    async def run(self) -> None:
        """Looks until it is cancelled, or something is damaged."""
        delay_s = FIRST_S
        try:
            while True:
                await asyncio.sleep(delay_s)
                found = await asyncio.to_thread(look_through_beside, self._path, self._stopped.is_set)
                if found.damage:
                    self._failed(damaged(self._path, found.damage))
                    return
                delay_s = EVERY_S
        finally:
            # The thread ends within a millisecond.
            self._stopped.set()
