"""Which peers run on this machine, for faces that were not told of one.

Each running peer holds a small locked file in the user's state folder. The lock ends with its holder, so a file that is
not locked is stale, whatever process has its number by now.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import secrets
import socket
from contextlib import suppress
from pathlib import Path
from typing import IO

from p2pcrawl.model.node import Address, is_address

log = logging.getLogger(__name__)

_SIZE_MAX = 4096


class Presence:
    """This peer, told of from :meth:`open` to :meth:`close`. That it cannot be is no reason not to run."""

    def __init__(self) -> None:
        self._file: IO[str] | None = None
        self._path: Path | None = None

    def open(self, api: Address) -> None:
        try:
            folder = presence_folder()
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            path = folder / f"{os.getpid()}-{secrets.token_hex(4)}.json"
            draft = path.with_suffix(".draft")
            file = open(draft, "x", encoding="utf-8")  # noqa: SIM115 - held, and so locked, until close
            try:
                # Locked before it has its name: nobody ever sees it without its lock.
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                json.dump({"host": socket.gethostname(), "pid": os.getpid(), "api": api}, file)
                file.flush()
                draft.rename(path)
            except BaseException:
                file.close()
                draft.unlink(missing_ok=True)
                raise
        except (OSError, RuntimeError) as error:
            log.info("cannot tell other programs of this peer: %s", error)
            return
        self._file, self._path = file, path

    def close(self) -> None:
        """May be repeated."""
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
        if self._file is not None:
            self._file.close()
        self._file = self._path = None


def peers_here() -> list[Address]:
    """The APIs of the peers that run on this machine as this user."""
    try:
        paths = sorted(presence_folder().glob("*.json"))
    except (OSError, RuntimeError):
        return []
    return [api for path in paths if (api := _living(path))]


def presence_folder() -> Path:
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "p2pcrawl" / "peers"


def _living(path: Path) -> Address | None:
    try:
        with open(path, encoding="utf-8") as file:
            told = json.loads(file.read(_SIZE_MAX))
            if told["host"] != socket.gethostname():
                # The folder is shared with another machine, whose locks may not be seen here.
                return None
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return Address(told["api"]) if is_address(str(told["api"])) else None
            path.unlink(missing_ok=True)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None
