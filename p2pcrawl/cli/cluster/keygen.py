"""The verb ``keygen``: makes a cluster key, and takes a key file through a change of keys.

The steps are those of docs/security.md: a key is added everywhere, then used everywhere, then the old one is removed.
In this order peers understand each other all the time, whichever of them has got how far.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from p2pcrawl.model.errors import ConfigurationError, StorageError
from p2pcrawl.peer.config import read_key_file
from p2pcrawl.private.secrets import make_secret, replace_secret
from p2pcrawl.wire.sealed.keys import KeyRing, generate_key

_SPREAD = "copy it to each machine, and let each peer read it again (kill -HUP its process)"


class Step(StrEnum):
    """A step of a key file on its way through a change of keys."""

    MAKE = "make"
    REPLACE = "force"
    ADD = "add"
    USE = "use"
    REMOVE = "remove"


def run_keygen(path: Path | None, step: Step) -> int:
    """Prints a key, or writes to ``path``."""
    if path is None:
        if step is not Step.MAKE:
            raise ConfigurationError(f"--{step} needs the key file: give -o FILE")
        print(generate_key())
        return 0
    match step:
        case Step.MAKE | Step.REPLACE:
            _make(path, replace=step is Step.REPLACE)
        case Step.ADD:
            _add(path)
        case Step.USE:
            _use(path)
        case Step.REMOVE:
            _remove(path)
    return 0


def _make(path: Path, *, replace: bool) -> None:
    text = generate_key() + "\n"
    with _errors(path):
        if replace:
            replace_secret(path, text.encode())
        elif not make_secret(path, text.encode()):
            raise ConfigurationError(
                f"{path} is there already: --add puts a new key beside its keys, --force replaces it"
            )
    _say(f"made {path} with key {KeyRing.parse(text).ids[0]}: copy it to each machine, and name it with --key-file")


def _add(path: Path) -> None:
    lines, _ = _read(path)
    new = generate_key()
    _rewrite(path, [*lines, new])
    name = KeyRing.parse(new).ids[0]
    _say(f"step 1 of 3: {path} has the new key {name} too, not in use yet; {_SPREAD}; when all have it: --use")


def _use(path: Path) -> None:
    lines, keys = _read(path)
    if len(keys) < 2:
        raise ConfigurationError(f"{path} has one key only: --add a new one first, and bring it to all peers")
    newest = keys[-1]
    rest = [line for number, line in enumerate(lines) if number != newest]
    ring = _rewrite(path, [lines[newest], *rest])
    _say(f"step 2 of 3: {path} uses key {ring.ids[0]}; {_SPREAD}; when all use it: --remove")


def _remove(path: Path) -> None:
    lines, keys = _read(path)
    if len(keys) < 2:
        raise ConfigurationError(f"{path} has one key only: there is no old one to remove")
    kept = [line for number, line in enumerate(lines) if number not in keys[1:]]
    ring = _rewrite(path, kept)
    _say(f"step 3 of 3: {path} has key {ring.ids[0]} only; {_SPREAD}; then whoever has an old key is refused")


def _read(path: Path) -> tuple[list[str], list[int]]:
    """Returns the lines of a good key file, and which of them hold keys."""
    try:
        text = read_key_file(path)
    except FileNotFoundError as error:
        raise ConfigurationError(f"cannot read the key file {path}: {error.strerror}") from error
    lines = text.lstrip("\ufeff").splitlines()
    return lines, [number for number, line in enumerate(lines) if line.partition("#")[0].strip()]


def _rewrite(path: Path, lines: list[str]) -> KeyRing:
    text = "\n".join(lines) + "\n"
    ring = KeyRing.parse(text)
    with _errors(path):
        replace_secret(path, text.encode())
    return ring


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Turns what the disk refuses into an error of one line."""
    try:
        if not path.parent.is_dir():
            raise ConfigurationError(f"cannot write {path}: there is no folder {path.parent}; make it first")
        yield
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from error


def _say(line: str) -> None:
    print(f"p2pcrawl: {line}", file=sys.stderr)
