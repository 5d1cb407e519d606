"""Many rows in one statement.

``executemany`` steps once per row and gives the interpreter lock away each time, which beside a busy
event loop turns 15 ms into 700. A statement with many VALUES steps once. There are few sizes, so that
SQLite's statement cache holds them all: a few rows, which is what most commits have, are one statement.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

Row = Sequence[Any]

_FEW = 8
"""So many rows or fewer have a statement of just their number."""
_SIZES = (256, 64, 16, _FEW)
_VARIABLES_MAX = 32_000
_TEXTS_MAX = 1_024


def run_many(
    connection: sqlite3.Connection | sqlite3.Cursor, before: str, rows: Sequence[Row], after: str = ""
) -> list[Any]:
    """Runs ``before VALUES (..),(..) after`` over all rows, many in one statement. Returns all that is answered."""
    answered: list[Any] = []
    start, end = 0, len(rows)
    while start < end:
        size = _size(end - start, len(rows[0]))
        parameters = list(chain.from_iterable(rows[start : start + size]))
        answered += connection.execute(_text(before, len(rows[0]), size, after), parameters)
        start += size
    return answered


def insert_many(
    connection: sqlite3.Connection, table: str, rows: Sequence[Mapping[str, Any]], *, replace: bool = False
) -> None:
    """Inserts rows that name their columns, all of them the same ones in the same order. ``replace``: in place of those
    with the same keys.
    """
    if rows:
        verb = "INSERT OR REPLACE" if replace else "INSERT"
        run_many(connection, f"{verb} INTO {table} ({', '.join(rows[0])})", [tuple(row.values()) for row in rows])


def _size(left: int, width: int) -> int:
    """Returns how many rows the next statement has."""
    if left <= _FEW:
        return left
    return next(size for size in _SIZES if size <= left and size * width <= _VARIABLES_MAX)


@lru_cache(maxsize=_TEXTS_MAX)
def _text(before: str, width: int, size: int, after: str) -> str:
    place = "(" + ",".join("?" * width) + ")"
    return f"{before} VALUES {','.join([place] * size)} {after}"
