"""The electorate on disk: what this master knows of it, what it has promised and accepted, and its seat.

Nothing is said of a ballot before it is durable. A file that is not there, or cannot be read, makes this master a new
voter, which has to be let in: what it had accepted is not known any more. Beside a file that cannot be read no cluster
is founded, for there was one.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
import time
from pathlib import Path
from typing import Any

from p2pcrawl.core.majority.electorate import Electorate
from p2pcrawl.model.cluster.consent import SEAT_BYTES, Ballot, Decision, Poll, Version, Vote, Voters
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.errors import StorageError
from p2pcrawl.private.secrets import replace_secret

log = logging.getLogger(__name__)

FILE = "electorate.json"
_DICE_BITS = 12


class Roll:
    """Keeps the electorate on disk. One at a time changes it."""

    def __init__(self, folder: Path, me: NodeId) -> None:
        self._path = folder / FILE
        self._me = me
        self._turn = asyncio.Lock()
        self._lock = threading.Lock()
        self._asked = self._written = 0
        self._damaged = False
        self.electorate = self._load()

    async def found(self) -> None:
        """Begins a cluster, if this master has never heard of one, as far as can be read. Raises StorageError."""
        if not self.electorate.version.founded and not self._damaged:
            founded = time.time_ns() // 1_000_000 << _DICE_BITS | int.from_bytes(os.urandom(2), "big") >> 4
            async with self._turn:
                self.electorate.found(self._me, founded, _now())
                await self._save()

    async def learn(self, decision: Decision) -> bool:
        """Takes a decision that somebody tells; tells whether it is news. Raises StorageError."""
        async with self._turn:
            news = self.electorate.learn(decision, new_seat, _now())
            await self._save()
            return news

    async def open_ballot(self, round_min: int) -> Ballot:
        """Raises StorageError."""
        async with self._turn:
            ballot = self.electorate.open_ballot(self._me, round_min)
            await self._save()
            return ballot

    async def vote(self, poll: Poll, settle_s: float) -> Vote:
        """Raises StorageError: then nothing may be said."""
        async with self._turn:
            vote = self.electorate.vote(self._me, poll, _now(), settle_s)
            await self._save()
            return vote

    async def _save(self) -> None:
        if not self.electorate.changed:
            return
        content = json.dumps(_row(self.electorate), indent=1).encode()
        self._asked += 1
        try:
            await asyncio.to_thread(self._write, content, self._asked)
        except OSError as error:
            raise StorageError(f"cannot write {self._path}: {error.strerror or error}") from error
        self.electorate.changed = False

    def _write(self, content: bytes, number: int) -> None:
        """Writes the roll, in a thread, which goes on when nobody waits for it any more: what is older never replaces
        what is newer.
        """
        with self._lock:
            if number > self._written:
                replace_secret(self._path, content)
                self._written = number

    def _load(self) -> Electorate:
        try:
            return _read(json.loads(self._path.read_text()), _now())
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            self._damaged = True
            log.warning(
                "cannot read %s: %s; this master votes when it has been let in; delete the file to found a cluster",
                self._path,
                error,
            )
        return Electorate(new_seat(), learnt_at=_now())


def new_seat() -> bytes:
    return os.urandom(SEAT_BYTES)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _row(electorate: Electorate) -> dict[str, Any]:
    return {
        "founded": electorate.version.founded,
        "version": electorate.version.number,
        "voters": _plain(electorate.voters),
        "seat": electorate.seat.hex(),
        "ballot": electorate.ballot,
        "accepted_in": electorate.accepted_in,
        "accepted": None if electorate.accepted is None else _plain(electorate.accepted),
    }


def _read(row: dict[str, Any], now: float) -> Electorate:
    return Electorate(
        _seat(row["seat"]),
        Version(int(row["founded"]), int(row["version"])),
        _voters(row["voters"]),
        _ballot(row["ballot"]),
        _ballot(row["accepted_in"]),
        None if row["accepted"] is None else _voters(row["accepted"]),
        unused=False,
        learnt_at=now,
    )


def _plain(voters: Voters) -> dict[str, str]:
    return {node: seat.hex() for node, seat in sorted(voters.items())}


def _voters(row: dict[str, str]) -> Voters:
    return {NodeId(node): _seat(seat) for node, seat in row.items()}


def _seat(text: str) -> bytes:
    seat = bytes.fromhex(text)
    if len(seat) != SEAT_BYTES:
        raise ValueError(f"{text!r} is no seat")
    return seat


def _ballot(row: list[Any]) -> Ballot:
    number, opener = row
    return int(number), NodeId(str(opener))
