"""The links whose pages a job has had, gathered from the records of all masters: at these a job starts that reads
stored pages. What moves from one master to another meanwhile is neither missed nor told twice.

Where buckets lack something the links are not all told: who has the rest may be away, or may have come back a moment
ago. The start waits for that; only what nobody who is there has brought for a while is taken for lost.
"""

from __future__ import annotations

import asyncio
import json
import logging
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.json import Decoder

from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.frontier.reading.crawled_pages import crawled_after
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.overlay.peers import Peers
from p2pcrawl.peer.answers.results import GatheredPage, Gathering
from p2pcrawl.wire.messages.bounds import SOUGHT_LINKS_MAX
from p2pcrawl.wire.messages.slave_messages import LinksTold, SeekLinks

log = logging.getLogger(__name__)

BROUGHT_S: Final = 30.0
"""When all have been there for so long, nobody has what buckets lack still."""
LAST: Final = (1 << 63) - 1
"""The place after which no page is."""

_PLAIN: Final = Decoder(dict[str, Any])
_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder(Link).decode


class CrawledLinks:
    """``folder``: of this master's records."""

    def __init__(self, peers: Peers, folder: Path, ownership: Ownership) -> None:
        self._peers = peers
        self._folder = folder
        self._ownership = ownership
        self._told: dict[int, AsyncIterator[list[Link]]] = {}
        """By the job that asks: its start is in the hands of one slave at a time."""
        self._lost_at: dict[int, float] = {}
        """When what buckets lack is taken for lost, by the job that asks."""

    async def next(self, question: SeekLinks) -> LinksTold:
        """Answers a slave: the next part."""
        job = question.job
        if question.again:
            self._told[job] = self._parts(job, question.of)
        elif job not in self._told:
            return LinksTold(question.number, trouble="this master has not begun to tell the links")
        try:
            part = await anext(self._told[job], None)
        except P2PCrawlError as error:
            self._told.pop(job, None)
            return LinksTold(question.number, trouble=str(error))
        if part is None:
            self._told.pop(job, None)
        return LinksTold(question.number, part or [])

    def gathering(self, job: int) -> Gathering[NodeId]:
        """Begins to gather the pages of a job that its callbacks got, each as a line."""
        return Gathering(job, self._members, self._ask)

    async def here(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Answers a gathering: the next pages that this master has the records of."""
        # No bucket moves without another view, or another epoch of its own.
        mark = f"{self._ownership.view:016x} {sum(self._ownership.counters)}"
        settled = not self._ownership.syncing and self._ownership.complete
        found = await asyncio.to_thread(crawled_after, self._folder, int(arguments["job"]), int(arguments["after"]))
        pages: list[tuple[Any, ...]] = []
        for page in found:
            print_ = page.link.fingerprint.hex()
            if arguments.get("links"):
                pages.append((print_, page.place, "", b64encode(_pack(page.link)).decode()))
            else:
                pages.append((print_, page.place, json.dumps({"page": print_, "url": page.link.url})))
        return {"pages": pages, "mark": mark, "settled": settled, "lacking": len(self._ownership.broken())}

    # -- inside -------------------------------------------------------------------------------

    async def _members(self) -> list[NodeId]:
        return [member.id for member in self._peers.members()]

    async def _ask(self, node: NodeId, arguments: dict[str, Any]) -> dict[str, Any]:
        if node == self._peers.me:
            return await self.here(arguments)
        return await self._peers.query(node, "ask:crawled", arguments, _PLAIN)

    async def _parts(self, job: int, of: int) -> AsyncIterator[list[Link]]:
        """Yields the links of the job ``of``. Raises P2PCrawlError where these were not all."""
        lacking = 0

        async def ask(node: NodeId, arguments: dict[str, Any]) -> dict[str, Any]:
            nonlocal lacking
            answer = await self._ask(node, {**arguments, "links": True})
            # Masters of earlier versions do not say.
            lacking = max(lacking, answer.get("lacking", 0))
            return answer

        for node in await self._members():
            await ask(node, {"job": of, "after": LAST})
        self._check_whole(job, lacking)
        async for pages in Gathering(of, self._members, ask).pages():
            for first in range(0, len(pages), SOUGHT_LINKS_MAX):
                yield [_link_of(page) for page in pages[first : first + SOUGHT_LINKS_MAX]]
        # Also what came back meanwhile may have come behind whoever was asked.
        self._check_whole(job, lacking)

    def _check_whole(self, job: int, lacking: int) -> None:
        """Raises P2PCrawlError while somebody may come, or be about to bring, what so many buckets lack."""
        now = asyncio.get_running_loop().time()
        if not lacking:
            self._lost_at.pop(job, None)
            return
        if missing := [member.id[:8] for member in self._peers.missing()]:
            self._lost_at.pop(job, None)
            raise P2PCrawlError(f"not all pages are known here: {', '.join(missing)} is away")
        if now < self._lost_at.setdefault(job, now + BROUGHT_S):
            raise P2PCrawlError(f"not all pages are known here: {lacking} buckets are not whole")
        log.warning("job %d reads the pages that are left: %d buckets are not whole", job, lacking)


def _link_of(page: GatheredPage) -> Link:
    (text,) = page.told
    return _unpack(b64decode(text))
