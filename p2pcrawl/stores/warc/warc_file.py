"""One WARC file that is being written, and its index beside it.

The file has its name only when it is whole: until then it ends in ``.open`` and is locked, so that whoever finds it
unlocked knows that its writer is gone (:mod:`p2pcrawl.stores.warc.mending`).
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from p2pcrawl.private.folders import private, sync_folder

OPEN: Final = ".open"
ENDING: Final = ".warc.gz"
INDEX: Final = ".cdxj"


class WarcFile:
    """A new file in ``folder``, open and locked. Raises OSError, FileExistsError where there is one of that name."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / name
        self._file: io.FileIO | None = io.FileIO(_made(self.path), "r+b")
        self._is_named = False
        """Its name is durable, too: without it a loss of power takes all that is in it."""
        self.size = 0
        self.pages = 0
        """How many are in it, as the one that writes it counts them."""
        self._lines: list[bytes] = []

    def append(self, data: bytes) -> int:
        """Writes whole records and returns where they begin. Raises OSError, and leaves none of them in the file."""
        assert self._file is not None
        begins, view = self.size, memoryview(data)
        try:
            while view:
                view = view[self._file.write(view) or 0 :]
        except OSError:
            with suppress(OSError):
                self._file.truncate(begins)
                self._file.seek(begins)
            raise
        self.size = begins + len(data)
        return begins

    def list_in_index(self, line: bytes) -> None:
        """Adds a line to what the index will hold."""
        self._lines.append(line)

    def sync(self) -> None:
        """Makes durable what was written by now. Raises OSError."""
        if self._file is not None:
            os.fsync(self._file.fileno())
            if not self._is_named:
                sync_folder(self.path.parent)
                self._is_named = True

    def finish(self) -> None:
        """Ends the file: it is durable, has an index and its name. One without a page is taken away. Raises OSError."""
        if self._file is None:
            return
        file, self._file = self._file, None
        with file:
            finish(file, self.path, self.pages, self._lines)


def unfinished(path: Path) -> Path:
    """Returns the name that a file has while it is written."""
    return path.with_name(path.name + OPEN)


def index_of(path: Path) -> Path:
    """Returns where the index of a WARC file is."""
    return path.with_name(path.name.removesuffix(ENDING) + INDEX)


def finish(file: io.FileIO, path: Path, pages: int, lines: Iterable[bytes]) -> None:
    """Gives an open, whole file its index and its name. One without pages is taken away. Raises OSError."""
    if not pages:
        unfinished(path).unlink(missing_ok=True)
        return
    os.fsync(file.fileno())
    index = index_of(path)
    with open(unfinished(index), "wb", opener=private) as listed:
        listed.writelines(sorted(lines))
        listed.flush()
        os.fsync(listed.fileno())
    os.replace(unfinished(index), index)
    # Last: whoever sees this name finds the index.
    os.replace(unfinished(path), path)
    sync_folder(path.parent)


def lock(descriptor: int) -> bool:
    """Shuts a file to everybody else until it is closed; returns False where the system knows no locks. Raises
    BlockingIOError for one that somebody else has shut.
    """
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def _made(path: Path) -> int:
    if path.exists():
        raise FileExistsError(f"{path} is there already")
    descriptor = os.open(unfinished(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        lock(descriptor)
    except BlockingIOError:
        os.close(descriptor)
        raise FileExistsError(f"{path} was taken by another process") from None
    return descriptor
