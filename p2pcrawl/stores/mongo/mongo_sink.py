"""Brings items into a MongoDB collection.

First visits are unordered inserts under an ``_id`` made from the stable key of the item: what is brought again is
refused by the server as known, and nothing is overwritten. Later visits replace lower ones (``mongo_visits``), unless
all are kept (``mode=history``). Everything is written to a majority, in the journal, before it counts.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pymongo import WriteConcern
from pymongo.errors import PyMongoError

from p2pcrawl.stores.address import SinkAddress
from p2pcrawl.stores.kinds import SinkPlace
from p2pcrawl.stores.mongo.mongo_documents import OURS, Drafted, drafts_of
from p2pcrawl.stores.mongo.mongo_drivers import connect, disconnect
from p2pcrawl.stores.mongo.mongo_faults import fault_at_opening, line_of, mongo_away
from p2pcrawl.stores.mongo.mongo_place import MongoPlace, read_mongo_place
from p2pcrawl.stores.mongo.mongo_trial import make_indexes, try_to_write
from p2pcrawl.stores.mongo.mongo_visits import LatestVisits, keys_of
from p2pcrawl.stores.mongo.mongo_writes import BulkWrites
from p2pcrawl.stores.sink import BatchLimits, Position, RefusedItem, SinkPage, Written

if TYPE_CHECKING:
    from p2pcrawl.stores.mongo.mongo_drivers import Client, Collection

log = logging.getLogger(__name__)

OPEN_S = 30.0
WRITE_S = 60.0
MAJORITY_MS = 10_000
"""For so long a write waits until a majority has it."""
PART_ITEMS = 1000
"""So many are written at once, while the next ones are drafted."""
_REPLACED = "replaced"


def make_mongo_sink(address: SinkAddress, place: SinkPlace) -> MongoSink:
    """Makes a sink without touching its server. Raises ConfigurationError."""
    return MongoSink(read_mongo_place(address), place)


class MongoSink:
    """One collection that takes the items of one job, from any number of masters at once."""

    def __init__(self, place: MongoPlace, surroundings: SinkPlace) -> None:
        self.limits = BatchLimits(items=2 * PART_ITEMS)
        self._place = place
        self._spider = surroundings.job_name
        self._replace = surroundings.replace
        self._replaced = False
        self._there: _OpenCollection | None = None

    async def open(self, position: Position | None) -> Position:
        """Connects, tries what will be needed, and makes the indexes. Raises ConfigurationError and SinkAway."""
        await self.close()
        self._replaced = self._replaced or bool(position and position.get(_REPLACED))
        there = _OpenCollection(connect(self._place), self._place)
        try:
            async with asyncio.timeout(OPEN_S):
                await there.try_out()
        except PyMongoError as error:
            await there.close()
            raise fault_at_opening(self._place, error) from None
        except BaseException as error:
            await there.close()
            if isinstance(error, TimeoutError):
                raise mongo_away(self._place, error) from None
            raise
        self._there = there
        return position or {}

    async def write(self, pages: Sequence[SinkPage]) -> Written:
        """Brings pages: all their items are there when this returns, but those refused. Raises SinkAway."""
        if self._there is None:
            raise mongo_away(self._place, "it is not open")
        try:
            async with asyncio.timeout(WRITE_S):
                if pages and self._replace and not self._replaced:
                    await self._there.empty_of_other_jobs(pages[0].job)
                    self._replaced = True
                refused = await self._there.bring(pages, self._spider)
        except (PyMongoError, TimeoutError) as error:
            raise mongo_away(self._place, error) from None
        return Written({_REPLACED: True} if self._replaced else {}, tuple(refused))

    async def finish(self) -> None:
        """Does nothing: each batch left the collection whole."""

    async def close(self) -> None:
        """Lets go of the connections."""
        there, self._there = self._there, None
        if there is not None:
            await there.close()


class _OpenCollection:
    """A collection with the connections to its server. Its methods raise the driver's errors."""

    def __init__(self, client: Client, place: MongoPlace) -> None:
        concern = WriteConcern("majority", wtimeout=MAJORITY_MS, j=True)
        database = client.get_database(place.database)
        self._client = client
        self._place = place
        self._documents: Collection = database.get_collection(place.collection, write_concern=concern)
        self._notes: Collection = database.get_collection(place.visits, write_concern=concern)
        self._visits = LatestVisits(self._notes, self._documents)
        self._writes = BulkWrites(self._documents, partial(mongo_away, place))

    async def try_out(self) -> None:
        await try_to_write(self._documents)
        if not self._place.history:
            await try_to_write(self._notes)
        if reason := await make_indexes(self._documents):
            log.warning("no indexes were made in %s: %s", self._place.shown, line_of(reason))

    async def bring(self, pages: Sequence[SinkPage], spider: str) -> list[RefusedItem]:
        history = self._place.history
        if not history:
            await self._visits.note([page for page in pages if page.visit])
        written: list[asyncio.Task[list[RefusedItem]]] = []
        try:
            async with asyncio.TaskGroup() as group:
                for part in _parts(pages):
                    drafted, refused = drafts_of(part, spider, history=history)
                    written.append(group.create_task(self._write(drafted, refused)))
                    await asyncio.sleep(0)  # The server has something to do while the next part is drafted.
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        if not history:
            await self._visits.clear(pages)
        return [each for task in written for each in task.result()]

    async def _write(self, drafted: Sequence[Drafted], refused: list[RefusedItem]) -> list[RefusedItem]:
        if self._place.history:
            return refused + await self._writes.insert(drafted)
        refused += await self._writes.insert([each for each in drafted if not each.page.visit])
        return refused + await self._writes.replace([each for each in drafted if each.page.visit])

    async def empty_of_other_jobs(self, job: str) -> None:
        """Deletes what p2pcrawl put here for other jobs, and nothing else."""
        others = {"$not": keys_of(job)}
        await self._notes.delete_many({"_id": others})
        await self._documents.delete_many({"_id": others, OURS: {"$exists": True}})

    async def close(self) -> None:
        await disconnect(self._client)


def _parts(pages: Sequence[SinkPage]) -> Iterator[list[SinkPage]]:
    """Cuts pages into parts of some hundred items, which are written at once."""
    part: list[SinkPage] = []
    items = 0
    for page in pages:
        part.append(page)
        items += len(page.items)
        if items >= PART_ITEMS:
            yield part
            part, items = [], 0
    if part:
        yield part
