"""A list of the peers that run on this machine: for faces that were not told of one, and for crawls, which keep out of
their ports.

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
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from p2pcrawl.model.cluster.node import Address, is_address, parse_address
from p2pcrawl.private.folders import inner_folder, new_file

log = logging.getLogger(__name__)

_SIZE_MAX = 4096


class Presence:
    """Lists this peer, from :meth:`open` to :meth:`close`. A failure to do so is no reason not to run."""

    def __init__(self) -> None:
        self._file: IO[str] | None = None
        self._path: Path | None = None

    def open(self, api: Address, token: Path, listens: Sequence[Address] = ()) -> None:
        """Writes the file of this peer. ``token``: the file with the token of this API. ``listens``: all addresses
        where the peer listens.
        """
        try:
            folder = inner_folder(presence_folder())
            path = folder / f"{os.getpid()}-{secrets.token_hex(4)}.json"
            draft = path.with_suffix(".draft")
            new_file(draft)
            file = open(draft, "r+", encoding="utf-8")  # noqa: SIM115 - held, and so locked, until close
            try:
                # Locked before it has its name: nobody ever sees it without its lock.
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                told = {
                    "host": socket.gethostname(),
                    "pid": os.getpid(),
                    "api": api,
                    "token": str(token),
                    "listens": list(listens),
                }
                json.dump(told, file)
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
        """Takes this peer off the list. May be repeated."""
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
        if self._file is not None:
            self._file.close()
        self._file = self._path = None


def peers_here() -> list[Address]:
    """Returns the APIs of the peers that run on this machine as this user."""
    return [told.api for told in _running()]


def addresses_here() -> list[Address]:
    """Returns the addresses, with all their ports, where the peers listen that run on this machine as this user."""
    return [address for told in _running() for address in told.listens]


def token_file_of(address: Address) -> Path | None:
    """Returns the token file of the peer of this user that runs on this machine with its API at ``address``.

    Only what such a peer has written itself counts, and only while it runs; never what answers at the address.
    """
    host, port = parse_address(address)
    for told in _running():
        told_host, told_port = parse_address(told.api)
        if told.token is not None and port == told_port and told_host in _names(host):
            return told.token
    return None


def _names(host: str) -> set[str]:
    """Returns the names under which a peer may have listed itself if it is reached at this host."""
    names = {host, *(("127.0.0.1", "::1") if host == "localhost" else ())}
    return names | {"0.0.0.0", "::"} if names & {"127.0.0.1", "::1"} else names


def presence_folder() -> Path:
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "p2pcrawl" / "peers"


class _PeerFile(NamedTuple):
    """The contents of one peer's file."""

    api: Address
    token: Path | None
    listens: tuple[Address, ...]


def _running() -> list[_PeerFile]:
    try:
        paths = sorted(presence_folder().glob("*.json"))
    except (OSError, RuntimeError):
        return []
    return [found for path in paths if (found := _living(path))]


def _living(path: Path) -> _PeerFile | None:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), encoding="utf-8") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
                return None
            told = json.loads(file.read(_SIZE_MAX))
            if told["host"] != socket.gethostname():
                # The folder is shared with another machine, whose locks may not be seen here.
                return None
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                if not is_address(str(told["api"])):
                    return None
                # Others may have been able to write to what an older version made.
                token = told.get("token") if not status.st_mode & 0o022 else None
                api, others = Address(told["api"]), told.get("listens")
                listens = (
                    [Address(each) for each in others if is_address(str(each))] if isinstance(others, list) else []
                )
                return _PeerFile(api, Path(token) if isinstance(token, str) else None, (api, *listens))
            path.unlink(missing_ok=True)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    return None
