"""The two drivers of MongoDB, of which one is used: motor, or PyMongo's own asyncio.

Their calls have the same names and arguments, so that nothing outside this file knows which one it is. motor's makers
have ended it in favour of the other: when it goes, it goes from here.
"""

from __future__ import annotations

import inspect
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from pymongo.errors import PyMongoError

from p2pcrawl.stores.mongo.mongo_place import MongoPlace

if TYPE_CHECKING:
    from pymongo import AsyncMongoClient
    from pymongo.asynchronous.collection import AsyncCollection

    Client = AsyncMongoClient[dict[str, Any]]
    Collection = AsyncCollection[dict[str, Any]]

_TIMES_MS = {"serverSelectionTimeoutMS": 3_000, "connectTimeoutMS": 3_000, "socketTimeoutMS": 20_000}
"""Shorter than the drivers' own: who waits for a primary waits outside, and can say so."""


def connect(place: MongoPlace) -> Client:
    """Makes a client, which connects when it is first used. What the address says of times is kept to."""
    times = {name: ms for name, ms in _TIMES_MS.items() if not place.has_option(name)}
    if not place.has_option("appName"):
        times["appName"] = "p2pcrawl"  # type: ignore[assignment]
    return cast("Client", _maker(place.driver)(place.driver_address.with_secret(), **times))


def _maker(driver: str) -> Any:
    if driver == "motor":
        from motor.motor_asyncio import AsyncIOMotorClient

        return AsyncIOMotorClient
    from pymongo import AsyncMongoClient

    return AsyncMongoClient


async def disconnect(client: Client) -> None:
    """Closes a client: motor's does it at once, the other when it is waited for. Raises nothing of theirs."""
    with suppress(PyMongoError):
        closing = cast(Any, client).close()
        if inspect.isawaitable(closing):
            await closing
