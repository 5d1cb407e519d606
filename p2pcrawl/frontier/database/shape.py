"""Compares the tables of a database with those that were made in it.

SQLite reads how a table was made from the database itself. A letter of that which the disk has changed makes no page
nonsense, and is found by no looking through: it makes a column of another name or another kind, or a trigger that takes
out other rows than it should.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cache
from typing import NamedTuple

from p2pcrawl.frontier.database.tables import Layout

_MADE = "SELECT type, name, sql FROM main.sqlite_master WHERE sql IS NOT NULL"
_COLUMNS = 'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_xinfo(?)'

Shape = dict[str, tuple[object, ...]]


class _Shapes(NamedTuple):
    made: Shape
    later: Shape


def other_shape(connection: sqlite3.Connection, layout: Layout) -> str:
    """Tells what of a database of this format is not as it was made, in few words; "" if all is."""
    wanted, here = _wanted(layout.make, tuple(layout.later)), _shape(connection)
    for name, shape in wanted.made.items():
        if name not in here:
            return f"it has no {name}"
        if here[name] != shape:
            return f"{name} in it is not as it was made"
    for name, shape in wanted.later.items():
        if here.get(name, shape) != shape:
            return f"{name} in it is not as it was made"
    return ""


@cache
def _wanted(make: Callable[[sqlite3.Connection], None], later: Sequence[str]) -> _Shapes:
    with closing(sqlite3.Connection(":memory:")) as new:
        make(new)
        made = _shape(new)
        for statement in later:
            new.execute(statement)
        return _Shapes(made, {name: shape for name, shape in _shape(new).items() if name not in made})


def _shape(connection: sqlite3.Connection) -> Shape:
    """Returns the columns of each table, in any order, for those that came with an upgrade stand last; of all else how
    it was made.
    """
    return {
        name: (kind, *sorted(connection.execute(_COLUMNS, (name,)).fetchall()))
        if kind == "table"
        else (kind, " ".join(sql.split()))
        for kind, name, sql in connection.execute(_MADE).fetchall()
    }
