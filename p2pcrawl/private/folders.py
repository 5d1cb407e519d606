"""Data folders: what a crawl has seen, and the settings that it ran with, are for its own user alone.

A folder that is made here is open to nobody else, and so is each file in it that is opened by :func:`private`. One of
an earlier version, which was made as the umask said, is closed when it is used again. Folders that hold only other
things are left as they are: then the files are closed one by one.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def make_folder(folder: Path, ours: frozenset[str]) -> None:
    """Makes the folder if it is not there. ``ours``: names of files of which one shows that it is a data folder.

    Raises OSError when it cannot be made, FileExistsError also when it is no folder.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if os.name != "posix":
        return
    status = folder.stat()
    if not status.st_mode & _OTHERS or status.st_uid != os.geteuid():
        return
    names = set(os.listdir(folder))
    if not names or names & ours:
        folder.chmod(0o700)
        log.info("closed the data folder %s to other users (it was %o)", folder, stat.S_IMODE(status.st_mode))


def inner_folder(folder: Path) -> Path:
    """Makes a folder within a data folder, for its user alone, as is what has to be made above it. Raises OSError."""
    if not folder.is_dir():
        inner_folder(folder.parent)
        folder.mkdir(exist_ok=True, mode=0o700)
    return folder


def private(path: str, flags: int) -> int:
    """Opens a file that nobody else can read or write from now on, and that is no link, for ``open(path, mode,
    opener=private)``. Raises OSError.

    Raises OSError.
    """
    number = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
    if os.name == "posix":
        try:
            os.fchmod(number, 0o600)
        except OSError:
            os.close(number)
            raise
    return number


def sync_folder(folder: Path) -> None:
    """Makes the names of files in it as durable as what is in them, where that can be done. Raises OSError."""
    if os.name != "posix":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno != errno.EINVAL:  # Some file systems cannot, and say so.
            raise
    finally:
        os.close(number)


def new_file(path: Path) -> None:
    """Makes an empty file that nobody else can read, for whoever opens it by name. Raises OSError."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def close_file(path: Path) -> None:
    """Takes every right to read this file from other users. A file that is gone is no error; one of somebody else is a
    warning.
    """
    try:
        mode = path.stat().st_mode
        if mode & _OTHERS:
            path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
    except FileNotFoundError:
        pass
    except PermissionError as error:
        log.warning("cannot close %s to other users: %s", path, error.strerror)
