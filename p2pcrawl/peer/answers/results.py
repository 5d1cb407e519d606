"""The items of a job, gathered from all masters, each page's once.

Masters are read one after the other, each from its first row on. Buckets may move meanwhile: what moves to a master
that has been read would be missed, what moves to one that has not would come twice. So each page is known by its
fingerprint, and when anything has moved since the gathering began, it goes round once more and brings what is new.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from p2pcrawl.model.errors import LinkError, P2PCrawlError
from p2pcrawl.model.packing import of_text
from p2pcrawl.model.timings import TIMINGS

log = logging.getLogger(__name__)

AGAIN_S = 0.5

Who = TypeVar("Who", bound=str)
"""A master, by its id; or by its address, for those who do not know its id."""
Members = Callable[[], Awaitable[list[Who]]]
Ask = Callable[[Who, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Asks a master for the next pages: ``job`` and ``after`` in; ``pages`` (fingerprint, place, items, and what is told
beside them), ``mark`` and ``settled`` out; ``after`` is 0 at first, then a place. The mark changes when a bucket has
moved."""


class GatheredPage(NamedTuple):
    """The items of a page, as lines, with what is told beside them: URL, visit and when it was fetched."""

    fingerprint: str
    lines: bytes
    told: Sequence[Any] = ()

    def json(self) -> bytes:
        """Writes the page as a line of JSON."""
        url, visit, fetched_at = self.told
        head = json.dumps({"page": self.fingerprint, "url": url, "visit": visit, "fetched_at": fetched_at})
        return head[:-1].encode() + b', "items": [' + self.lines.replace(b"\n", b", ") + b"]}\n"


class Gathering(Generic[Who]):
    """One gathering. What it keeps is a fingerprint for each page with items, about 100 bytes."""

    def __init__(
        self, job: int, members: Members[Who], ask: Ask[Who], patience_s: float = TIMINGS.results_patience_s
    ) -> None:
        self._job = job
        self._members = members
        self._ask = ask
        self._patience_s = patience_s
        self._known: set[bytes] = set()
        self._marks: dict[Who, str] = {}
        self._at_rest = True

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yields whole lines of items. Raises as :meth:`pages`."""
        async for pages in self.pages():
            yield b"".join(page.lines + b"\n" for page in pages)

    async def pages(self) -> AsyncIterator[list[GatheredPage]]:
        """Yields pages with their items. Raises P2PCrawlError when a master does not answer for too long."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._patience_s
        while True:
            trouble = None
            self._marks, self._at_rest = {}, True
            try:
                async for pages in self._round():
                    until = max(until, loop.time() + self._patience_s / 2)
                    yield pages
            except P2PCrawlError as error:
                log.info("gathering the items of job %d: %s", self._job, error)
                trouble = error
            if trouble is None and self._at_rest:
                return
            if loop.time() >= until:
                if trouble is not None:
                    raise trouble
                # Some bucket has nobody yet: what there is has been told, and ``job`` says that something is missing.
                return
            await asyncio.sleep(AGAIN_S)

    async def _round(self) -> AsyncIterator[list[GatheredPage]]:
        places: dict[Who, int | str] = {}
        for _ in range(2):
            # The second time only tells whether something moved meanwhile.
            members = await self._members()
            if not members:
                raise LinkError("the last master is leaving")
            if places and set(members) != set(places):
                self._at_rest = False
            for who in members:
                while True:
                    page = await self._ask(who, {"job": self._job, "after": places.get(who, 0)})
                    self._look(who, page)
                    if fresh := self._fresh(page["pages"]):
                        yield fresh
                    if not page["pages"]:
                        places.setdefault(who, 0)
                        break
                    places[who] = page["pages"][-1][1]

    def _look(self, who: Who, page: dict[str, Any]) -> None:
        known = self._marks.setdefault(who, page["mark"])
        views = {mark.partition(" ")[0] for mark in self._marks.values()}
        if known != page["mark"] or not page["settled"] or len(views) > 1:
            self._at_rest = False

    def _fresh(self, pages: list[list[Any]]) -> list[GatheredPage]:
        fresh = []
        for print_, _, items, *told in pages:
            key = bytes.fromhex(print_)
            if key not in self._known:
                self._known.add(key)
                fresh.append(GatheredPage(print_, of_text(items), told))
        return fresh
