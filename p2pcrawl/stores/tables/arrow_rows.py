"""Items as rows of Arrow, and columns as Parquet's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from p2pcrawl.stores.tables.column_types import Columns, ColumnType, Unfit, decoded_item, fitted

CHUNK_ITEMS = 2000
CHUNK_BYTES = 2 * 1024 * 1024
"""Items that are objects of Python at a time: these take up to ten times the room of their bytes."""
TYPES: Mapping[ColumnType, pa.DataType] = {
    "boolean": pa.bool_(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "text": pa.string(),
}


def arrow_schema(columns: Columns) -> pa.Schema:
    """Returns the columns as Arrow's."""
    return pa.schema([pa.field(name, TYPES[type_]) for name, type_ in columns.items()])


def chunks(items: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yields items, so many at a time as may be objects of Python."""
    chunk: list[bytes] = []
    size = 0
    for item in items:
        chunk.append(item)
        size += len(item)
        if len(chunk) == CHUNK_ITEMS or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def record_batch(items: Sequence[bytes], columns: Columns, schema: pa.Schema) -> tuple[pa.RecordBatch, dict[int, str]]:
    """Returns the items as rows, and those that cannot be rows, by place, with why."""
    unfit: dict[int, str] = {}
    rows: list[dict[str, Any]] = []
    for place, item in enumerate(items):
        try:
            rows.append(fitted(decoded_item(item), columns))
        except Unfit as reason:
            unfit[place] = str(reason)
    return batch_of(rows, schema), unfit


def batch_of(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    """Returns rows that fit."""
    arrays = [pa.array([row.get(column.name) for row in rows], column.type) for column in schema]
    return pa.record_batch(arrays, schema=schema)
