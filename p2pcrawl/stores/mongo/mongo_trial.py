"""The trial of a collection before anything is brought: that it may be written, and that it has its indexes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pymongo import IndexModel
from pymongo.errors import BulkWriteError, OperationFailure, PyMongoError

from p2pcrawl.stores.mongo.mongo_faults import is_answer

if TYPE_CHECKING:
    from p2pcrawl.stores.mongo.mongo_drivers import Collection

INDEXES_S = 5.0
"""How long the indexes of what is there already may take; then the server goes on alone, or it is tried again."""
INDEXED = ("url", "job", "fetched_at")
_NO_DOCUMENT = {"_id": "p2pcrawl has no document of this name"}
_INVALID_ID = 53


async def try_to_write(collection: Collection) -> None:
    """Finds, deletes, changes and inserts nothing at all, for which one needs the same rights as for something. Raises
    the driver's errors.
    """
    await collection.find_one(_NO_DOCUMENT)
    await collection.delete_many(_NO_DOCUMENT)
    await collection.update_one(_NO_DOCUMENT, {"$set": {"never": True}})
    try:
        # No MongoDB takes a list as an _id.
        await collection.insert_many([{"_id": []}], ordered=False)
    except BulkWriteError as error:
        codes = {each["code"] for each in error.details["writeErrors"]}
        if codes != {_INVALID_ID}:
            raise OperationFailure(error.details["writeErrors"][0]["errmsg"], min(codes)) from None


async def make_indexes(collection: Collection) -> str:
    """Makes the indexes that are not there. Returns why they could not be made, or "": nothing rests on them but the
    speed of queries, so a user's own are kept, and a great or reluctant collection is not waited for.
    """
    try:
        async with asyncio.timeout(INDEXES_S):
            there = {index["key"][0][0] for index in (await collection.index_information()).values()}
            if missing := [IndexModel([(name, 1)]) for name in INDEXED if name not in there]:
                await collection.create_indexes(missing)
    except PyMongoError as error:
        if is_answer(error):
            raise
        return str(error)
    except TimeoutError:
        return f"they are not there after {INDEXES_S:g} s"
    return ""
