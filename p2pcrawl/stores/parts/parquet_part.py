"""Parts of Parquet, by pyarrow: all columns in each, values of another kind refused, nested ones as JSON text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from p2pcrawl.stores.parts.part_columns import Columns, Unfit, decoded_item, fitted
from p2pcrawl.stores.parts.part_formats import NO_FIELD, Encoded

CHUNK = 2000
"""Items that are objects of Python at a time: these take ten times the room of their bytes."""
TYPES: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "text": pa.string(),
}


class ParquetPart:
    """One row group per part, compressed with zstd."""

    columned = True

    def encode(self, items: Sequence[bytes], columns: Columns) -> Encoded:
        if not columns:
            return Encoded(b"", dict.fromkeys(range(len(items)), NO_FIELD))
        schema = arrow_schema(columns)
        refused: dict[int, str] = {}
        batches = []
        for start in range(0, len(items), CHUNK):
            batch, unfit = record_batch(items[start : start + CHUNK], columns, schema)
            batches.append(batch)
            refused.update({start + place: reason for place, reason in unfit.items()})
        sink = pa.BufferOutputStream()
        with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
            writer.write_table(pa.Table.from_batches(batches, schema))
        return Encoded(sink.getvalue().to_pybytes(), refused)


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
    arrays = [pa.array([row.get(column.name) for row in rows], column.type) for column in schema]
    return pa.record_batch(arrays, schema=schema), unfit
