"""Databases on the disks of simulated machines: real SQLite files, which end as their processes do.

A process that ends in order closes its databases, and SQLite tidies the log away. One that is killed leaves the log as
it is, perhaps with the beginning of a transaction; where the power goes in the middle of a commit, any part of that is
there. A full disk takes no more transactions.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, NoReturn

from ..kernel.life import LIFE, Life
from ..kernel.moments import COMMITS, COMMITTED, Moments
from ..kernel.node import DiskError
from .disk_errors import FULL

WRITES: Final = "BEGIN IMMEDIATE"
"""What begins a transaction that stores something."""
SYNCED: Final = 2
"""What ``PRAGMA synchronous`` says where each commit is synced."""
_CHANGES: Final = ("INSERT", "UPDATE", "DELETE")
_IO_ERRORS: Final = {
    "query": "SQLITE_IOERR_READ",
    "statement": "SQLITE_IOERR_WRITE",
    "commit": "SQLITE_IOERR_FSYNC",
}


class Abandoned(BaseException):
    """Raised inside a storage call when its process ends in the middle of it: what comes after is never run."""


class Database(sqlite3.Connection):
    """A connection, of the node whose process opened it.

    While that node's disk is full, no transaction can be committed: its pages do not fit into the write-ahead log. What
    was in the log before can be read, and can be written over into the database.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        life = LIFE.get()
        self._life = life
        self._node = None if life is None else life.node
        self._changes: list[tuple[Any, ...]] = []
        """What the open transaction has changed, for who is told of it."""
        self._tapped = False
        self._path = Path(str(arguments[0]))
        self._commits = False
        """It is in the middle of a commit."""

    @property
    def in_transaction(self) -> bool:
        """Tells whether a transaction is open; with its process it ends."""
        return not (self._life is not None and self._life.dead) and super().in_transaction

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        if self._node is not None and self._node.disk_error is not None:
            self._refuse(self._node.disk_error, sql)
        if sql == "ROLLBACK":
            self._changes.clear()
        if sql == WRITES:
            self._listen()
        if sql != "COMMIT" or self._node is None or self._life is None:
            return super().execute(sql, parameters)
        if self._node.disk_full:
            self._fail("SQLITE_FULL")
        return self._commit(self._life)

    def _refuse(self, error: DiskError, sql: str) -> None:
        """Raises the error of a disk, if this is the call that fails."""
        call = "commit" if sql == "COMMIT" else "query" if sql.startswith("SELECT") else "statement"
        if (call != "statement" or sql.startswith(_CHANGES)) and error.strikes(call):
            self._fail("SQLITE_FULL" if error.kind == FULL else _IO_ERRORS[call])

    def _fail(self, name: str) -> NoReturn:
        """Raises an error of SQLite's, which rolls the open transaction back."""
        self._changes.clear()
        if self.in_transaction:
            super().execute("ROLLBACK")
        error = sqlite3.OperationalError("database or disk is full" if name == "SQLITE_FULL" else "disk I/O error")
        error.sqlite_errorcode, error.sqlite_errorname = getattr(sqlite3, name), name
        raise error

    def close(self) -> None:
        cache = None if self._node is None else self._node.cache
        if cache is None or self._life is None or not self._life.dead or not self._path.is_file():
            super().close()
            return
        with _untidied(self._path):
            before = self._break_off() if self._commits else None
            super().close()
        self._commits = False
        if before is not None and not self._life.node.off:
            cache.cut_short(self._path, before)

    def _commit(self, life: Life) -> sqlite3.Cursor:
        """Commits, and tells of it before and after. Raises Abandoned when that ended the process."""
        moments = life.node.moments
        kind = _writer() if moments.listeners else ""
        self._commits = True
        moments.happen(life.node.name, kind, COMMITS)
        if life.dead:
            raise Abandoned
        self._commits = False
        cursor = self._store()
        self._tell(life, moments)
        moments.happen(life.node.name, kind, COMMITTED)
        if life.dead:
            raise Abandoned
        return cursor

    def _listen(self) -> None:
        """Has what is there read, and what changes heard, from before the first transaction on tables that are there:
        what that one stores has come, and was not found.
        """
        if not self._tapped and self._node is not None and (disks := self._node.moments.disks) is not None:
            self._tapped = disks.tap(self._node.name, self, self._changes)

    def _tell(self, life: Life, moments: Moments) -> None:
        """Tells what was stored."""
        if moments.disks is not None and self._tapped:
            moments.disks.committed(life.node.name, self._changes)

    def _store(self) -> sqlite3.Cursor:
        """Commits, and lets the disk know whether that was synced."""
        cache = None if self._node is None else self._node.cache
        synced = super().execute("PRAGMA synchronous").fetchone()[0] >= SYNCED
        if cache is not None and not synced:
            cache.writes(self._path)
        cursor = super().execute("COMMIT")
        if cache is not None and synced:
            cache.wrote(self._path)
        return cursor

    def _break_off(self) -> bytes | None:
        """Writes what is being committed, for the disk to take it or not. Returns what was in the log before; None
        without a log, for then it is rolled back.
        """
        log = self._path.with_name(f"{self._path.name}-wal")
        if self._node is None or self._node.cache is None or not log.exists():
            return None
        before = log.read_bytes()
        if self._node.off:
            self._node.cache.writes(self._path)
        super().execute("PRAGMA wal_autocheckpoint=0")
        super().execute("COMMIT")
        return before


@contextmanager
def _untidied(path: Path) -> Iterator[None]:
    """Keeps SQLite from tidying a log away with the last connection that is closed: there is another one till then,
    which may only read.
    """
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as other:
        other.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield


def _writer() -> str:
    """Returns the name of the method whose transaction is committed: whoever has the block that ends with it."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_name in ("execute", "__exit__"):
        frame = frame.f_back
    return frame.f_code.co_qualname.partition(".<locals>")[0]
