"""An index of the pages in WARC files by what was asked for, so that each is found without going through the files.

A page may be there more than once: it was tried again, or fetched again after a crash. What counts is the last answer.
The index is a file of SQLite, so its length costs no memory, and files that have been gone through are not gone through
again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Final, NamedTuple

from p2pcrawl.model.crawl.fingerprint import Fingerprint, fingerprint
from p2pcrawl.model.errors import ConfigurationError, StorageError
from p2pcrawl.private.folders import new_file
from p2pcrawl.stores.warc.stored_answers import HEAD_END, WarcAnswer, read_record, stored_answers
from p2pcrawl.stores.warc.warc_file import ENDING, OPEN, unfinished

INDEX: Final = "stored.db"
"""The name of the file in the data folder of a re-extraction, and in no other."""

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS file (number INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, size INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS body (name TEXT PRIMARY KEY, file INTEGER NOT NULL, place INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS page (
    key BLOB PRIMARY KEY, url TEXT NOT NULL, method TEXT NOT NULL, body BLOB NOT NULL, date TEXT NOT NULL,
    status INTEGER NOT NULL, file INTEGER NOT NULL, place INTEGER NOT NULL, refers TEXT NOT NULL,
    digest TEXT NOT NULL, truncated TEXT NOT NULL, used INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS damage (file INTEGER PRIMARY KEY, place INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS note (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
_COLUMNS: Final = "key, url, method, body, date, status, file, place, refers, digest, truncated"
_PAGES: Final = 2_000
HEAD_MAX: Final = 1 << 20


class IndexedPage(NamedTuple):
    """A page, as it was asked for last. ``body``: of the request."""

    key: Fingerprint
    url: str
    method: str
    body: bytes
    status: int


class StoredPage(NamedTuple):
    """An answer as it is stored: its head, and its body with its content codings."""

    url: str
    status: int
    head: bytes
    body: bytes
    truncated: str


class PageIndex:
    """Opens the index, or makes it. Close it with :meth:`close`."""

    def __init__(self, path: Path, *, reading: bool = False) -> None:
        """``reading``: in a process that only looks pages up."""
        if not reading and not path.exists():
            new_file(path)
        name = f"file:{path}?mode={'ro' if reading else 'rwc'}"
        self._db = sqlite3.connect(name, uri=True, isolation_level=None, check_same_thread=False)
        self._files: dict[int, Path] = {}
        if not reading:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.executescript(_TABLES)

    def close(self) -> None:
        """Closes the file."""
        self._db.close()

    # -- filling ------------------------------------------------------------------------------

    def read(self, folders: Sequence[Path], told: Callable[[str, int, int], None]) -> list[Path]:
        """Goes through all WARC files of these folders that it does not know, and tells of each: the file, how many are
        left and how many pages are known. Returns files that somebody still writes, which are left alone. Raises
        ConfigurationError for a folder without any.
        """
        paths = [path.resolve() for folder in folders for path in sorted(folder.glob(f"*{ENDING}"))]
        if not paths:
            names = " or ".join(map(str, folders))
            raise ConfigurationError(f"there are no WARC files (*{ENDING}) in {names}: `crawl --warc DIR` makes them")
        known = dict(self._db.execute("SELECT path, size FROM file").fetchall())
        new = [path for path in paths if known.get(str(path)) != path.stat().st_size]
        for left, path in zip(range(len(new), 0, -1), new, strict=True):
            told(path.name, left, self.count())
            self._read_file(path)
        return [path for folder in folders for path in sorted(folder.glob(f"*{ENDING}{OPEN}"))]

    def read_all(self, folder: Path, told: Callable[[str, int, int], None]) -> None:
        """Does the same for one folder, there may be files in it or not, and with those that somebody still writes:
        what is in them by now. Told with the name that a file will have, and read again when it has grown.
        """
        sizes: dict[Path, int] = {}
        for path in sorted(folder.resolve().glob(f"*{ENDING}*")):
            if path.name.endswith((ENDING, ENDING + OPEN)):
                with suppress(FileNotFoundError):
                    sizes[path.with_name(path.name.removesuffix(OPEN))] = path.stat().st_size
        known = dict(self._db.execute("SELECT path, size FROM file").fetchall())
        new = [path for path, size in sizes.items() if known.get(str(path)) != size]
        for left, path in zip(range(len(new), 0, -1), new, strict=True):
            told(path.name, left, self.count())
            try:
                self._read_file(path)
            except StorageError:
                # It may have got its name in between.
                self._read_file(path)

    def _read_file(self, path: Path) -> None:
        """Takes in one file: all of it in one transaction, or nothing."""
        there = _as_it_is_called(path)
        self._db.execute("BEGIN IMMEDIATE")
        try:
            (number,) = self._db.execute(
                "INSERT INTO file (path, size) VALUES (?, ?) ON CONFLICT (path) DO UPDATE SET size = excluded.size"
                " RETURNING number",
                (str(path), there.stat().st_size),
            ).fetchone()
            self._db.execute("DELETE FROM damage WHERE file = ?", (number,))
            for answer in stored_answers(there, lambda place: self._note_damage(number, place, there)):
                self._take(answer, number)
            self._db.execute("COMMIT")
        except OSError as error:
            raise StorageError(f"{path} cannot be read: {error.strerror or error}") from error
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    def _note_damage(self, file: int, place: int, path: Path) -> None:
        if path.name.endswith(OPEN):
            # It ends in the middle of what is being written.
            return
        self._db.execute("INSERT OR REPLACE INTO damage VALUES (?, ?)", (file, place))

    def damaged(self) -> list[tuple[Path, int]]:
        """Returns the files of which not all could be read, each with the place at which that ended."""
        rows = self._db.execute("SELECT path, place FROM damage JOIN file ON number = damage.file ORDER BY path")
        return [(Path(path), place) for path, place in rows.fetchall()]

    def _take(self, answer: WarcAnswer, file: int) -> None:
        if answer.status == HTTPStatus.NOT_MODIFIED:
            # The page of before is what it brought.
            return
        if not answer.is_revisit:
            for name in filter(None, (answer.record, answer.digest)):
                self._db.execute("INSERT OR IGNORE INTO body VALUES (?, ?, ?)", (name, file, answer.place))
        key = fingerprint(answer.url, answer.method, answer.request_body)
        row = (
            *(key, answer.url, answer.method, answer.request_body, answer.date, answer.status, file, answer.place),
            *(answer.refers, answer.digest, answer.truncated),
        )
        self._db.execute(
            f"INSERT INTO page ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET"
            " url = excluded.url, date = excluded.date, status = excluded.status, file = excluded.file,"
            " place = excluded.place, refers = excluded.refers, digest = excluded.digest,"
            " truncated = excluded.truncated WHERE excluded.date >= page.date",
            row,
        )

    def note(self, name: str, value: str) -> None:
        """Writes down something about the index, durably."""
        self._db.execute("INSERT OR REPLACE INTO note VALUES (?, ?)", (name, value))

    def noted(self, name: str) -> str:
        """Returns what was written down; "" for nothing."""
        row = self._db.execute("SELECT value FROM note WHERE name = ?", (name,)).fetchone()
        return row[0] if row is not None else ""

    # -- looking up ---------------------------------------------------------------------------

    def count(self) -> int:
        """Counts the pages."""
        return int(self._db.execute("SELECT count(*) FROM page").fetchone()[0])

    def pages(self) -> Iterator[list[IndexedPage]]:
        """Yields all pages, in parts."""
        after = b""
        while rows := self._db.execute(
            f"SELECT key, url, method, body, status FROM page WHERE key > ? ORDER BY key LIMIT {_PAGES}", (after,)
        ).fetchall():
            yield [IndexedPage(*row) for row in rows]
            after = rows[-1][0]

    def use(self, keys: Iterable[Fingerprint]) -> set[bytes]:
        """Returns those of these keys that have a page, and notes that somebody knows these."""
        wanted = list(keys)
        marks = ",".join("?" * len(wanted))
        return {
            key for (key,) in self._db.execute(f"UPDATE page SET used = 1 WHERE key IN ({marks}) RETURNING key", wanted)
        }

    def unused(self) -> int:
        """Counts the pages that nobody knows."""
        return int(self._db.execute("SELECT count(*) FROM page WHERE NOT used").fetchone()[0])

    def dates(self, keys: Iterable[bytes]) -> dict[bytes, str]:
        """Tells of those of these keys that have a page when it was answered."""
        wanted = list(keys)
        marks = ",".join("?" * len(wanted))
        return dict(self._db.execute(f"SELECT key, date FROM page WHERE key IN ({marks})", wanted).fetchall())

    def find(self, key: bytes, limit: int) -> StoredPage | None:
        """Reads the last answer to a request, of ``limit`` bytes at most; None where there is none. Raises StorageError
        for what cannot be read.
        """
        row = self._db.execute(
            "SELECT url, status, file, place, refers, digest, truncated FROM page WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            return None
        url, status, file, place, refers, digest, truncated = row
        head, body = self._block(file, place, limit)
        if refers:
            origin = self._db.execute(
                "SELECT file, place FROM body WHERE name IN (?, ?) ORDER BY name = ? DESC", (refers, digest, refers)
            ).fetchone()
            if origin is None:
                raise StorageError(f"the record with the body of {url} ({refers}) is in none of these files")
            _, body = self._block(origin[0], origin[1], limit)
        return StoredPage(url, status, head, body, truncated)

    def _block(self, file: int, place: int, limit: int) -> tuple[bytes, bytes]:
        path = self._path(file)
        try:
            try:
                _, block = read_record(_as_it_is_called(path), place, limit + HEAD_MAX)
            except FileNotFoundError:
                # It may have got its name in between.
                _, block = read_record(path, place, limit + HEAD_MAX)
        except OSError as error:
            raise StorageError(f"{path} cannot be read: {error.strerror or error}") from error
        head, _, body = block.partition(HEAD_END)
        return head, body

    def _path(self, number: int) -> Path:
        if number not in self._files:
            (path,) = self._db.execute("SELECT path FROM file WHERE number = ?", (number,)).fetchone()
            self._files[number] = Path(path)
        return self._files[number]


def _as_it_is_called(path: Path) -> Path:
    """Returns the name that a file has now: another one while it is written."""
    return path if path.exists() else unfinished(path)
