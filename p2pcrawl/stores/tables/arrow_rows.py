"""Items as rows of Arrow, and columns as Parquet's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from p2pcrawl.stores.tables.column_types import Columns, ColumnType, Unfit, decoded_item, fitted

TYPES: Mapping[ColumnType, pa.DataType] = {
    "boolean": pa.bool_(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "text": pa.string(),
}


def arrow_schema(columns: Columns) -> pa.Schema:
    """Returns the columns as Arrow's."""
    return pa.schema([pa.field(name, TYPES[type_]) for name, type_ in columns.items()])


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
