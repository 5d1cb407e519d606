"""The file of the HTTP cache: a database in a private folder, shared by processes, bounded, and never half written.

Each answer is a row, and a change is a transaction, so a process that is killed leaves what was there before. A lost
power may cost the last changes. What is over the bound goes by when it was last used. Measured against a file for each
answer: half the time at 4 KB, the same at 40 KB, more above; and the bound would need an index beside the files.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.private.folders import close_file, inner_folder, new_file

FORMAT: Final = 1
NAME: Final = "answers.db"
VARIANTS_MAX: Final = 16
"""Answers that are kept of one request, where hosts choose among several."""
_INNER: Final = "p2pcrawl-cache"
"""In the folder that the user names: that may be anybody's to read."""
_PAGE: Final = 16_384
"""Bytes of the file's pages: pages of four times SQLite's default make answers of 50 KB and more cheaper by a third."""
_OVERHEAD: Final = 160
"""Bytes of a row beside its head and body, its places in two indexes among them."""
_LOW_WATER: Final = 0.9
_BUSY_S: Final = 5.0
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS answer (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL, variant BLOB NOT NULL, used REAL NOT NULL, size INTEGER NOT NULL,
    head BLOB NOT NULL, body BLOB NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS of_request ON answer (key, variant);
CREATE INDEX IF NOT EXISTS by_use ON answer (used);
CREATE TABLE IF NOT EXISTS stock (bytes INTEGER NOT NULL);
INSERT INTO stock SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM stock);
CREATE TRIGGER IF NOT EXISTS came AFTER INSERT ON answer BEGIN UPDATE stock SET bytes = bytes + new.size; END;
CREATE TRIGGER IF NOT EXISTS went AFTER DELETE ON answer BEGIN UPDATE stock SET bytes = bytes - old.size; END;
"""


class CachedRow(NamedTuple):
    """An answer in the file. Its body comes by its id."""

    id: int
    variant: bytes
    used_at: float
    head: bytes


class Put(NamedTuple):
    """A row to be written, in place of what there is of its key and variant."""

    key: bytes
    variant: bytes
    at: float
    head: bytes
    body: bytes


class CacheFile:
    """The file, open in one thread. All methods raise sqlite3.Error."""

    def __init__(self, folder: Path) -> None:
        """Makes folder and file where there are none. Raises ConfigurationError for what is not ours, or of another
        format; OSError.
        """
        path = _private(folder) / NAME
        self._db = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(path)
        except BaseException:
            self._db.close()
            raise

    def _prepare(self, path: Path) -> None:
        run = self._db.execute
        found = run("PRAGMA user_version").fetchone()[0]
        if found not in (0, FORMAT):
            raise ConfigurationError(f"the HTTP cache {path} is of another version of p2pcrawl: delete it")
        run(f"PRAGMA page_size = {_PAGE}")
        run("PRAGMA auto_vacuum = INCREMENTAL")
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")
        run(f"PRAGMA journal_size_limit = {64 << 20}")
        if found != FORMAT:
            self._db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;")

    def close(self) -> None:
        self._db.close()

    # -- reading ------------------------------------------------------------------------------

    def rows(self, key: bytes) -> list[CachedRow]:
        """Returns what there is of a request, what was stored last first."""
        sql = "SELECT id, variant, used, head FROM answer WHERE key = ? ORDER BY id DESC"
        return [CachedRow(*row) for row in self._db.execute(sql, (key,))]

    def body(self, number: int, variant: bytes) -> bytes | None:
        """Returns the body of a row; None when it is gone."""
        sql = "SELECT body FROM answer WHERE id = ? AND variant = ?"
        found = self._db.execute(sql, (number, variant)).fetchone()
        return None if found is None else found[0]

    @property
    def taken(self) -> int:
        """The bytes that are taken up."""
        return int(self._db.execute("SELECT bytes FROM stock").fetchone()[0])

    # -- writing ------------------------------------------------------------------------------

    def write(
        self, puts: Iterable[Put], dropped: Iterable[bytes], used: Iterable[tuple[float, int]], bytes_max: int
    ) -> None:
        """Drops all of some requests, then writes rows and when others were used, and takes out what is too much, in
        one transaction.
        """
        run = self._db.execute
        run("BEGIN IMMEDIATE")
        try:
            for key in dropped:
                run("DELETE FROM answer WHERE key = ?", (key,))
            for put in puts:
                self._put(put)
            for at, number in used:
                run("UPDATE answer SET used = ? WHERE id = ?", (at, number))
            evicted = self._evict(bytes_max)
            run("COMMIT")
        except BaseException:
            self._db.rollback()
            raise
        if evicted:
            self._give_back()

    def _put(self, put: Put) -> None:
        run, where = self._db.execute, (put.key, put.variant)
        run("DELETE FROM answer WHERE key = ? AND variant = ?", where)
        values = (*where, put.at, size_of(put.head, put.body), put.head, put.body)
        run("INSERT INTO answer (key, variant, used, size, head, body) VALUES (?, ?, ?, ?, ?, ?)", values)
        few = "SELECT id FROM answer WHERE key = ? ORDER BY id DESC LIMIT -1 OFFSET ?"
        run(f"DELETE FROM answer WHERE id IN ({few})", (put.key, VARIANTS_MAX))

    def _evict(self, bytes_max: int) -> bool:
        """Takes out what was not used for longest, somewhat more than is too much: not each change is to do so."""
        taken = self.taken
        if taken <= bytes_max:
            return False
        excess, gone = taken - bytes_max * _LOW_WATER, []
        for number, size in self._db.execute("SELECT id, size FROM answer ORDER BY used"):
            if excess <= 0.0:
                break
            gone.append((number,))
            excess -= size
        for each in gone:
            self._db.execute("DELETE FROM answer WHERE id = ?", each)
        return True

    def _give_back(self) -> None:
        """Gives the file system what is not needed for long: the bound may have become smaller."""
        free, pages = (self._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("freelist_count", "page_count"))
        if free > pages // 4:
            # As a script, for only so it is run to its end.
            self._db.executescript(f"PRAGMA incremental_vacuum({free - pages // 8})")


def size_of(head: bytes, body: bytes) -> int:
    """Returns the bytes that a row takes up in the file."""
    size = len(head) + len(body) + _OVERHEAD
    return size if size < _PAGE else -(-size // _PAGE) * _PAGE


def _private(folder: Path) -> Path:
    """Makes the folder in which the file is, for its user alone."""
    inner = folder / _INNER
    try:
        inner_folder(inner)
        status = inner.lstat()
    except OSError as error:
        raise ConfigurationError(f"no HTTP cache can be kept in {folder}: {error.strerror} (HTTPCACHE_DIR)") from error
    if not stat.S_ISDIR(status.st_mode):
        raise ConfigurationError(f"{inner} is not a folder: remove it, or set another HTTPCACHE_DIR")
    if os.name == "posix":
        if status.st_uid != os.geteuid():
            raise ConfigurationError(f"{inner} belongs to another user: set another HTTPCACHE_DIR")
        inner.chmod(0o700)
    try:
        new_file(inner / NAME)
    except FileExistsError:
        close_file(inner / NAME)
    return inner
