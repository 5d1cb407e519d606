"""Later visits of a page, whose items replace those of its earlier ones, in whatever order and by whomever they come.

The latest visit of each page that has had more than one is noted in a collection of its own, before its items are
written. Whoever has written items of a page looks there *afterwards*, and deletes those of visits before the one noted:
either it sees the note, or whoever notes sees its items. So an earlier visit that comes late leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pymongo import DeleteMany, UpdateOne
from pymongo.errors import BulkWriteError

from p2pcrawl.stores.mongo.mongo_documents import OURS, page_key
from p2pcrawl.stores.mongo.mongo_faults import DUPLICATE_KEY
from p2pcrawl.stores.sink import SinkPage

if TYPE_CHECKING:
    from p2pcrawl.stores.mongo.mongo_drivers import Collection


class LatestVisits:
    """The notes of latest visits that lie beside one collection, and what follows from them for its documents."""

    def __init__(self, notes: Collection, documents: Collection) -> None:
        self._notes = notes
        self._documents = documents
        self._has_notes_of = ""

    async def note(self, pages: Sequence[SinkPage]) -> None:
        """Notes the visits of pages, unless later ones are noted. Raises the driver's errors."""
        notes = [UpdateOne({"_id": page_key(page)}, {"$max": {"visit": page.visit}}, upsert=True) for page in pages]
        if not notes:
            return
        try:
            await self._notes.bulk_write(notes, ordered=False)
        except BulkWriteError as error:
            if {each["code"] for each in error.details["writeErrors"]} != {DUPLICATE_KEY}:
                raise
            # Another master made the same notes at the same moment: now they are there to be changed.
            await self._notes.bulk_write(notes, ordered=False)

    async def clear(self, pages: Sequence[SinkPage]) -> None:
        """Deletes what these pages have of earlier visits than their latest. Raises the driver's errors."""
        if not pages or not await self._any_of(pages[0].job):
            return
        keys = {page_key(page): page.visit for page in pages}
        notes = await self._notes.find({"_id": {"$in": list(keys)}}).to_list(None)
        if old := [DeleteMany(_of_page(note["_id"], note["visit"])) for note in notes]:
            await self._documents.bulk_write(old, ordered=False)

    async def _any_of(self, job: str) -> bool:
        """Tells whether there are notes of a job at all, which asks less than all its pages would."""
        if self._has_notes_of != job and await self._notes.find_one({"_id": keys_of(job)}) is not None:
            self._has_notes_of = job
        return self._has_notes_of == job


def keys_of(name: str) -> dict[str, str]:
    """Returns the condition that an ``_id`` is of this job, or of this page."""
    return {"$gte": f"{name}-", "$lt": f"{name}."}  # "." follows "-".


def _of_page(key: str, before_visit: int) -> dict[str, object]:
    return {"_id": keys_of(key), f"{OURS}.visit": {"$lt": before_visit}}
