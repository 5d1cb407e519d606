"""The verb ``keygen --bot``: makes a key that requests are signed with, and writes what is to be published of it."""

from __future__ import annotations

import sys
from pathlib import Path

from p2pcrawl.fetch.signing.bot_key import BotKey
from p2pcrawl.fetch.signing.key_directory import MEDIA_TYPE, PATH, directory_of
from p2pcrawl.model.errors import ConfigurationError, StorageError


def run_bot_keygen(path: Path | None, directory: Path | None, *, bot: bool, step: str | None) -> int:
    """Makes the key file ``path``; with a ``directory`` the key may be there already, and is published there."""
    if not bot:
        raise ConfigurationError("--directory is of a bot's key: add --bot")
    if step is not None:
        raise ConfigurationError(
            f"--{step} is for cluster keys: a bot's key is changed by publishing a new one beside it"
        )
    if path is None:
        raise ConfigurationError("a bot's key is not printed: give -o FILE")
    if directory is not None and path.exists():
        key, made = BotKey.read(path), False
    else:
        key, made = BotKey.generate(), True
        _make(key, path)
    if directory is not None:
        try:
            directory.write_bytes(directory_of([key]))
        except OSError as error:
            raise StorageError(f"cannot write {directory}: {error.strerror}") from error
    for line in _told(key, path, directory, made=made):
        print(f"p2pcrawl: {line}", file=sys.stderr)
    return 0


def _make(key: BotKey, path: Path) -> None:
    if not path.parent.is_dir():
        raise ConfigurationError(f"cannot write {path}: there is no folder {path.parent}; make it first")
    try:
        if not key.write(path):
            raise ConfigurationError(f"{path} is there already: choose another name, hosts may know its key")
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from error


def _told(key: BotKey, path: Path, directory: Path | None, *, made: bool) -> list[str]:
    lines = [f"{'made' if made else 'read'} {path} with key {key.thumbprint}: copy it to each machine with slaves"]
    if directory is not None:
        lines.append(f"serve {directory} as https://YOUR.BOT{PATH}, as {MEDIA_TYPE}")
    else:
        lines.append("publish it: keygen --bot --directory writes a file for a web server, peer --bot-key serves it")
    lines.append(f"sign with it: -s SIGNATURE_KEY={path} -s SIGNATURE_AGENT=https://YOUR.BOT")
    return lines
