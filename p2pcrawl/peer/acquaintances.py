"""The masters that this one knew when it last ran: how it finds them again, and knows who is missing.

Who left in order is written down, too: this master may be the only one that heard of it, and somebody who was away then
may come back and take the departed for missing. For how long each has been away is counted while this master runs; the
time in which it did not brings nobody closer to being forgotten.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from p2pcrawl.frontier.copies.set_aside import rename_damaged
from p2pcrawl.master.neighbours.absences import Absences
from p2pcrawl.model.cluster.gossip import Entry
from p2pcrawl.model.cluster.node import Address, Member, NodeId, Status, parse_address
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.overlay.door import Door
from p2pcrawl.private.secrets import replace_secret

log = logging.getLogger(__name__)

FILE = "members.json"
SECOND = "members-2.json"
AGES_S = 600.0
"""Ages are written down in such steps, so that the file is not written all the time."""

Row = tuple[Entry, float | None]
"""What is known of one, and since when it has been away, as clocks on walls have it."""


class Acquaintances:
    """A file in the data folder, and another one with the same in it: else a few bad bytes would be enough, and those
    who are missing would not be missed. If neither can be read it is as if they were not there: others will tell."""

    def __init__(self, folder: Path) -> None:
        self.missed: frozenset[NodeId] = frozenset()
        """Whom a next run would miss, as it is on the disk."""
        self._folder = folder
        self._written = ""
        self._refused = False
        self._lock = threading.Lock()

    def load(self) -> list[Row]:
        """Reads all masters that were known, the departed included."""
        for file, instead in ((FILE, f"it is read from {SECOND}"), (SECOND, "who is missing is not known here")):
            path = self._folder / file
            try:
                rows = json.loads(path.read_text())
                if not isinstance(rows, list):
                    raise TypeError("it holds no list")
                read = [_read(row) for row in rows]
                self.missed = _missed(read)
                return read
            except FileNotFoundError:
                continue
            except (OSError, ValueError, KeyError, TypeError, AttributeError, P2PCrawlError) as error:
                log.warning("%s is damaged (%s): it is kept as %s, and %s", path, error, self._set_aside(path), instead)
        return []

    def _set_aside(self, path: Path) -> str:
        with suppress(OSError):
            return rename_damaged(path).name
        return path.name

    def save(self, known: Iterable[Row]) -> bool:
        """Saves who is known, durably when this returns, and tells whether the disk took it. Called in any thread, when
        anything has changed.
        """
        with self._lock:
            return self._save(known)

    def _save(self, known: Iterable[Row]) -> bool:
        rows = sorted(known, key=lambda row: row[0].member.id)
        text = json.dumps([_row(*row) for row in rows], indent=1)
        if text == self._written:
            return True
        for name in (FILE, SECOND):
            try:
                # Synced, or a power cut may leave an empty file, and nobody would be missed.
                replace_secret(self._folder / name, text.encode())
            except OSError as error:
                # It is tried again before long; once is enough to be told.
                level = logging.DEBUG if self._refused else logging.WARNING
                log.log(level, "cannot write %s: %s", self._folder / name, error)
                self._refused = True
                return False
        self._written, self.missed, self._refused = text, _missed(rows), False
        return True


class AcquaintanceKeeping:
    """Keeps what is known of others on the disk, as it is here by now."""

    def __init__(self, acquaintances: Acquaintances, door: Door, absences: Absences) -> None:
        self._acquaintances = acquaintances
        self._door = door
        self._absences = absences
        self._noted = -1, 0.0
        """What was known of others when it was written down last, and when."""
        self._noting = asyncio.Lock()

    async def note(self) -> None:
        """Saves who is known, when that has changed since or is older than AGES_S, or was not taken. Not at each event:
        when a large cluster begins, as many come at once as it has members.
        """
        async with self._noting:
            revision, now = self._door.membership.revision, asyncio.get_running_loop().time()
            noted, at = self._noted
            if revision == noted and now - at < AGES_S:
                return
            if await asyncio.to_thread(self._acquaintances.save, self._absences.known()):
                self._noted = revision, now

    async def remember(self) -> None:
        """Returns when all that count are on the disk, as far as it takes anything: after a crash they are missed."""
        if not self._acquaintances.missed.issuperset(member.id for member in self._door.others()):
            await self.note()


def _missed(rows: Iterable[Row]) -> frozenset[NodeId]:
    return frozenset(entry.member.id for entry, _ in rows if entry.status is not Status.LEFT)


def _row(entry: Entry, since: float | None) -> dict[str, Any]:
    member = entry.member
    row: dict[str, Any] = {
        "id": member.id,
        "address": member.address,
        "incarnation": member.incarnation,
        "weight": member.weight,
        "boot": member.boot.hex(),
        "store": member.store.hex(),
        "api": member.api,
    }
    if entry.status >= Status.DEAD:
        row |= {
            "state": entry.status.name.lower(),
            "last": entry.incarnation,
            "away_s": entry.age_s // AGES_S * AGES_S,
            "since": since,
        }
    return row


def _read(row: dict[str, Any]) -> Row:
    parse_address(row["address"])
    member = Member(
        NodeId(str(row["id"])),
        Address(row["address"]),
        int(row["incarnation"]),
        Status.ALIVE,
        int(row["weight"]),
        bytes.fromhex(row["boot"]),
        bytes.fromhex(row["store"]),
        api=Address(row["api"]),
    )
    member.check()
    if "state" not in row:
        return Entry(member, member.incarnation, Status.DEAD), None
    status = Status.LEFT if row["state"] == "left" else Status.DEAD
    last, since = max(member.incarnation, int(row["last"])), row["since"]
    return Entry(member, last, status, max(0.0, float(row["away_s"]))), None if since is None else float(since)
