"""Writing many documents at once, each taken or refused by itself.

One document that MongoDB does not take can stop a whole batch: in the driver, which cannot encode it, or in the server,
which cannot read the command that it is in. Then the batch is looked through, and if that finds nothing, cut in halves.
All of that may repeat writes that were done: they are such as may be repeated.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pymongo import ReplaceOne
from pymongo.errors import BulkWriteError, PyMongoError

from p2pcrawl.stores.mongo.mongo_documents import OURS, Drafted, UnfitItem, check
from p2pcrawl.stores.mongo.mongo_faults import DUPLICATE_KEY, UNFIT, is_answer, line_of, passes
from p2pcrawl.stores.mongo.mongo_trial import try_to_write
from p2pcrawl.stores.sink import RefusedItem, SinkAway

if TYPE_CHECKING:
    from p2pcrawl.stores.mongo.mongo_drivers import Collection

Away = Callable[[BaseException | str], SinkAway]


class BulkWrites:
    """Brings documents into one collection, and gathers those that it refuses. ``away`` makes the error for a server
    that takes nothing now.
    """

    def __init__(self, collection: Collection, away: Away) -> None:
        self._collection = collection
        self._away = away

    async def insert(self, drafted: Sequence[Drafted]) -> list[RefusedItem]:
        """Inserts documents; what is there under their keys already stays. Raises SinkAway or the driver's errors."""
        refused, _ = await self._write(self._insert, drafted)
        return refused

    async def replace(self, drafted: Sequence[Drafted]) -> list[RefusedItem]:
        """Puts documents into the place of those of earlier visits; those of the same or later ones stay."""
        refused, there = await self._write(self._replace, drafted)
        if there:
            # Of the same visit or a later one; or of an earlier one that was inserted at the same moment.
            more, _ = await self._write(self._replace, there)
            refused += more
        return refused

    async def _insert(self, drafted: Sequence[Drafted]) -> None:
        await self._collection.insert_many([each.document for each in drafted], ordered=False)

    async def _replace(self, drafted: Sequence[Drafted]) -> None:
        await self._collection.bulk_write([_replacement(each) for each in drafted], ordered=False)

    async def _write(
        self, send: Callable[[Sequence[Drafted]], Awaitable[None]], drafted: Sequence[Drafted]
    ) -> tuple[list[RefusedItem], list[Drafted]]:
        """Writes what can be written. Returns what was refused, and what had its key there already."""
        if not drafted:
            return [], []
        try:
            await send(drafted)
        except BulkWriteError as error:
            return await self._sort(error.details, drafted)
        except (PyMongoError, *UNFIT) as error:
            if isinstance(error, PyMongoError) and not isinstance(error, UNFIT) and not is_answer(error):
                raise
            refused, sound = _look_through(drafted)
            if not refused and len(sound) == 1:
                await try_to_write(self._collection)  # Is it the document, or is it the server?
                return [_refusal(sound[0], line_of(error))], []
            middle = len(sound) if refused else len(sound) // 2
            there: list[Drafted] = []
            for part in (sound[:middle], sound[middle:]):
                more, had = await self._write(send, part)
                refused += more
                there += had
            return refused, there
        return [], []

    async def _sort(
        self, details: Mapping[str, Any], drafted: Sequence[Drafted]
    ) -> tuple[list[RefusedItem], list[Drafted]]:
        """Sorts the errors of single documents. Raises SinkAway when one of them is none of the document's."""
        for concern in details.get("writeConcernErrors") or ():
            raise self._away(concern.get("errmsg") or "no majority has it")
        refused, there, doubtful = [], [], []
        for error in details["writeErrors"]:
            one, code, said = drafted[error["index"]], error.get("code"), line_of(error.get("errmsg") or "refused")
            if code == DUPLICATE_KEY:
                own = error.get("keyPattern") == {"_id": 1}
                (there.append(one) if own else doubtful.append((one, said)))
            elif passes(code):
                raise self._away(said)
            else:
                refused.append(_refusal(one, said))
        if doubtful:
            # Another index has it twice: that of this very document, or another's.
            asked = {"_id": {"$in": [one.key for one, _ in doubtful]}}
            known = {found["_id"] for found in await self._collection.find(asked, {"_id": 1}).to_list(None)}
            there += [one for one, _ in doubtful if one.key in known]
            refused += [_refusal(one, said) for one, said in doubtful if one.key not in known]
        return refused, there


def _replacement(drafted: Drafted) -> ReplaceOne[dict[str, Any]]:
    guard = {"_id": drafted.key, f"{OURS}.visit": {"$lt": drafted.page.visit}}
    # The key comes first, for the driver takes what begins with a "$" for something else.
    return ReplaceOne(guard, {"_id": drafted.key, **drafted.document}, upsert=True)


def _look_through(drafted: Sequence[Drafted]) -> tuple[list[RefusedItem], list[Drafted]]:
    refused, sound = [], []
    for each in drafted:
        try:
            check(each)
        except UnfitItem as error:
            refused.append(_refusal(each, str(error)))
        else:
            sound.append(each)
    return refused, sound


def _refusal(drafted: Drafted, reason: str) -> RefusedItem:
    return RefusedItem(drafted.page, drafted.place, reason)
