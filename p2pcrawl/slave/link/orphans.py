"""The pages that a slave could not report: kept for the next master that it works for.

A page whose parts were sent ahead is not whole any more, for the master that acknowledged these may be gone: then its
links are told, which are facts by themselves, and its end is not, so that it is fetched again.

A page that was acknowledged is not kept. If its master dies before its copies know of it, it is fetched again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import NamedTuple

from p2pcrawl.slave.link.post import Post
from p2pcrawl.wire.messages.slave_messages import OrphanPage, Orphans

log = logging.getLogger(__name__)

KEEP_S = 60.0
"""After this time the owners have long since had the pages fetched again."""
PAGES_MAX = 5_000
BYTES_MAX = 64 * 1024 * 1024
BATCH_PAGES = 200
BATCH_BYTES = 1024 * 1024


class _KeptPage(NamedTuple):
    until: float
    size: int
    orphan: OrphanPage


class Orphanage:
    """Bounded in pages, bytes and time; what does not fit or is not wanted in time is dropped, and the log says so."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._kept: deque[_KeptPage] = deque()
        self._size = 0
        self._flying: list[_KeptPage] = []
        self._sequence = 0
        self._post: Post | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._empty = asyncio.Event()
        self._empty.set()

    def take(self, orphan: OrphanPage) -> None:
        if orphan.page.outcome is None and not orphan.page.links:
            return
        size = orphan.page.size
        if len(self._kept) >= PAGES_MAX or self._size + size > BYTES_MAX:
            log.warning(
                "too much is kept for the next master: %s is dropped, to be fetched again", orphan.task.link.url
            )
            return
        self._kept.append(_KeptPage(self._loop.time() + KEEP_S, size, orphan))
        self._size += size
        self._empty.clear()
        if self._timer is None:
            self._timer = self._loop.call_later(KEEP_S, self._expire)
        self._send()

    def attach(self, post: Post) -> None:
        """Sends all that is kept, and what is still to come, to a master."""
        self._post = post
        self._send()

    def detach(self) -> None:
        """Keeps again what was on its way: that master is gone, or its session is over."""
        self._post = None
        self._kept.extendleft(reversed(self._flying))
        self._flying = []

    def adopted(self, sequence: int) -> None:
        if sequence != self._sequence or not self._flying:
            return
        self._size -= sum(kept.size for kept in self._flying)
        self._flying = []
        self._send()
        if not self._flying:
            self._empty.set()

    async def empty(self) -> None:
        """Returns when nothing is kept."""
        await self._empty.wait()

    def close(self) -> None:
        self._post = None
        if self._timer is not None:
            self._timer.cancel()
        if lost := len(self._kept) + len(self._flying):
            log.warning("%d pages are dropped that no master took: they will be fetched again", lost)

    def _send(self) -> None:
        """Sends the next batch, when the one before is adopted."""
        if self._post is None or self._flying or not self._kept:
            return
        size = 0
        while self._kept and len(self._flying) < BATCH_PAGES and size < BATCH_BYTES:
            kept = self._kept.popleft()
            size += kept.size
            self._flying.append(kept)
        self._sequence += 1
        try:
            self._post.send(Orphans(self._sequence, [kept.orphan for kept in self._flying]))
        except Exception as error:
            # As it cannot be encoded, no master will ever have it.
            log.warning("%d pages cannot be told to another master: %s", len(self._flying), error)
            self._loop.call_soon(self.adopted, self._sequence)

    def _expire(self) -> None:
        """Drops what was kept for too long. What a master is about to adopt is left to it."""
        self._timer = None
        now, dropped = self._loop.time(), 0
        while self._kept and self._kept[0].until <= now:
            self._size -= self._kept.popleft().size
            dropped += 1
        if dropped:
            log.warning(
                "%d pages are dropped that no master took in %.0f s: they will be fetched again", dropped, KEEP_S
            )
        if self._kept:
            self._timer = self._loop.call_later(self._kept[0].until - now, self._expire)
        elif self._flying:
            self._timer = self._loop.call_later(KEEP_S, self._expire)
        else:
            self._empty.set()
