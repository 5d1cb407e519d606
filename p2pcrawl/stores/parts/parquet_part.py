"""Parts of Parquet, by pyarrow: all columns in each, values of another kind refused, nested ones as JSON text."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from p2pcrawl.stores.parts.part_formats import NO_FIELD, Encoded
from p2pcrawl.stores.tables.arrow_rows import arrow_schema, record_batch
from p2pcrawl.stores.tables.column_types import Columns
from p2pcrawl.stores.tables.item_chunks import chunks


class ParquetPart:
    """One row group per part, compressed with zstd."""

    columned = True

    def encode(self, items: Sequence[bytes], columns: Columns) -> Encoded:
        if not columns:
            return Encoded(b"", dict.fromkeys(range(len(items)), NO_FIELD))
        schema = arrow_schema(columns)
        refused: dict[int, str] = {}
        batches = []
        start = 0
        for chunk in chunks(items):
            batch, unfit = record_batch(chunk, columns, schema)
            batches.append(batch)
            refused.update({start + place: reason for place, reason in unfit.items()})
            start += len(chunk)
        sink = pa.BufferOutputStream()
        with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
            writer.write_table(pa.Table.from_batches(batches, schema))
        return Encoded(sink.getvalue().to_pybytes(), refused)
