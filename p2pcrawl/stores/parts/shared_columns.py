"""The columns of a folder, in ``_schema.json``: known to every writer before a part has them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from p2pcrawl.stores.parts.part_store import Overtaken, PartStore
from p2pcrawl.stores.sink import SinkAway
from p2pcrawl.stores.tables.column_types import (
    Columns,
    ColumnsSeen,
    Unfit,
    decode_columns,
    decoded_item,
    encode_columns,
)

SCHEMA = "_schema.json"
_TRIES = 8


class SharedColumns:
    """The columns that all writers of a folder write, in one order and with the same types."""

    def __init__(self, store: PartStore, where: str, types: Columns) -> None:
        """``types``: those that the address asks for, where the folder knows none yet."""
        self.known: Columns = {}
        self._store = store
        self._where = where
        self._types = types
        self._tag: str | None = None

    async def read(self) -> None:
        """Learns what others have written."""
        blob = await self._store.get(SCHEMA)
        self.known = decode_columns(blob.data, f"{self._where}: {SCHEMA}") if blob else {}
        self._tag = blob.tag if blob else None

    async def learn(self, items: Sequence[bytes]) -> None:
        """Makes sure that there are columns for items before these are written."""
        for _ in range(_TRIES):
            await self.read()
            columns = await asyncio.to_thread(_columns_of, {**self._types, **self.known}, items)
            if columns == self.known:
                return
            try:
                self._tag = await self._store.exchange(SCHEMA, encode_columns(columns), self._tag)
                self.known = columns
                return
            except Overtaken:
                continue
        raise SinkAway(f"{self._where} gets new columns from others all the time; trying again")


def _columns_of(known: Columns, items: Sequence[bytes]) -> Columns:
    seen = ColumnsSeen(known)
    for item in items:
        with suppress(Unfit):
            seen.see(decoded_item(item))
    return seen.columns
