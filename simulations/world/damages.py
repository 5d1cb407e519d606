"""Damage to the databases of machines that are down: bits that have turned over, and pages that are torn.

What nobody could find out is not tried, for SQLite keeps no sums of its pages (docs/copies.md): one letter of a URL
that is another, or the last transaction of a log. So a place is drawn until what is there now either makes no sense to
SQLite, or says the same as before.
"""

from __future__ import annotations

import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Final, TypeVar

T = TypeVar("T")

FLIP, TEAR = WAYS = ("flip", "tear")
LOSE: Final = "lose-file"
"""The database is gone with its log: somebody has deleted it, or only the other one was restored."""
FILES: Final = ("frontier.db", "copies.db")
_PAGE: Final = 4096
_SECTOR: Final = 512
_HEAD: Final = 100
"""The bytes that say what a file is. Who finds others there is to keep its hands off it."""
_LOG_HEAD: Final = struct.Struct(">8I")
_FRAME: Final = struct.Struct(">6I")
_TRIES: Final = 30
Facts = dict[str, list[tuple[object, ...]]]


def damage(database: Path, how: str, dice: Random) -> str:
    """Damages a database or its log. Returns what was done, or "" where nothing could be that shows, or does no
    harm.
    """
    log = database.with_name(f"{database.name}-wal")
    if dice.random() < 0.5:
        # As SQLite does it itself, when a log has grown long.
        with closing(sqlite3.connect(database, isolation_level=None)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    facts, tables, spoil = _facts(database), tables_of(database), _flipped if how == FLIP else _torn
    for _ in range(_TRIES):
        in_log = log.exists() and (size := _firm(log.read_bytes())) > 0 and dice.random() < 0.5
        path, first, end = (log, 0, size) if in_log else (database, _HEAD, database.stat().st_size)
        before = path.read_bytes()
        at = dice.randrange(first, end)
        path.write_bytes(spoil(before, at, dice))
        shows = in_log or not is_sound(database) or tables_of(database) != tables
        if shows or _is_as_before(database, facts):
            return f"{how} at {at} of {path.name}"
        path.write_bytes(before)
    return ""


def _flipped(content: bytes, at: int, dice: Random) -> bytes:
    return content[:at] + bytes([content[at] ^ 1 << dice.randrange(8)]) + content[at + 1 :]


def _torn(content: bytes, at: int, dice: Random) -> bytes:
    """Puts nonsense, or nothing, in place of the rest of a page from a border of its sectors on."""
    first = at // _SECTOR * _SECTOR
    end = min(len(content), at // _PAGE * _PAGE + _PAGE)
    rest = bytes(end - first) if dice.random() < 0.5 else dice.randbytes(end - first)
    return content[:first] + rest + content[end:]


def _firm(log: bytes) -> int:
    """Returns up to where damage to a log can be told from a transaction that was torn: two commits follow there."""
    if len(log) < _LOG_HEAD.size:
        return 0
    _, _, page, _, *salts, _, _ = _LOG_HEAD.unpack_from(log)
    commits: list[int] = []
    for at in range(_LOG_HEAD.size, len(log) - _FRAME.size - page + 1, _FRAME.size + page):
        _, size, *of, _, _ = _FRAME.unpack_from(log, at)
        if of == salts and size:
            commits.append(at)
    return commits[-2] if len(commits) > 2 else 0


def is_sound(database: Path, check: str = "quick_check") -> bool:
    """Tells whether SQLite finds nothing wrong."""
    try:
        return bool(_asked(database, lambda c: c.execute(f"PRAGMA {check}(1)").fetchone()[0]) == "ok")
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return False


def tables_of(database: Path) -> list[tuple[object, ...]] | None:
    """Reads how everything in a database was made, which whoever made it compares: the columns of tables, and the words
    of all else; None where that cannot be read.
    """

    def read(connection: sqlite3.Connection) -> list[tuple[object, ...]]:
        made = connection.execute("SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        return sorted(
            (
                name,
                kind,
                *connection.execute('SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_xinfo(?)', (name,)),
            )
            if kind == "table"
            else (name, kind, *sql.split())
            for name, kind, sql in made
        )

    try:
        return _asked(database, read)
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return None


def _is_as_before(database: Path, facts: Facts | None) -> bool:
    """Tells whether nothing has changed that anybody reads, in the indexes either."""
    return _facts(database) == facts and is_sound(database, "integrity_check")


def _facts(database: Path) -> Facts | None:
    """Reads all that is in a database; None where that cannot be read."""

    def read(connection: sqlite3.Connection) -> Facts:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        return {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for (name,) in tables}

    try:
        return _asked(database, read)
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return None


def _asked(database: Path, ask: Callable[[sqlite3.Connection], T]) -> T:
    """Asks a copy, so that looking leaves no trace."""
    # Beside the disk, so that it goes with that if somebody stops the run just now.
    with tempfile.TemporaryDirectory(prefix="look-", dir=database.parent.parent) as folder:
        for path in (database, database.with_name(f"{database.name}-wal")):
            if path.exists():
                shutil.copy(path, Path(folder) / path.name)
        with closing(sqlite3.connect(Path(folder) / database.name)) as connection:
            return ask(connection)
