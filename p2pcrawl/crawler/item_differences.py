"""The items of a re-extraction beside those of before: which were added, removed or changed, exactly.

Where it is known which page each item is of, items are compared page by page: those that are the same on both sides
belong to each other, whatever their order; of what is left the first belongs to the first, and so on, and has changed;
what has no partner was added or removed. Where nobody knows the pages (a file of items), the same is done over all
items, with fields of the user's choice in place of the page and the order; without such fields nothing is ever called
changed.

Memory does not grow with the items: what is compared with is in a file of SQLite meanwhile.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, Final, Protocol

import msgspec

from p2pcrawl.frontier.reading.job_items import PageItems, pages_after
from p2pcrawl.frontier.reading.pages_known import ended_among
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.packing import unpacked
from p2pcrawl.private.folders import new_file

_BEFORE: Final = "before.db"
_ENCODE: Final = msgspec.json.Encoder(order="deterministic").encode
_TABLES: Final = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE page (print BLOB PRIMARY KEY, url TEXT NOT NULL, items BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE item (number INTEGER PRIMARY KEY, digest BLOB NOT NULL, key BLOB NOT NULL, line BLOB NOT NULL);
CREATE INDEX item_digest ON item (digest);
CREATE TABLE new (number INTEGER PRIMARY KEY, key BLOB NOT NULL, line BLOB NOT NULL, url TEXT NOT NULL);
CREATE INDEX new_key ON new (key, number);
"""
_PIECE: Final = 500
_PRINT: Final = re.compile(r"[0-9a-f]{32}").fullmatch


Page = tuple[bytes, str, list[bytes]]
"""A page with its items: fingerprint, URL, and each item in JSON."""


class ItemsNow(Protocol):
    """The items of a re-extraction, page by page."""

    def pages(self) -> Iterator[Page]:
        """Yields the pages that have items, each once."""

    def read_among(self, prints: Sequence[bytes]) -> set[bytes]:
        """Returns those of these pages that were read, whether they have items or not."""


@dataclass(slots=True)
class Differences:
    """The outcome of a comparison. ``apart``: items of before whose pages were not read this time: they are compared
    with nothing.
    """

    same: int = 0
    added: int = 0
    removed: int = 0
    changed: int = 0
    apart: int = 0
    pages: int = 0
    """Pages of which any item differs; 0 where nobody knows the pages."""
    fields: Counter[str] = field(default_factory=Counter)
    """How many of the changed items differ in a field."""


@dataclass(frozen=True, slots=True)
class DifferenceSought:
    """The items to compare with: those of a job in data folders, by its number in each, or of a file of lines.
    ``keys``: the fields by which items of a file are known; ``output``: where each difference is written, or None.
    """

    jobs: tuple[tuple[Path, int], ...] = ()
    file: Path | None = None
    keys: tuple[str, ...] = ()
    output: Path | None = None

    def check(self, outputs: Iterable[Path] = ()) -> None:
        """Raises ConfigurationError for a file that cannot be read, or written, and for one that is two things at once:
        ``outputs`` are the files that get the items. What is in a file that is there stays until it is replaced.
        """
        written = [path.resolve() for path in outputs]
        for path, what in ((self.file, "compared with"), (self.output, "given the differences")):
            if path is not None and path.resolve() in written:
                raise ConfigurationError(f"{path} is given the items: it cannot be {what}, too; name another file")
        if self.file is not None and self.output is not None and self.file.resolve() == self.output.resolve():
            raise ConfigurationError(f"{self.file} is compared with: name another file for the differences")
        try:
            if self.file is not None:
                next(_read_lines(self.file), None)
            if self.output is not None:
                self._check_output(self.output)
        except OSError as error:
            raise ConfigurationError(f"{error.filename}: {error.strerror}") from None

    def _check_output(self, output: Path) -> None:
        if output.exists() and not output.is_file():
            raise ConfigurationError(f"{output} is no file that can be replaced: name another one for the differences")
        draft = _draft_of(output)
        draft.open("wb").close()
        draft.unlink()

    def compare(self, folder: Path, job: int) -> Differences:
        """Compares with the items of a job in ``folder``, and writes the differences. Raises P2PCrawlError."""
        return self.compare_with(_ItemsHere(folder, job), folder)

    def compare_with(self, now: ItemsNow, folder: Path) -> Differences:
        """Does the same with items of whatever they come from; ``folder`` is used meanwhile."""
        before = folder / _BEFORE
        before.unlink(missing_ok=True)
        new_file(before)
        draft = _draft_of(self.output) if self.output is not None else None
        try:
            with closing(sqlite3.connect(before, isolation_level=None)) as db:
                db.executescript(_TABLES)
                db.execute("BEGIN")
                comparing = _Comparing(db, draft.open("wb") if draft is not None else None, self.keys)
                with comparing:
                    comparing.read(self._pages_before(), self._lines_before())
                    comparing.compare(now)
            if draft is not None and self.output is not None:
                draft.replace(self.output)
            return comparing.found
        finally:
            before.unlink(missing_ok=True)
            if draft is not None:
                draft.unlink(missing_ok=True)

    def _pages_before(self) -> Iterator[Page]:
        for crawl, number in self.jobs:
            yield from _ItemsHere(crawl, number).pages()
        if self.file is not None:
            for found in _read_lines(self.file):
                if _is_page(found):
                    yield _page_of(found)

    def _lines_before(self) -> Iterator[Any]:
        if self.file is not None:
            yield from (found for found in _read_lines(self.file) if not _is_page(found))


