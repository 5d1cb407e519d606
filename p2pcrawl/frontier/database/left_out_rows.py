"""Examples of links that slaves did not follow, a few of each reason and job; how many there were is in the tallies."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final, NamedTuple

from p2pcrawl.frontier.database.tables import LEFT_OUT_TABLE

KEPT_MAX: Final = 40
"""Examples of a reason that are kept of a job: what several slaves tell, and no more, however often they are begun."""
_INSERT: Final = (
    "INSERT OR IGNORE INTO left_out (job, reason, url, page, found) SELECT ?1, ?2, ?3, ?4, ?5"
    f" WHERE (SELECT count(*) FROM left_out WHERE job = ?1 AND reason = ?2) < {KEPT_MAX}"
)


class LeftOutRow(NamedTuple):
    """A link that was not followed, and the page that it was on."""

    job: int
    reason: str
    url: str
    page: str


def make_left_out(db: sqlite3.Connection) -> None:
    """Makes the table, where a folder has none yet."""
    db.execute(LEFT_OUT_TABLE)


def write_left_out(db: sqlite3.Connection, rows: Sequence[LeftOutRow], now: int) -> None:
    """Writes as many of these as there is room for, inside a transaction."""
    db.executemany(_INSERT, [(*row, now) for row in rows])
