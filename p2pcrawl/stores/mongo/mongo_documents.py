"""The documents that items become: what an item says, and beside it from where it is.

``url``, ``job`` and ``fetched_at`` stand beside the item's fields, as one would query them. Where an item has a field
of such a name, the item's is kept, and ours stands in ``_crawl``, in which the rest of ours always is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import bson
import msgspec
from bson.datetime_ms import DatetimeMS

from p2pcrawl.stores.mongo.mongo_faults import UNFIT, line_of
from p2pcrawl.stores.sink import RefusedItem, SinkPage

OURS = "_crawl"
DOCUMENT_BYTES_MAX = 16 * 1024 * 1024
DEPTH_MAX = 180
"""Of nested objects and arrays: MongoDB stores no more."""

_NAMES = frozenset({"_id", OURS, "url", "job", "fetched_at"})
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class UnfitItem(Exception):
    """Raised for an item that no MongoDB can hold; the message says why."""


class Drafted(NamedTuple):
    """One item as the document that is to be written."""

    page: SinkPage
    place: int
    document: dict[str, Any]

    @property
    def key(self) -> str:
        """The document's ``_id``."""
        key: str = self.document["_id"]
        return key


def page_key(page: SinkPage) -> str:
    """Returns the key of a page: those of its items begin with it."""
    return f"{page.job}-{page.fingerprint}"


def drafts_of(pages: Iterable[SinkPage], spider: str, *, history: bool) -> tuple[list[Drafted], list[RefusedItem]]:
    """Makes the documents of the items of pages, and refuses those that are no objects of readable JSON."""
    drafted, refused = [], []
    second, fetched_at = -1, DatetimeMS(0)
    for page in pages:
        if page.fetched_at != second:
            second, fetched_at = page.fetched_at, DatetimeMS(page.fetched_at * 1000)
        ours = {"spider": spider, "page": page.fingerprint, "visit": page.visit}
        for place, item in enumerate(page.items):
            key = page.key(place, history=history)
            try:
                told = _decode(item)
                if _NAMES.isdisjoint(told):
                    document = {
                        "_id": key, **told, "url": page.url, "job": page.job, "fetched_at": fetched_at, OURS: ours
                    }  # fmt: skip
                else:
                    beside = {"url": page.url, "job": page.job, "fetched_at": fetched_at}
                    document = _shared(key, told, beside, ours)
            except (UnfitItem, msgspec.MsgspecError, *UNFIT) as error:
                refused.append(RefusedItem(page, place, f"it cannot be read: {line_of(error)}"))
            else:
                drafted.append(Drafted(page, place, document))
    return drafted, refused


def _shared(key: str, told: dict[str, Any], beside: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Makes a document of an item that has names of ours. Raises UnfitItem where ours have no other place."""
    if OURS in told:
        raise UnfitItem(f"its field {OURS} is where p2pcrawl puts its own: call it otherwise")
    moved = {name: value for name, value in beside.items() if name in told}
    if "_id" in told:
        moved["id"] = told["_id"]
    return {**beside, **told, "_id": key, OURS: {**ours, **moved}}


def check(drafted: Drafted) -> None:
    """Looks at a document as MongoDB would. Raises UnfitItem."""
    try:
        size = len(bson.encode(drafted.document))
    except UNFIT as error:
        raise UnfitItem(line_of(error)) from None
    if size > DOCUMENT_BYTES_MAX:
        raise UnfitItem(f"it has {size:,} bytes, and MongoDB holds {DOCUMENT_BYTES_MAX:,}")
    if _is_deeper(drafted.document, DEPTH_MAX):
        raise UnfitItem(f"it is nested more than {DEPTH_MAX} deep")


def _is_deeper(value: object, depth: int) -> bool:
    layer = [value]
    for _ in range(depth + 1):
        layer = [
            inner
            for outer in layer
            for inner in (outer.values() if isinstance(outer, dict) else outer)  # type: ignore[attr-defined]
            if isinstance(inner, dict | list)
        ]
        if not layer:
            return False
    return True