def _draft_of(output: Path) -> Path:
    return output.with_name(f".{output.name}.draft")


def items_by_page(folder: Path, job: int) -> Iterator[PageItems]:
    """Yields the pages of a job that have items."""
    after = 0
    while pages := pages_after(folder, job, after):
        yield from pages
        after = pages[-1].place


@dataclass(frozen=True, slots=True)
class _ItemsHere:
    """The items of a job in a data folder."""

    folder: Path
    job: int

    def pages(self) -> Iterator[Page]:
        for page in items_by_page(self.folder, self.job):
            yield page.fingerprint, page.url, unpacked(page.data).split(b"\n")

    def read_among(self, prints: Sequence[bytes]) -> set[bytes]:
        return ended_among(self.folder, self.job, prints)


class _Comparing:
    def __init__(self, db: sqlite3.Connection, output: IO[bytes] | None, keys: Sequence[str]) -> None:
        self._db = db
        self._output = output
        self._keys = keys
        self._by_page = False
        self.found = Differences()

    def __enter__(self) -> _Comparing:
        return self

    def __exit__(self, *_: object) -> None:
        if self._output is not None:
            self._output.close()

    def read(self, pages: Iterator[Page], lines: Iterator[Any]) -> None:
        """Takes in what is compared with."""
        for print_, url, items in pages:
            self._by_page = True
            self._db.execute("INSERT OR REPLACE INTO page VALUES (?, ?, ?)", (print_, url, b"\n".join(items)))
        for found in lines:
            if self._by_page:
                raise ConfigurationError("what is compared with has pages and single items: give a file of either")
            line = _ENCODE(found)
            row = (_digest(line), self._key_of(found), line)
            self._db.execute("INSERT INTO item (digest, key, line) VALUES (?, ?, ?)", row)

    def compare(self, now: ItemsNow) -> None:
        """Goes through the items of now."""
        for print_, url, lines in now.pages():
            if self._by_page:
                self._compare_page(print_, url, lines)
            else:
                self._match(url, lines)
        if self._by_page:
            self._compare_pages_without_items(now)
        else:
            self._pair()

    # -- page by page -------------------------------------------------------------------------

    def _compare_page(self, print_: bytes, url: str, lines: list[bytes]) -> None:
        row = self._db.execute("DELETE FROM page WHERE print = ? RETURNING items", (print_,)).fetchone()
        before = row[0].split(b"\n") if row is not None else []
        old, new = [_plain(line) for line in before], [_plain(line) for line in lines]
        common = Counter(old) & Counter(new)
        self.found.same += common.total()
        old, new = _without(old, common), _without(new, common)
        self.found.pages += bool(old or new)
        for number in range(max(len(old), len(new))):
            was = old[number] if number < len(old) else None
            self._tell(was, new[number] if number < len(new) else None, print_, url)

    def _compare_pages_without_items(self, now: ItemsNow) -> None:
        """Tells of what is left of before: removed where the page was read, else compared with nothing."""
        after = b""
        while rows := self._db.execute(
            "SELECT print, url, items FROM page WHERE print > ? ORDER BY print LIMIT ?", (after, _PIECE)
        ).fetchall():
            after = rows[-1][0]
            read = now.read_among([print_ for print_, _, _ in rows])
            for print_, url, items in rows:
                lines = items.split(b"\n")
                if print_ not in read:
                    self.found.apart += len(lines)
                    continue
                self.found.pages += 1
                for line in lines:
                    self._tell(_plain(line), None, print_, url)

    # -- over all items -----------------------------------------------------------------------

    def _match(self, url: str, lines: list[bytes]) -> None:
        for line in map(_plain, lines):
            row = self._db.execute("SELECT number FROM item WHERE digest = ? LIMIT 1", (_digest(line),)).fetchone()
            if row is not None:
                self._db.execute("DELETE FROM item WHERE number = ?", row)
                self.found.same += 1
                continue
            key = self._key_of(json.loads(line))
            self._db.execute("INSERT INTO new (key, line, url) VALUES (?, ?, ?)", (key, line, url))

    def _pair(self) -> None:
        """Tells of what has no equal: pairs of the same key have changed."""
        for key, line in self._db.execute("SELECT key, line FROM item ORDER BY number"):
            row = None
            if key:
                row = self._db.execute(
                    "SELECT number, line, url FROM new WHERE key = ? ORDER BY number LIMIT 1", (key,)
                ).fetchone()
            if row is None:
                self._tell(line, None, b"", "")
                continue
            self._db.execute("DELETE FROM new WHERE number = ?", row[:1])
            self._tell(line, row[1], b"", row[2])
        for line, url in self._db.execute("SELECT line, url FROM new ORDER BY number"):
            self._tell(None, line, b"", url)

    def _key_of(self, item: Any) -> bytes:
        if not self._keys or not isinstance(item, dict) or not all(name in item for name in self._keys):
            return b""
        return _ENCODE([item[name] for name in self._keys])

    # -- what is told -------------------------------------------------------------------------

    def _tell(self, was: bytes | None, now: bytes | None, print_: bytes, url: str) -> None:
        change = "added" if was is None else "removed" if now is None else "changed"
        setattr(self.found, change, getattr(self.found, change) + 1)
        old, new = (json.loads(line) if line is not None else None for line in (was, now))
        if was is not None and now is not None:
            self.found.fields.update(_fields_that_differ(old, new))
        if self._output is not None:
            told = {"change": change, "page": print_.hex(), "url": url, "old": old, "new": new}
            self._output.write(_ENCODE(told) + b"\n")


