"""The tables of a data folder's files.

``docs/architecture.md`` says why each table of the frontier looks as it does.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """A kind of database: its file, how its header tells it from others, and what is in a new one."""

    file: str
    application: int
    format: int
    make: Callable[[sqlite3.Connection], None]
    """Makes the tables, inside a transaction."""
    upgrades: Mapping[int, Sequence[str]]
    """From a format: the statements that bring it to the next."""
    fill: Callable[[sqlite3.Connection], object] = lambda db: None
    """Writes what is in a new one, inside the same transaction."""
    later: Sequence[str] = ()
    """What makes the rest, as soon as that is wanted. Whatever is made otherwise than before gets another name, or a
    format of its own: a database that has it otherwise counts as damaged."""


_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE job (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, spec BLOB NOT NULL, state TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '', created INTEGER NOT NULL
);
CREATE TABLE tally (job INTEGER, name TEXT, count INTEGER NOT NULL, PRIMARY KEY (job, name)) WITHOUT ROWID;
CREATE TABLE record (
    id INTEGER PRIMARY KEY, job INTEGER NOT NULL, hi INTEGER NOT NULL, lo INTEGER NOT NULL, host INTEGER NOT NULL,
    kind TEXT NOT NULL, priority INTEGER NOT NULL, depth INTEGER NOT NULL, seed INTEGER NOT NULL,
    callback TEXT NOT NULL, parent INTEGER NOT NULL, found INTEGER NOT NULL,
    phase INTEGER NOT NULL, attempts INTEGER NOT NULL, losses INTEGER NOT NULL,
    status INTEGER NOT NULL, reason TEXT NOT NULL, size INTEGER NOT NULL, ended INTEGER NOT NULL, digest BLOB,
    url TEXT NOT NULL, extra BLOB, bucket INTEGER NOT NULL, referer TEXT, visit INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL DEFAULT 0, turn INTEGER NOT NULL DEFAULT 0, told INTEGER, past BLOB,
    page_type TEXT NOT NULL DEFAULT ''
);
CREATE TABLE attempt (
    record INTEGER, number INTEGER, ended INTEGER NOT NULL, reason TEXT NOT NULL, status INTEGER NOT NULL,
    latency REAL NOT NULL, detail TEXT NOT NULL, PRIMARY KEY (record, number)
) WITHOUT ROWID;
CREATE TABLE lease (
    record INTEGER PRIMARY KEY, job INTEGER NOT NULL, lease INTEGER NOT NULL, attempt INTEGER NOT NULL
);
CREATE TABLE item (
    id INTEGER PRIMARY KEY, job INTEGER NOT NULL, record INTEGER NOT NULL, count INTEGER NOT NULL, data BLOB NOT NULL,
    marks INTEGER
);
CREATE INDEX item_record ON item (record);
CREATE TABLE staged (record INTEGER NOT NULL, job INTEGER NOT NULL, count INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX staged_record ON staged (record);
CREATE TABLE sink (job INTEGER, path TEXT, spec TEXT NOT NULL, delivered INTEGER NOT NULL, position TEXT NOT NULL,
    place INTEGER, PRIMARY KEY (job, path)) WITHOUT ROWID;
CREATE TABLE host (
    key INTEGER, origin TEXT, agent TEXT, verdict TEXT NOT NULL, body BLOB NOT NULL, reason TEXT NOT NULL,
    crawl_delay REAL NOT NULL, known INTEGER NOT NULL, PRIMARY KEY (key, origin, agent)
) WITHOUT ROWID;
CREATE TABLE pause (key INTEGER PRIMARY KEY, until INTEGER NOT NULL, seconds REAL NOT NULL);
"""

_STATISTIC = """
CREATE TABLE statistic (
    job INTEGER, name TEXT, version INTEGER NOT NULL, figures BLOB NOT NULL, PRIMARY KEY (job, name)
) WITHOUT ROWID
"""

_TURN_INDEX = "CREATE INDEX record_turn ON record (job, turn, due) WHERE turn > 0"
# Of the records that are to be visited again alone: those that never are cost nothing but the look at their turn.

_GENERATION = """
CREATE TABLE seen{0} (
    hi INTEGER, lo INTEGER, job INTEGER, id INTEGER NOT NULL, PRIMARY KEY (hi, lo, job)
) WITHOUT ROWID;
CREATE TABLE queue{0} (
    job INTEGER, host INTEGER, kind TEXT, prio INTEGER, seq INTEGER, id INTEGER NOT NULL,
    PRIMARY KEY (job, host, kind, prio, seq)
) WITHOUT ROWID;
"""

