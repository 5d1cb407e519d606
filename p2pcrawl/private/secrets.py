"""Files that hold a secret: a cluster key, an identity, a token, a TLS key.

*Written* they are whole or not there at all, whenever the power goes or the disk fills up: a draft is written and
synced, then gets its name, and the folder is synced. Nobody else can read them, not even for a moment.

*Read* they are looked at first, by the very descriptor that is read: a file that is a link, a pipe or a device, that
belongs to somebody else, that others can read or write, or that has not the form of what it is to hold is refused with
one line that says what to do. Whoever can plant such a file would choose our secret, or know it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.private.folders import sync_folder

_NO_LINKS: Final = {errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
"""What file systems without hard links answer."""
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_OF_ROOTS: Final = stat.S_IWGRP | stat.S_IRWXO
"""An administrator may let a group read a file of root's."""

Check = Callable[[bytes], None]
"""Raises ConfigurationError for bytes that have not the right form."""


def read_secret(path: Path, what: str, size_max: int, check: Check | None = None, *, named: bool = False) -> bytes:
    """Reads the file ``path``, a ``what``, and returns its bytes.

    ``named``: a user named it, so it may be a link, and root may read what belongs to others. Raises FileNotFoundError
    and other OSErrors as they are, ConfigurationError for a file that is not to be used.
    """
    # O_NONBLOCK: a pipe with this name must not hang us.
    flags = os.O_RDONLY | _flag("O_CLOEXEC") | _flag("O_NONBLOCK") | _flag("O_NOCTTY") | _flag("O_BINARY")
    try:
        number = os.open(path, flags if named else flags | _flag("O_NOFOLLOW"))
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK) and path.is_symlink():
            raise ConfigurationError(f"{path} is no {what} but a link: remove it") from error
        if error.errno == errno.ENXIO:
            raise ConfigurationError(f"{path} is no {what}, not even a file: remove it") from error
        raise
    status = os.fstat(number)
    if not stat.S_ISREG(status.st_mode):
        os.close(number)
        if named and stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        raise ConfigurationError(f"{path} is no {what}, not even a file: remove it")
    with open(number, "rb") as file:
        content = file.read(size_max + 1)
    _check_owner(path, what, status, named=named)
    if len(content) > size_max:
        raise ConfigurationError(f"{path} is no {what}: it has more than {size_max} bytes")
    if check is not None:
        check(content)
    _check_mode(path, what, status)
    return content


def make_secret(path: Path, content: bytes) -> bool:
    """Makes a new file, and its folder if there is none; returns False when there is something of that name, which is
    left alone.

    Of processes that come at once one makes it. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = _draft(path, content)
    try:
        made = _place(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)
    return made


def replace_secret(path: Path, content: bytes) -> None:
    """Gives the file this content, also after a crash; it keeps what it had when this raises OSError."""
    draft = _draft(path, content)
    try:
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)


def _check_owner(path: Path, what: str, status: os.stat_result, *, named: bool) -> None:
    if os.name != "posix" or status.st_uid in (os.geteuid(), 0) or (named and os.geteuid() == 0):
        return
    raise ConfigurationError(
        f"the {what} {path} belongs to another user (uid {status.st_uid}), who knows it: "
        "chown it if that is right, or use another one"
    )


def _check_mode(path: Path, what: str, status: os.stat_result) -> None:
    roots = os.name == "posix" and status.st_uid == 0 != os.geteuid()
    if os.name == "posix" and status.st_mode & (_OTHERS_OF_ROOTS if roots else _OTHERS):
        can = "write" if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else "read"
        raise ConfigurationError(f"others can {can} the {what} {path}: chmod 600 it, or make a new one")


def _draft(path: Path, content: bytes) -> Path:
    """Writes a synced file beside ``path``; nothing is left of one that could not be written."""
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    number = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _flag("O_NOFOLLOW") | _flag("O_BINARY"), 0o600)
    try:
        with open(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(number)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return draft


def _place(draft: Path, path: Path) -> bool:
    """Gives the draft its name; a link, unlike a rename, never replaces what is there."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if path.exists():
            return False
        draft.rename(path)
    return True


def _flag(name: str) -> int:
    return int(getattr(os, name, 0))