def _fields_that_differ(old: Any, new: Any) -> list[str]:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return []
    return [name for name in {**old, **new} if name not in old or name not in new or old[name] != new[name]]


def _without(lines: list[bytes], common: Counter[bytes]) -> list[bytes]:
    left, kept = Counter(common), []
    for line in lines:
        if left[line]:
            left[line] -= 1
        else:
            kept.append(line)
    return kept


def _plain(line: bytes) -> bytes:
    """Writes an item in the one form that all that are equal have."""
    return _ENCODE(msgspec.json.decode(line))


def _digest(line: bytes) -> bytes:
    return blake2b(line, digest_size=16).digest()


def pages_in(lines: Iterable[bytes]) -> Iterator[Page]:
    """Yields the pages that lines tell, as the API gives them."""
    for line in filter(None, lines):
        yield _page_of(msgspec.json.decode(line))


def _page_of(found: Any) -> Page:
    return bytes.fromhex(found["page"]), str(found.get("url", "")), [_ENCODE(item) for item in found["items"]]


def _is_page(found: Any) -> bool:
    """Tells a page with its items from an item that has fields of these names."""
    if not isinstance(found, dict) or not isinstance(found.get("items"), list):
        return False
    page = found.get("page")
    return isinstance(page, str) and _PRINT(page) is not None


def _read_lines(file: Path) -> Iterator[Any]:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield msgspec.json.decode(line)
            except msgspec.DecodeError as error:
                raise ConfigurationError(
                    f"{file}, line {number}: it is no JSON ({error}); give a file of lines"
                ) from None