_LEAVE = """
CREATE VIEW leave AS SELECT job, host, kind, prio, seq FROM queue;
"""
_LEAVE_TRIGGER = """
CREATE TRIGGER leave_queue INSTEAD OF INSERT ON leave BEGIN
    DELETE FROM queue_young WHERE job = NEW.job AND host = NEW.host AND kind = NEW.kind AND prio = NEW.prio
        AND seq = NEW.seq;
    DELETE FROM queue WHERE job = NEW.job AND host = NEW.host AND kind = NEW.kind AND prio = NEW.prio
        AND seq = NEW.seq;
END
"""
# Rows inserted into ``leave`` leave the queue: SQLite cannot delete a list of composite keys by index,
# it would scan the table.


def _make(connection: sqlite3.Connection) -> None:
    generations = _GENERATION.format(""), _GENERATION.format("_young")
    run_script(connection, _TABLES, _TURN_INDEX, _STATISTIC, *generations, _LEAVE)
    connection.execute(_LEAVE_TRIGGER)


def _fill(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO meta VALUES ('store', ?), ('created', ?)", (os.urandom(16).hex(), int(time.time())))


def run_script(connection: sqlite3.Connection, *scripts: str) -> None:
    """Statements without a semicolon inside; ``executescript`` would end the transaction."""
    for script in scripts:
        for statement in script.split(";"):
            if statement.strip():
                connection.execute(statement)


RECORD_INDEX = """
CREATE INDEX IF NOT EXISTS record_place ON record (bucket, hi, lo, job, visit, phase, attempts, losses, seed)
"""
NO_OLD_INDEX = "DROP INDEX IF EXISTS record_bucket"
"""That of earlier versions, which knew nothing of entries."""
FAILED_INDEX = """
CREATE INDEX IF NOT EXISTS record_failed ON record (job, reason, host, phase) WHERE phase = 2
"""
"""Of the records that failed alone (``Phase.FAILED``), so that all others cost nothing but the look at their phase."""
DROPPED_INDEX = """
CREATE INDEX IF NOT EXISTS record_dropped ON record (job, reason, host, phase) WHERE phase = 1
"""
"""The same of those that were dropped (``Phase.DROPPED``)."""
LEFT_OUT_TABLE = """
CREATE TABLE IF NOT EXISTS left_out (
    job INTEGER, reason TEXT, url TEXT, page TEXT NOT NULL, found INTEGER NOT NULL, PRIMARY KEY (job, reason, url)
) WITHOUT ROWID
"""
"""Examples of links that were not followed. A folder without the table is one of which nobody has told any."""
IMPRINT_TABLE = (
    "CREATE TABLE IF NOT EXISTS imprint (record INTEGER PRIMARY KEY, job INTEGER NOT NULL, hi INTEGER NOT NULL,"
    " page BLOB NOT NULL, signature BLOB NOT NULL, url TEXT NOT NULL, first INTEGER NOT NULL)",
    "CREATE INDEX IF NOT EXISTS imprint_band ON imprint (job, hi, record) WHERE first",
    "CREATE INDEX IF NOT EXISTS imprint_page ON imprint (page)",
)
"""The imprints of texts, once there is one."""

FRONTIER = Layout(
    "frontier.db",
    0x70327063,
    5,
    _make,
    {
        1: ("ALTER TABLE record ADD COLUMN visit INTEGER NOT NULL DEFAULT 0",),
        2: ("ALTER TABLE item ADD COLUMN marks INTEGER", "ALTER TABLE sink ADD COLUMN place INTEGER"),
        3: (_STATISTIC,),
        4: (
            "ALTER TABLE record ADD COLUMN due INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE record ADD COLUMN turn INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE record ADD COLUMN told INTEGER",
            "ALTER TABLE record ADD COLUMN past BLOB",
            "ALTER TABLE record ADD COLUMN page_type TEXT NOT NULL DEFAULT ''",
            _TURN_INDEX,
        ),
    },
    _fill,
    (RECORD_INDEX, FAILED_INDEX, DROPPED_INDEX, LEFT_OUT_TABLE, *IMPRINT_TABLE),
)
_UNVISITED = "0 AS due, 0 AS turn, NULL AS told, NULL AS past, '' AS page_type"
_BEFORE_REVISITS = f"CREATE TEMP VIEW record AS SELECT *, {_UNVISITED} FROM main.record"
READ_AS_UPGRADED = {
    1: f"CREATE TEMP VIEW record AS SELECT *, 0 AS visit, {_UNVISITED} FROM main.record",
    **dict.fromkeys((2, 3, 4), _BEFORE_REVISITS),
}
"""What makes a frontier of an older format look like one of this format to whoever may only read it."""
