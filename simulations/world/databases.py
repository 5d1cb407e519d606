"""Databases on the disks of simulated machines: real SQLite files, which a full disk writes nothing more into."""

from __future__ import annotations

import sqlite3
from typing import Any

from ..kernel.life import LIFE


class Database(sqlite3.Connection):
    """A connection, of the node whose process opened it.

    While that node's disk is full, no transaction can be committed: its pages do not fit into the write-ahead log. What
    was in the log before can be read, and can be written over into the database.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        life = LIFE.get()
        self._node = None if life is None else life.node

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        if sql == "COMMIT" and self._node is not None and self._node.disk_full:
            super().execute("ROLLBACK")
            raise _full()
        return super().execute(sql, parameters)


def _full() -> sqlite3.OperationalError:
    """Makes the error that SQLite raises when a disk is full."""
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    error.sqlite_errorname = "SQLITE_FULL"
    return error
