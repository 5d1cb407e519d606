"""Checks whether a database still holds what was written to it.

SQLite notices a page that makes no sense only when it comes across it, somewhere in the middle of something else. So a
database is looked through when it is opened, for a bounded time, and as a whole beside the crawl, once in a while.
What that finds: pages, rows, indexes and lists of free pages that cannot be. What it does not find: one letter of a
text that has become another, for SQLite keeps no sums of its pages.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from p2pcrawl.model.crawl.record import Phase

OPENING_S = 3.0
"""For so long a database is looked through before it is used: millions of records, if they are in memory. The rest is
looked through some minutes later, beside the crawl."""
_STEPS = 10_000
"""Between two looks at the clock, in SQLite's steps: well under a millisecond."""


class Nonsense(ValueError):
    """Raised for what was read from a database and was never written there."""


def stored_phase(number: int) -> Phase:
    """Reads a record's phase, as it is stored. Raises Nonsense."""
    try:
        return Phase(number)
    except ValueError as error:
        raise Nonsense(f"a record is in phase {number!r:.20}, which there is not") from error


class Finding(NamedTuple):
    damage: str
    """What is wrong, in SQLite's words; "" if nothing is, as far as was looked."""
    through: bool
    """Whether all of it was looked through."""


def look_through(
    connection: sqlite3.Connection, seconds: float, stopped: Callable[[], bool] = lambda: False
) -> Finding:
    """Reads every page, until the time is over or ``stopped`` says so. Raises sqlite3.DatabaseError as any reading."""
    until = monotonic() + seconds
    connection.set_progress_handler(lambda: stopped() or monotonic() >= until, _STEPS)
    try:
        first = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_INTERRUPT:
            raise
        return Finding("", False)
    finally:
        connection.set_progress_handler(None, 0)
    return Finding("" if first == "ok" else _in_short(first), True)


def look_through_beside(path: Path, stopped: Callable[[], bool]) -> Finding:
    """Looks through the whole of a database that somebody else writes to meanwhile, without holding that up.

    Its log cannot be begun anew till this is over, and grows by what is written in that time.
    """
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)) as connection:
            return look_through(connection, float("inf"), stopped)
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return Finding(_in_short(str(error)), True)
        # The database cannot be read now; whoever writes to it will find out why.
        return Finding("", False)


def _in_short(text: str) -> str:
    return " ".join(text.replace("*** in database main ***", "").split())[:200]
