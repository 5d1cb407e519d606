"""Identity files: the 32 bytes behind a node id, readable by their owner alone."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from p2pcrawl.model.errors import ConfigurationError, StorageError
from p2pcrawl.wire.identity import SEED_BYTES, Identity

_NO_LINKS = {errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
"""What file systems without hard links answer."""


def load_or_create(path: Path) -> Identity:
    """The identity in this file, made at the first call and synced to the disk before it is used.

    Two processes that come at once end up with the same one. Raises ConfigurationError for a file that
    is no identity or that others can read, StorageError when it cannot be read or written.
    """
    try:
        seed = _read(path)
        if seed is None:
            _create(path, Identity.generate().seed)
            seed = _read(path)
    except OSError as error:
        raise StorageError(f"cannot use the identity file {path}: {error.strerror or error}") from error
    if seed is None:
        raise StorageError(f"cannot use the identity file {path}: it vanished while it was made")
    return Identity(seed)


def _read(path: Path) -> bytes | None:
    """The seed, or None without a file; permissions are those of the very file that is read."""
    try:
        # O_NONBLOCK: a pipe with this name must not hang us; it is refused below.
        number = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return None
    with open(number, "rb") as file:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode):
            raise ConfigurationError(f"{path} is not an identity file")
        if os.name == "posix" and status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ConfigurationError(f"others can read the identity file {path}: chmod 600 it, or make a new one")
        seed = file.read(SEED_BYTES + 1)
    if len(seed) != SEED_BYTES:
        raise ConfigurationError(f"{path} is not an identity file: it has to have exactly {SEED_BYTES} bytes")
    return seed


def _create(path: Path, seed: bytes) -> None:
    """Puts a whole, synced file in place, unless another process was quicker."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    number = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(number, "wb") as file:
            file.write(seed)
            file.flush()
            os.fsync(number)
        _place(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _place(draft: Path, path: Path) -> None:
    """Gives the draft its name; a link, unlike a rename, never replaces what is there."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        draft.rename(path)


def _sync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
