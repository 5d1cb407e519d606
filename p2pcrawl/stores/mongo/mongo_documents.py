"""The documents that items become: what an item says, and beside it from where it is.

``url``, ``job`` and ``fetched_at`` stand beside the item's fields, as one would query them. Where an item has a field
of such a name, the item's is kept, and ours stands in ``_crawl``, in which the rest of ours always is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import bson
import msgspec
from bson.datetime_ms import DatetimeMS

from p2pcrawl.stores.mongo.mongo_faults import UNFIT, line_of
from p2pcrawl.stores.sink import SinkPage

OURS = "_crawl"
DOCUMENT_BYTES_MAX = 16 * 1024 * 1024
DEPTH_MAX = 180
"""Of nested objects and arrays: MongoDB stores no more."""

_decode = msgspec.json.Decoder(dict[str, Any]).decode


class UnfitItem(Exception):
    """Raised for an item that no MongoDB can hold; the message says why."""


@dataclass(frozen=True, slots=True)
class Drafted:
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


def draft(page: SinkPage, place: int, spider: str, *, history: bool) -> Drafted:
    """Makes the document of one item. Raises UnfitItem when it is no object of readable JSON."""
    try:
        document = _decode(page.items[place])
    except (msgspec.MsgspecError, *UNFIT) as error:
        raise UnfitItem(f"it cannot be read: {line_of(error)}") from None
    if OURS in document:
        raise UnfitItem(f"its field {OURS} is where p2pcrawl puts its own: call it otherwise")
    ours: dict[str, Any] = {"spider": spider, "page": page.fingerprint, "visit": page.visit}
    if "_id" in document:
        ours["id"] = document["_id"]
    document["_id"] = page.key(place, history=history)
    for name, value in (("url", page.url), ("job", page.job), ("fetched_at", DatetimeMS(page.fetched_at * 1000))):
        if document.setdefault(name, value) is not value:
            ours[name] = value
    document[OURS] = ours
    return Drafted(page, place, document)


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
