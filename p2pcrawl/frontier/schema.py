"""The tables of a data folder, and how one is opened, locked and checked.

``docs/architecture.md`` says why each table looks as it does.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from p2pcrawl.model.errors import ConfigurationError, DiskFullError, StorageError

APPLICATION_ID = 0x70327063
FORMAT = 1
FILE = "frontier.db"
NEW_FILE = "frontier.db.new"
LOCK = "lock"

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
    url TEXT NOT NULL, extra BLOB, bucket INTEGER NOT NULL, referer TEXT
);
CREATE TABLE attempt (
    record INTEGER, number INTEGER, ended INTEGER NOT NULL, reason TEXT NOT NULL, status INTEGER NOT NULL,
    latency REAL NOT NULL, detail TEXT NOT NULL, PRIMARY KEY (record, number)
) WITHOUT ROWID;
CREATE TABLE lease (
    record INTEGER PRIMARY KEY, job INTEGER NOT NULL, lease INTEGER NOT NULL, attempt INTEGER NOT NULL
);
CREATE TABLE item (
    id INTEGER PRIMARY KEY, job INTEGER NOT NULL, record INTEGER NOT NULL, count INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE INDEX item_record ON item (record);
CREATE TABLE staged (record INTEGER NOT NULL, job INTEGER NOT NULL, count INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX staged_record ON staged (record);
CREATE TABLE sink (job INTEGER, path TEXT, spec TEXT NOT NULL, delivered INTEGER NOT NULL, position TEXT NOT NULL,
    PRIMARY KEY (job, path)) WITHOUT ROWID;
CREATE TABLE host (
    key INTEGER, origin TEXT, agent TEXT, verdict TEXT NOT NULL, body BLOB NOT NULL, reason TEXT NOT NULL,
    crawl_delay REAL NOT NULL, known INTEGER NOT NULL, PRIMARY KEY (key, origin, agent)
) WITHOUT ROWID;
CREATE TABLE pause (key INTEGER PRIMARY KEY, until INTEGER NOT NULL, seconds REAL NOT NULL);
"""

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


def open_database(folder: Path) -> sqlite3.Connection:
    """The folder's database, made if it is not there. Raises ConfigurationError for a folder of
    another version or a damaged one, StorageError when the disk refuses."""
    path = folder / FILE
    with mapped_errors(folder):
        if not path.exists():
            _make(folder)
        _check_size(folder)
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=512)
    try:
        with mapped_errors(folder):
            _prepare(connection, folder)
    except BaseException:
        connection.close()
        raise
    return connection


def open_for_reading(folder: Path) -> sqlite3.Connection:
    """For questions beside a live crawl, or after it."""
    path = folder / FILE
    if not path.is_file():
        raise ConfigurationError(f"{folder} is not a p2pcrawl data folder (there is no {FILE} in it)")
    with mapped_errors(folder):
        _check_size(folder)
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
        try:
            _check_format(connection, folder)
        except BaseException:
            connection.close()
            raise
    return connection


def _prepare(connection: sqlite3.Connection, folder: Path) -> None:
    execute = connection.execute
    # Before anything is changed: it may be someone else's.
    _check_format(connection, folder)
    execute("PRAGMA journal_mode=WAL")
    execute("PRAGMA synchronous=FULL")
    execute("PRAGMA cache_size=-65536")
    execute("PRAGMA wal_autocheckpoint=8000")
    execute("PRAGMA temp_store=MEMORY")


def _make(folder: Path) -> None:
    """A new database. It gets its name when it is whole, so that an empty one is always a damaged one."""
    path, new = folder / FILE, folder / NEW_FILE
    if (folder / f"{FILE}-wal").exists():
        raise ConfigurationError(_damaged(folder, f"it is missing, and {FILE}-wal is there"))
    for left in (new, new.with_name(f"{NEW_FILE}-journal")):
        left.unlink(missing_ok=True)
    connection = sqlite3.connect(new, isolation_level=None)
    try:
        _fill(connection)
    finally:
        connection.close()
    # Durable with the first commit: SQLite syncs the folder when it has made the log in it.
    os.replace(new, path)


def _fill(connection: sqlite3.Connection) -> None:
    execute = connection.execute
    execute("BEGIN IMMEDIATE")
    for script in (_TABLES, _GENERATION.format(""), _GENERATION.format("_young"), _LEAVE):
        for statement in script.split(";"):
            if statement.strip():
                execute(statement)
    execute(_LEAVE_TRIGGER)
    execute(f"PRAGMA application_id={APPLICATION_ID}")
    execute(f"PRAGMA user_version={FORMAT}")
    execute("INSERT INTO meta VALUES ('store', ?), ('created', ?)", (os.urandom(16).hex(), int(time.time())))
    execute("COMMIT")


def _check_size(folder: Path) -> None:
    """SQLite takes an empty file for a new database."""
    if not (folder / FILE).stat().st_size:
        raise ConfigurationError(_damaged(folder, "it is empty"))


def _check_format(connection: sqlite3.Connection, folder: Path) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        raise ConfigurationError(f"{folder / FILE} was not written by p2pcrawl; use another --data folder")
    if version != FORMAT:
        raise ConfigurationError(
            f"{folder} has data format {version}, this p2pcrawl reads format {FORMAT}; use the version that wrote it, "
            "or another --data folder"
        )


@contextmanager
def mapped_errors(folder: Path) -> Iterator[None]:
    """SQLite's errors as ours."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _mapped(error, folder) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFullError(_full(folder)) from error
        raise StorageError(f"{folder}: {error.strerror}") from error


def _damaged(folder: Path, how: str) -> str:
    return f"{folder / FILE} is damaged ({how}); restore it, or use another --data folder"


def _full(folder: Path) -> str:
    return f"the disk that holds {folder} is full; nothing is lost: free some space, then run the same command again"


def _mapped(error: sqlite3.DatabaseError, folder: Path) -> Exception:
    text = str(error)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL or _no_room(folder):
        return DiskFullError(_full(folder))
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return ConfigurationError(_damaged(folder, text))
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return ConfigurationError(f"cannot write the data folder {folder}: {text}")
    return StorageError(f"{folder / FILE}: {text}")


def _no_room(folder: Path) -> bool:
    """Some file systems report a full disk as an I/O error."""
    try:
        stat = os.statvfs(folder)
    except OSError:
        return False
    return stat.f_bavail * stat.f_frsize < 64 * 1024


class FolderLock:
    """One process at a time in a data folder. The lock dies with its holder."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = open(folder / LOCK, "a+")  # noqa: SIM115 - held until release
        except (FileExistsError, NotADirectoryError) as error:
            raise ConfigurationError(f"cannot use the data folder {folder}: it, or what it is in, is a file") from error
        except OSError as error:
            raise ConfigurationError(f"cannot use the data folder {folder}: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.seek(0)
            holder = self._file.read().strip() or "unknown"
            self._file.close()
            raise ConfigurationError(
                f"the data folder {folder} is in use by process {holder}; stop it or use another --data folder"
            ) from error
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def release(self) -> None:
        self._file.close()
