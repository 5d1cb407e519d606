"""Identity files: the 32 bytes behind a node id, readable by their owner alone."""

from __future__ import annotations

from pathlib import Path

from p2pcrawl.model.errors import ConfigurationError, StorageError
from p2pcrawl.private.secrets import make_secret, read_secret
from p2pcrawl.wire.sealed.identity import SEED_BYTES, Identity

WHAT = "identity file"


def load_or_create(path: Path) -> Identity:
    """Loads the identity in this file, made at the first call and synced to the disk before it is used.

    Two processes that come at once end up with the same one. Raises ConfigurationError for a file that
    is no identity or that others can use, StorageError when it cannot be read or written.
    """

    def check(seed: bytes) -> None:
        if len(seed) != SEED_BYTES:
            raise ConfigurationError(f"{path} is no identity file: it has to have exactly {SEED_BYTES} bytes")

    try:
        try:
            return Identity(read_secret(path, WHAT, SEED_BYTES, check))
        except FileNotFoundError:
            make_secret(path, Identity.generate().seed)
        return Identity(read_secret(path, WHAT, SEED_BYTES, check))
    except OSError as error:
        raise StorageError(f"cannot use the identity file {path}: {error.strerror or error}") from error
