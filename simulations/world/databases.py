"""Databases on the disks of simulated machines: real SQLite files, which a full disk writes nothing more into."""

from __future__ import annotations

import sqlite3
import sys
from typing import Any

from ..kernel.life import LIFE, Life
from ..kernel.moments import COMMITS, COMMITTED


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

    @property
    def in_transaction(self) -> bool:
        """Tells whether a transaction is open; with its process it ends."""
        return not (self._life is not None and self._life.dead) and super().in_transaction

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        if sql == "COMMIT" and self._node is not None and self._node.disk_full:
            super().execute("ROLLBACK")
            raise _full()
        if sql == "COMMIT" and self._life is not None and self._life.node.moments.listeners:
            return self._commit(self._life)
        return super().execute(sql, parameters)

    def _commit(self, life: Life) -> sqlite3.Cursor:
        """Commits, and tells of it before and after. Raises Abandoned when that ended the process."""
        moments = life.node.moments
        kind = _writer()
        moments.happen(life.node.name, kind, COMMITS)
        if life.dead:
            raise Abandoned
        cursor = super().execute("COMMIT")
        moments.happen(life.node.name, kind, COMMITTED)
        if life.dead:
            raise Abandoned
        return cursor


def _writer() -> str:
    """Returns the name of the method whose transaction is committed: whoever has the block that ends with it."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_name in ("execute", "__exit__"):
        frame = frame.f_back
    return frame.f_code.co_qualname.partition(".<locals>")[0]


def _full() -> sqlite3.OperationalError:
    """Makes the error that SQLite raises when a disk is full."""
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    error.sqlite_errorname = "SQLITE_FULL"
    return error
