"""The slices of this master's own work as they are stored; see :mod:`p2pcrawl.core.slices`."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from p2pcrawl.core.slices import Slice
from p2pcrawl.frontier.database.integrity import Nonsense
from p2pcrawl.frontier.database.statements import run_many


def write_slices(db: sqlite3.Connection, slices: Sequence[Slice], gone: Sequence[tuple[int, str]]) -> None:
    """Puts slices in the place of those of the same names, and deletes those that are gone."""
    rows = [(each.job, each.name, each.version, msgspec.msgpack.encode(each.figures)) for each in slices]
    run_many(db, "INSERT OR REPLACE INTO statistic (job, name, version, figures)", rows)
    run_many(db, "DELETE FROM statistic WHERE (job, name) IN (", gone, ")")


def read_slices(db: sqlite3.Connection) -> list[Slice]:
    """Returns all slices. Raises Nonsense for what is none."""
    rows = db.execute("SELECT job, name, version, figures FROM statistic").fetchall()
    try:
        return [
            Slice(job, name, version, msgspec.msgpack.decode(figures, type=dict[str, int]))
            for job, name, version, figures in rows
        ]
    except msgspec.MsgspecError as error:
        raise Nonsense(f"a statistic cannot be read: {error}") from error
