"""The few things asked of a file system, and its errors in our own words."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from p2pcrawl.model.errors import ConfigurationError, DiskFullError, StorageError
from p2pcrawl.private.folders import sync_folder

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def storage_errors(path: str) -> Iterator[None]:
    """Turns an OSError within into a DiskFullError or StorageError that names ``path``."""
    try:
        yield
    except BrokenPipeError as error:
        raise StorageError(f"{path} was closed by its reader") from error
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in _FULL:
            raise DiskFullError(f"no room left to write {path} ({reason}); make room and resume") from error
        raise StorageError(f"cannot read or write {path}: {reason}") from error


def open_locked(path: str, *, create: bool) -> io.FileIO:
    """Opens a file for reading and writing, shut to every other crawl until it is closed.

    Two crawls in one file would each cut away what the other wrote.
    """
    flags = os.O_RDWR | (os.O_CREAT if create else 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o666)
    file = io.FileIO(descriptor, "r+b")
    try:
        _lock(descriptor)
    except BlockingIOError:
        file.close()
        raise ConfigurationError(f"{path} is being written by another crawl; choose another output file") from None
    return file


def _lock(descriptor: int) -> None:
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            return  # Some network file systems know no locks; that is no reason not to write there.


def write_all(file: io.FileIO, data: bytes) -> None:
    """Writes every byte: an unbuffered file may take only a part at a time."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) or 0 :]


def sync_folder_of(path: str) -> None:
    """Makes the name of a new file as durable as its content."""
    sync_folder(Path(os.path.dirname(path) or "."))
