"""A Parquet file that holds each item once, whatever the moment of a crash.

Nothing can be added to a Parquet file, so the items lie in a hidden file beside it (the *heap*: JSON Lines, zstd),
with all that :class:`~p2pcrawl.stores.files.file_sink.FileSink` promises, until the output is finished. Then they
become a new Parquet file, behind the rows that were there, which takes the place of the old one in one step. That file
says of itself how many items of which crawl it has. So a crash after that step costs nothing, nor do items that follow
after all: the next file begins with as many of its rows as the stored position knows.

``docs/sinks.md`` tells what users see of it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import suppress

from p2pcrawl.model.errors import StorageError
from p2pcrawl.stores.files.disk import storage_errors
from p2pcrawl.stores.files.file_packing import ZSTD
from p2pcrawl.stores.files.file_sink import FileSink
from p2pcrawl.stores.files.formats import JsonLines
from p2pcrawl.stores.files.local_sink import Position
from p2pcrawl.stores.files.parquet_making import Note, check_continuable, make_parquet, note_of


class ParquetFile:
    """A :class:`~p2pcrawl.stores.files.local_sink.LocalSink` that writes one Parquet file."""

    def __init__(self, path: str, *, fields: Sequence[str] = (), replace: bool = False) -> None:
        """``fields``: the order of the first columns."""
        folder, name = os.path.split(path)
        self._path = path
        self._heap_path = os.path.join(folder, f".{name}.items")
        self._fields = fields
        self._replace = replace
        self._run = ""
        """A name of the crawl, drawn when it begins."""
        self._first = 0
        """How many of its items are in the Parquet file, and not in the heap."""
        self._heap: FileSink | None = None
        self._heaped: Position = {}

    def resume(self, position: Position | None) -> Position:
        self._let_go()
        if position is None:
            with storage_errors(self._path):
                check_continuable(self._path, replace=self._replace)
            self._run, self._first = secrets.token_hex(8), 0
            return self._begin_heap()
        try:
            self._run, self._first, heaped = position["run"], position["first"], position["heap"]
            total = self._first + heaped["count"]
        except (KeyError, TypeError):
            raise StorageError(f"the stored position of {self._path} is damaged") from None
        note = self._note()
        if note is not None and note.items > self._first:
            self._first = total  # The heap has become part of it; what is behind the position is brought again.
            return self._begin_heap()
        if self._first and note is None:
            raise StorageError(
                f"{self._path} is not the file that this crawl wrote; "
                "put that one back, or start anew in another data folder"
            )
        self._heap = FileSink(self._heap_path, JsonLines(), packing=ZSTD)
        self._heaped = self._heap.resume(heaped)
        return self._position()

    def write(self, items: Sequence[bytes]) -> None:
        if items:
            self._opened().write(items)

    def sync(self) -> Position:
        self._heaped = self._opened().sync()
        return self._position()

    def finish(self) -> None:
        self.sync()
        if not self._heaped["count"] and self._note() is not None:
            return
        with storage_errors(self._path):
            self._make_file()
        self._first += self._heaped["count"]
        self._begin_heap()

    def give_up(self) -> None:
        pass

    def close(self) -> None:
        """Lets go of the output. What is in the heap becomes a file if that can be done: a courtesy to those who stop
        a crawl that they will not resume.
        """
        if self._heap is None:
            return
        self._heap.close()
        self._heap = None
        with suppress(Exception):  # The items stay in the heap.
            if self._heaped["count"]:
                self._make_file()
            os.unlink(self._heap_path)

    def _make_file(self) -> None:
        note = self._note()
        own = Note(self._run, note.before if note is not None else -1, self._first + self._heaped["count"])
        make_parquet(self._path, self._heap_path, own, self._first, self._fields, replace=self._replace)

    def _note(self) -> Note | None:
        """Reads what the file says of this crawl; None where it is another one's."""
        with storage_errors(self._path):
            note = note_of(self._path)
        return note if note is not None and note.run == self._run else None

    def _begin_heap(self) -> Position:
        self._let_go()
        self._heap = FileSink(self._heap_path, JsonLines(), packing=ZSTD, replace=True)
        self._heaped = self._heap.resume(None)
        return self._position()

    def _let_go(self) -> None:
        heap, self._heap = self._heap, None
        if heap is not None:
            heap.close()

    def _opened(self) -> FileSink:
        if self._heap is None:
            raise StorageError(f"{self._path} is not open: resume it first")
        return self._heap

    def _position(self) -> Position:
        return {
            "format": "parquet",
            "run": self._run,
            "first": self._first,
            "heap": self._heaped,
            "count": self._first + self._heaped["count"],
        }
