"""A file that holds each item once, whatever the moment of a crash.

The file is ``synced bytes + closing``. The position names the end of the synced bytes, which are never
touched again. A write first cuts off the closing; a sync writes it anew behind the new items, so that
the file is a whole document after each sync. Whatever a crash leaves behind the synced bytes (part of a
write, of a gzip member, of a closing, or zeros) is cut off by ``resume``.

With gzip or zstd, the items of one sync are one member and the closing is another one, so both can be cut off.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from p2pcrawl.model.errors import ConfigurationError, StorageError
from p2pcrawl.stores.files.disk import open_locked, storage_errors, sync_folder_of, write_all
from p2pcrawl.stores.files.existing import DamagedPacking, Existing, examined
from p2pcrawl.stores.files.file_packing import GZIP, Packing
from p2pcrawl.stores.files.formats import CannotContinue, Format, Kept
from p2pcrawl.stores.files.local_sink import Position

_CHECKED = 64
"""Bytes before the position that are compared at a resume."""


class FileSink:
    """A :class:`~p2pcrawl.stores.files.local_sink.LocalSink` that writes one file in one format."""

    def __init__(self, path: str, format: Format, *, packing: Packing | None = None, replace: bool = False) -> None:
        self._path = path
        self._format = format
        self._packing = packing
        self._replace = replace
        self._file: io.FileIO | None = None
        self._member: Any = None
        self._end = 0
        self._count = 0
        self._cut = False
        """There may be something behind ``_end`` that has to go before a write."""
        self._whole = False
        """The document is closed and durable."""
        self._position: Position = {}

    def resume(self, position: Position | None) -> Position:
        self.close()
        self._end, self._position = 0, {}
        begun = position is not None and self._restored(position)
        with storage_errors(self._path):
            try:
                self._file = open_locked(self._path, create=not begun)
            except FileNotFoundError:
                if position is None:
                    raise ConfigurationError(f"cannot write {self._path}: no file can be made there") from None
                raise StorageError(
                    f"{self._path}, or its folder, is gone; put it back, or start anew in another data folder"
                ) from None
            try:
                if position is None:
                    self._begin(self._file)
                else:
                    self._return_to(self._file, position)
                sync_folder_of(self._path)
            except BaseException:
                self.close()
                raise
        return dict(self._position)

    def write(self, items: Sequence[bytes]) -> None:
        file = self._opened()
        if not items:
            return
        try:
            with storage_errors(self._path):
                data = self._format.encode(items)
                self._count += len(items)
                if self._packing is not None:
                    if self._member is None:
                        self._member = self._packing.compressor()
                    data = self._member.compress(data)
                if data:  # A member may keep all of it until it is flushed.
                    self._append(file, data)
        except BaseException:
            self.close()  # What was written of the items is unknown; only a resume knows where to go on.
            raise

    def sync(self) -> Position:
        file = self._opened()
        try:
            with storage_errors(self._path):
                return self._sync(file)
        except BaseException:
            self.close()
            raise

    def finish(self) -> None:
        self.sync()

    def give_up(self) -> None:
        pass

    def close(self) -> None:
        file, self._file, self._member = self._file, None, None
        if file is None:
            return
        with storage_errors(self._path), file:
            if self._position and self._end != self._position["offset"]:
                # Leave what was synced as a whole document. It is only a courtesy, so it may fail.
                with suppress(OSError):
                    self._format.restore(self._position)
                    self._close_document(file, self._position["offset"])

    @property
    def _packed(self) -> str:
        return self._packing.name if self._packing is not None else ""

    def _opened(self) -> io.FileIO:
        if self._file is None:
            raise StorageError(f"{self._path} is not open: resume it first")
        return self._file

    def _begin(self, file: io.FileIO) -> None:
        if self._replace:
            file.truncate(0)
        self._count = 0
        self._format.begin()
        self._end = self._continue(file) if _size(file) else 0
        os.fsync(self._opened().fileno())
        # Until the caller has stored this position, a crash must leave a file to begin with again: so it
        # stays as it is, an existing document with its own closing, a new file without any.
        self._cut = True
        self._whole = self._end > 0
        self._position = self._described(self._opened())

    def _continue(self, file: io.FileIO) -> int:
        """Prepares the format to go on with what is there, and returns the offset at which items can be added."""
        try:
            with examined(file, packing=self._packing, whole=self._format.reads_whole) as text:
                kept = self._format.continue_from(text)
                if self._packing is None or kept.low == 0:
                    return kept.low
                for length, offset in text.boundaries:
                    if kept.low <= length <= kept.high:
                        return offset
                return self._split(text, kept, self._packing)
        except DamagedPacking as error:
            reason = f"is not a whole {self._packed} file ({error})"
        except CannotContinue as error:
            reason = str(error)
        raise ConfigurationError(
            f"cannot append to {self._path}, which {reason}; replace it with -O or choose another file"
        ) from None

    def _split(self, text: Existing, kept: Kept, packing: Packing) -> int:
        """Puts the closing of a compressed file into a member of its own, where it can be cut off.

        The member that holds it also holds the user's items, so the file is replaced as a whole: a
        crash leaves either the old one or the new one.
        """
        path = os.path.realpath(self._path)
        folder, name = os.path.split(path)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{name[:100]}.", suffix=".part", dir=folder)
        try:
            with io.FileIO(descriptor, "wb") as copy:
                member = packing.compressor()
                for start in range(0, kept.low, 1 << 20):
                    write_all(copy, member.compress(text.whole[start : min(start + (1 << 20), kept.low)]))
                write_all(copy, member.flush())
                offset = copy.tell()
                write_all(copy, packing.whole(self._format.closing()))
                os.fsync(copy.fileno())
            shutil.copymode(path, temporary)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        sync_folder_of(path)
        self.close()
        self._file = open_locked(self._path, create=False)
        return offset

    def _restored(self, position: Position) -> bool:
        """Takes over a position; tells whether it lies behind something written."""
        try:
            written = position["format"], "gzip" if position["gzip"] else position.get("packing", "")
            if written == (self._format.name, self._packed):
                self._format.restore(position)
            numbers = position["offset"], position["count"], position["check"]
            if not all(isinstance(number, int) and number >= 0 for number in numbers):
                raise ValueError(numbers)
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(f"the stored position of {self._path} is damaged: {error!r}") from None
        if written != (self._format.name, self._packed):
            raise ConfigurationError(
                f"this crawl began its output as {written[0]}{f' with {written[1]}' if written[1] else ''}; "
                f"it cannot go on with {self._path}"
            )
        self._end, self._count, self._position = position["offset"], position["count"], dict(position)
        return self._end > 0

    def _return_to(self, file: io.FileIO, position: Position) -> None:
        if _size(file) < self._end:
            raise StorageError(
                f"{self._path} has {_size(file)} bytes, but this crawl had written {self._end}; "
                "put the file back, or start anew in another data folder"
            )
        if _check(file, self._end) != position["check"]:
            raise StorageError(
                f"{self._path} is not the file that this crawl wrote; "
                "put that one back, or start anew in another data folder"
            )
        self._whole = False
        self._sync(file)

    def _append(self, file: io.FileIO, data: bytes) -> None:
        if self._cut:
            file.truncate(self._end)
            file.seek(self._end)
            self._cut = False
        self._whole = False
        self._end += len(data)  # Before the write, which may fail half-way.
        write_all(file, data)

    def _sync(self, file: io.FileIO) -> Position:
        if self._member is not None:
            self._append(file, self._member.flush())
            self._member = None
        if not self._whole:
            self._close_document(file, self._end)
            self._position = self._described(file)
            self._whole = True
        return dict(self._position)

    def _close_document(self, file: io.FileIO, end: int) -> None:
        closing = self._format.closing()
        if self._packing is not None and (closing or end == 0):
            closing = self._packing.whole(closing)
        self._cut = True
        file.truncate(end)
        file.seek(end)
        write_all(file, closing)
        os.fsync(file.fileno())

    def _described(self, file: io.FileIO) -> Position:
        return {
            **self._format.state(),
            "format": self._format.name,
            "gzip": self._packing is GZIP,
            **({"packing": self._packed} if self._packing not in (None, GZIP) else {}),
            "offset": self._end,
            "count": self._count,
            "check": _check(file, self._end),
        }


def _size(file: io.FileIO) -> int:
    return os.fstat(file.fileno()).st_size


def _check(file: io.FileIO, offset: int) -> int:
    start = max(0, offset - _CHECKED)
    file.seek(start)
    return zlib.crc32(file.read(offset - start))
