"""A Parquet file made of the one that was there and of items in a file, with little of either in memory."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from p2pcrawl.model.errors import ConfigurationError, StorageError
from p2pcrawl.stores.files.disk import sync_folder_of
from p2pcrawl.stores.tables.arrow_rows import TYPES, arrow_schema, batch_of
from p2pcrawl.stores.tables.column_types import (
    EXACT,
    Columns,
    ColumnsSeen,
    ColumnType,
    Unfit,
    as_json,
    decoded_item,
    fitted,
)
from p2pcrawl.stores.tables.item_chunks import chunks

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

GROUP_ROWS = 50_000
GROUP_BYTES = 32 * 1024 * 1024
"""A row group has as many rows as this, or as many bytes: that much is in memory of whoever writes and reads it."""
MORE = "_more"
"""The column of what has no column of its own."""
_NOTE = b"p2pcrawl"
_NAMES: Mapping[pa.DataType, ColumnType] = {type_: name for name, type_ in TYPES.items()}


@dataclass(frozen=True, slots=True)
class Note:
    """The note that a file of ours has of itself."""

    run: str
    """The crawl that made it."""
    before: int
    """How many rows are older than that crawl; -1: all that are there."""
    items: int
    """How many are that crawl's, behind those."""


def note_of(path: str) -> Note | None:
    """Reads the note of a file; None where there is no file, or somebody else's."""
    try:
        noted = (pq.read_metadata(path).metadata or {}).get(_NOTE)
    except (FileNotFoundError, pa.ArrowInvalid):
        return None
    return Note(**json.loads(noted)) if noted else None


def check_continuable(path: str, *, replace: bool) -> None:
    """Raises ConfigurationError for a file that rows cannot be added to."""
    if replace or not os.path.exists(path) or not os.path.getsize(path):
        return
    try:
        schema = pq.read_schema(path)
    except pa.ArrowInvalid as error:
        reason = f"is no whole Parquet file ({str(error).splitlines()[0][:80]})"
    else:
        others = [column for column in schema if column.type not in _NAMES]
        if not others:
            return
        kinds = ", ".join(map(str, _NAMES))
        reason = f"has a column {others[0].name!r} of the type {others[0].type}, which is none of {kinds}"
    raise ConfigurationError(f"cannot append to {path}, which {reason}; replace it with -O or choose another file")


def make_parquet(path: str, heap: str, note: Note, first: int, fields: Sequence[str], *, replace: bool) -> None:
    """Makes the file at ``path`` anew: the rows that were before the crawl and its ``first`` items are taken from the
    old file, the others from the lines of ``heap``. The old file stays until the new one is whole and durable.
    """
    path = os.path.realpath(path)
    old = None
    if note.before >= 0 or (not replace and os.path.exists(path) and os.path.getsize(path)):
        old = pq.ParquetFile(path)
    before = note.before if note.before >= 0 else old.metadata.num_rows if old is not None else 0
    columns = _columns_of(old, heap, fields)
    noted = {_NOTE: json.dumps(asdict(Note(note.run, before, note.items)))}
    schema = arrow_schema(columns).with_metadata(noted)
    folder, name = os.path.split(path)
    draft = os.path.join(folder, f".{name}.draft")
    try:
        with open(draft, "wb") as file:
            with pq.ParquetWriter(file, schema, compression="zstd") as writer:
                for batches in _groups(_batches(old, before + first, heap, columns, schema)):
                    writer.write_table(pa.Table.from_batches(batches, schema))
            file.flush()
            os.fsync(file.fileno())
        if old is not None:
            old.close()
            shutil.copymode(path, draft)
        os.replace(draft, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(draft)
        raise
    sync_folder_of(path)


def _columns_of(old: pq.ParquetFile | None, heap: str, fields: Sequence[str]) -> Columns:
    seen = ColumnsSeen()
    for place, column in enumerate(old.schema_arrow if old is not None else ()):
        seen.see_column(column.name, _NAMES[column.type], exact=_is_exact(old, place))
    for fields_of_item in _items(heap):
        seen.see(fields_of_item)
    columns = seen.columns
    if seen.more or not columns:
        columns[MORE] = "text"
    return {name: columns[name] for name in (*(name for name in fields if name in columns), *columns)}


def _is_exact(old: pq.ParquetFile, place: int) -> bool:
    """Tells whether all whole numbers of a column are floating-point numbers, too."""
    for group in range(old.num_row_groups):
        told = old.metadata.row_group(group).column(place).statistics
        if told is None or not told.has_min_max:
            return False
        if isinstance(told.min, int) and max(abs(told.min), abs(told.max)) > EXACT:
            return False
    return True


def _batches(
    old: pq.ParquetFile | None, rows: int, heap: str, columns: Columns, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    if old is not None:
        for batch in old.iter_batches(batch_size=4096):
            batch = batch.slice(0, rows)
            rows -= batch.num_rows
            names = batch.schema.names
            yield pa.record_batch(
                [
                    batch.column(column.name).cast(column.type)
                    if column.name in names
                    else pa.nulls(batch.num_rows, column.type)
                    for column in schema
                ],
                schema=schema,
            )
            if rows <= 0:
                break
    for chunk in chunks(_lines(heap)):
        yield batch_of([_row(decoded_item(line), columns) for line in chunk], schema)


def _groups(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    group: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        group.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= GROUP_ROWS or size >= GROUP_BYTES:
            yield group
            group, rows, size = [], 0, 0
    if group:
        yield group


def _row(item: dict[str, Any], columns: Columns) -> dict[str, Any]:
    if item.keys() <= columns.keys():
        return fitted(item, columns)
    more = {name: value for name, value in item.items() if name not in columns and value is not None}
    row = fitted({name: value for name, value in item.items() if name in columns}, columns)
    return {**row, MORE: as_json(more)} if more else row


def _items(heap: str) -> Iterator[dict[str, Any]]:
    for line in _lines(heap):
        try:
            yield decoded_item(line)
        except Unfit as error:
            raise StorageError(f"an item is not a JSON object: {error}") from None


def _lines(heap: str) -> Iterator[bytes]:
    if os.path.getsize(heap):
        with zstd.open(heap, "rb") as file:
            yield from file
