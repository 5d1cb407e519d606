"""Reports on their way to the master: in order, in batches, bounded.

Pages wait a few milliseconds for company, but not while the slave itself waits for work. What is sent and
not yet acknowledged is counted in bytes; over the window, ``room`` makes the workers wait, and with them the
fetching. When the session is over, what was not acknowledged, and what is put in afterwards, goes to the orphanage.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from itertools import count
from typing import NamedTuple

from p2pcrawl.slave.link.orphans import Orphanage
from p2pcrawl.slave.link.post import Post
from p2pcrawl.wire.messages.slave_messages import OrphanPage, Page, Report, RobotsResult, Task

GATHER_S = 0.004
PAGES_MAX = 64
BYTES_MAX = 256 * 1024
WINDOW_BYTES = 16 * 1024 * 1024


class _Flying(NamedTuple):
    sequence: int
    size: int
    pages: int
    """How many had been put by then."""


class Outbox:
    """The sending half of a session. ``hungry`` says whether the slave has run out of tasks."""

    def __init__(
        self,
        post: Post,
        hungry: Callable[[], bool] = lambda: False,
        numbers: Iterator[int] | None = None,
        orphanage: Orphanage | None = None,
    ) -> None:
        """``numbers`` are those of the reports. A slave never uses one twice, so that a late acknowledgement cannot
        mean a report of another session. Without an ``orphanage`` nothing outlives the session."""
        self._post = post
        self._hungry = hungry
        self._numbers = numbers or count(1)
        self._orphanage = orphanage
        self._over = False
        self._orphans: deque[OrphanPage] = deque()
        """Of all pages that are not acknowledged, in order."""
        self._pages: list[Page] = []
        self._robots: list[RobotsResult] = []
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._sent: deque[_Flying] = deque()
        self._flying = 0
        self._put = self._safe = 0
        """Pages and parts that were put, and that were acknowledged."""
        self._acked = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._empty = asyncio.Event()
        self._empty.set()

    def put(self, page: Page, task: Task, *, whole: bool = True) -> int:
        """Puts a page into the next report. ``whole``: the page has its end, and no part of it was put before. Returns
        the how manieth this was, for :meth:`safe`.
        """
        self._put += 1
        if self._orphanage is not None:
            orphan = OrphanPage(task, page if whole else Page(page.lease, page.record, page.job, page.links))
            if self._over:
                self._orphanage.take(orphan)
                return self._put
            self._orphans.append(orphan)
        self._pages.append(page)
        self._size += page.size
        self._schedule()
        return self._put

    def put_robots(self, result: RobotsResult) -> None:
        if self._over:
            return
        self._robots.append(result)
        self._size += len(result.body)
        self._schedule()

    @property
    def copied(self) -> bool:
        """True if what is reported has copies with other masters."""
        return self._orphanage is not None

    async def room(self) -> None:
        """Returns when the window is open."""
        await self._room.wait()

    async def safe(self, number: int) -> None:
        """Returns when so many pages and parts are acknowledged, or the session is over."""
        while self._safe < number and not self._over:
            self._acked.clear()
            await self._acked.wait()

    async def drained(self) -> None:
        """Returns when all that was put is acknowledged."""
        self.flush()
        await self._empty.wait()

    def acknowledged(self, sequence: int) -> None:
        while self._sent and self._sent[0].sequence <= sequence:
            flying = self._sent.popleft()
            self._flying -= flying.size
            for _ in range(min(flying.pages - self._safe, len(self._orphans))):
                self._orphans.popleft()
            self._safe = flying.pages
        self._acked.set()
        if self._flying < WINDOW_BYTES:
            self._room.set()
        if not self._sent and not self._pages and not self._robots:
            self._empty.set()

    def close(self) -> None:
        """Ends with the session: nothing more is sent, and nobody has to wait for room."""
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
        if self._orphanage is not None:
            for orphan in self._orphans:
                self._orphanage.take(orphan)
        self._orphans.clear()
        self._sent.clear()
        self._pages, self._robots = [], []
        self._room.set()
        self._acked.set()

    def flush(self) -> None:
        """Sends what has gathered."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._pages and not self._robots:
            return
        sequence = next(self._numbers)
        try:
            size = self._post.send(Report(sequence, self._pages, self._robots))
        except Exception as error:
            # This report could never be sent, and nothing after it: the master is to see that this slave is lost.
            self._post.abort(error)
            return
        self._sent.append(_Flying(sequence, size, self._put))
        self._pages, self._robots, self._size = [], [], 0
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
