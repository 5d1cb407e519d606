"""The latest items of a job, from all masters."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from msgspec.json import Decoder

from p2pcrawl.frontier.reading.last_items import last_items
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.overlay.peers import Peers
from p2pcrawl.peer.answers.asking import ask_others, whole_number

ITEMS = 20
ITEMS_MAX = 100
ITEM_BYTES_MAX = 16 * 1024
"""A longer item is told by its length alone; ``results`` has it."""


class NewItem(TypedDict):
    """An item and its page. ``item`` is None for one that is too long to be shown, of so many ``bytes``."""

    at: int
    url: str
    bytes: int
    item: Any


class LatestAnswer(TypedDict):
    """The latest items of a job, and the masters that did not answer."""

    job: int
    name: str
    items: list[NewItem]
    missing: list[NodeId]


_HERE = Decoder(list[NewItem])


class Newest:
    """Answers ``latest``."""

    def __init__(self, peers: Peers, folder: Path) -> None:
        self._peers = peers
        self._folder = folder

    async def of(self, job: Job, arguments: Mapping[str, Any]) -> LatestAnswer:
        """Returns the latest items at all masters, the newest first. Raises ConfigurationError for a limit that cannot
        be.
        """
        limit = whole_number(arguments, "limit", ITEMS, ITEMS_MAX)
        told, missing = await ask_others(self._peers, "latest-here", {"job": job.id, "limit": limit}, _HERE)
        parts = [await self.here(job.id, limit), *told.values()]
        items = sorted((item for part in parts for item in part), key=lambda item: -item["at"])[:limit]
        return LatestAnswer(job=job.id, name=job.spec.name, items=items, missing=missing)

    async def here(self, job: int, limit: int) -> list[NewItem]:
        """Returns those of this master."""
        found = await asyncio.to_thread(last_items, self._folder, job, min(limit, ITEMS_MAX))
        return [
            NewItem(at=at, url=url, bytes=len(line), item=json.loads(line) if len(line) <= ITEM_BYTES_MAX else None)
            for at, url, line in found
        ]
