"""Many rows in one statement.

``executemany`` steps once per row and gives the interpreter lock away each time, which beside a busy
event loop turns 15 ms into 700. A statement with many VALUES steps once. Sizes are powers of four, so
that SQLite's statement cache holds them all.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

Row = Sequence[Any]

_SIZES = (256, 64, 16, 4, 1)
_VARIABLES_MAX = 32_000


def run_many(connection: sqlite3.Connection, before: str, rows: Sequence[Row], after: str = "") -> None:
    """Runs ``before VALUES (..),(..) after`` over all rows."""
    for sql, parameters in statements(before, rows, after):
        connection.execute(sql, parameters)


def select_many(connection: sqlite3.Connection, before: str, rows: Sequence[Row], after: str = "") -> list[Any]:
    """The same for a statement that answers rows."""
    found: list[Any] = []
    for sql, parameters in statements(before, rows, after):
        found.extend(connection.execute(sql, parameters))
    return found


def statements(before: str, rows: Sequence[Row], after: str) -> Iterator[tuple[str, list[Any]]]:
    """The statements and their parameters."""
    if not rows:
        return
    width = len(rows[0])
    place = "(" + ",".join("?" * width) + ")"
    start = 0
    for size in _SIZES:
        if size * width > _VARIABLES_MAX:
            continue
        while len(rows) - start >= size:
            part = rows[start : start + size]
            start += size
            yield f"{before} VALUES {','.join([place] * size)} {after}", list(chain.from_iterable(part))
