"""Reports on their way to the master: in order, in batches, bounded.

Pages wait a few milliseconds for company, but not while the slave itself waits for work. What is sent and
not yet acknowledged is counted in bytes; over the window, ``room`` makes the workers wait, and with them the
fetching.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from p2pcrawl.overlay.link import Link
from p2pcrawl.wire.messages import Page, Report, RobotsResult

GATHER_S = 0.004
PAGES_MAX = 64
BYTES_MAX = 256 * 1024
WINDOW_BYTES = 16 * 1024 * 1024


class Outbox:
    """The sending half of a slave. ``hungry`` says whether the slave has run out of tasks."""

    def __init__(self, link: Link, hungry: Callable[[], bool] = lambda: False) -> None:
        self._link = link
        self._hungry = hungry
        self._pages: list[Page] = []
        self._robots: list[RobotsResult] = []
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._sequence = 0
        self._sent: deque[tuple[int, int]] = deque()
        self._flying = 0
        self._room = asyncio.Event()
        self._room.set()
        self._empty = asyncio.Event()
        self._empty.set()

    def put(self, page: Page) -> None:
        self._pages.append(page)
        self._size += sum(map(len, page.items)) + 64 * sum(len(rows.urls) for rows in page.links) + 64
        self._schedule()

    def put_robots(self, result: RobotsResult) -> None:
        self._robots.append(result)
        self._size += len(result.body)
        self._schedule()

    async def room(self) -> None:
        """Returns when the window is open."""
        await self._room.wait()

    async def drained(self) -> None:
        """Returns when all that was put is acknowledged."""
        self.flush()
        await self._empty.wait()

    def acknowledged(self, sequence: int) -> None:
        while self._sent and self._sent[0][0] <= sequence:
            self._flying -= self._sent.popleft()[1]
        if self._flying < WINDOW_BYTES:
            self._room.set()
        if not self._sent and not self._pages and not self._robots:
            self._empty.set()

    def flush(self) -> None:
        """Sends what has gathered."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._pages and not self._robots:
            return
        self._sequence += 1
        try:
            size = self._link.send(Report(self._sequence, self._pages, self._robots))
        except Exception as error:
            # It could never be sent, and nothing after it: the master is to see that this slave is lost.
            self._link.abort(error)
            return
        self._pages, self._robots, self._size = [], [], 0
        self._sent.append((self._sequence, size))
        self._flying += size
        if self._flying >= WINDOW_BYTES:
            self._room.clear()

    def _schedule(self) -> None:
        self._empty.clear()
        if len(self._pages) >= PAGES_MAX or self._size >= BYTES_MAX:
            self.flush()
        elif self._timer is None:
            wait_s = 0.0 if self._hungry() else GATHER_S
            self._timer = asyncio.get_running_loop().call_later(wait_s, self.flush)
