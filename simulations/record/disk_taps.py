"""Taps at the databases of masters: what each transaction has made durable, row by row, as it is committed.

Temporary triggers on each connection tell of the rows that change. They lie in no file, and the peers' statements do
not notice them. What a connection finds when it is opened is read once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, Final, Protocol

from ..model.endings import JobRow
from ..model.stores import Key, StandingRow, Store, Stores, phase_of, stamp_of
from .job_rows import read_job

Row = tuple[Any, ...]


class Ears(Protocol):
    """The interface of whoever is told of what matters at once."""

    def has_ended(self, node: str, key: Key, *, is_copy: bool) -> None:
        """Hears of a URL that a disk knows to be through from now on, as its own or as a copy."""

    def goes_back(self, node: str, key: Key, before: int, after: int) -> None:
        """Hears of a URL of which a disk knows less than it knew, in stamps."""

    def has_dropped(self, node: str, key: Key) -> None:
        """Hears of a copy that a disk has no more."""

    def has_stood(self, node: str, bucket: int, before: StandingRow | None, row: StandingRow) -> None:
        """Hears of which epochs a disk says that it has all of a bucket, and what it said before."""

    def has_jobs(self, node: str, jobs: dict[int, JobRow]) -> None:
        """Hears which jobs a disk has, when it is opened."""

    def has_stored(self, node: str, job: int, row: JobRow | None) -> None:
        """Hears of a job as a disk has it from now on; None: no more."""

    def has_lost(self, node: str) -> None:
        """Hears of a disk that is no more."""


_RECORD: Final = "'r', NEW.id, NEW.hi, NEW.lo, NEW.job, NEW.bucket, NEW.visit, NEW.phase, NEW.attempts, NEW.losses"
_HELD: Final = "'h', NEW.bucket, NEW.hi, NEW.lo, NEW.job, NEW.stamp"
_JOB: Final = "'j', NEW.id, NEW.state, NEW.reason, NEW.spec"
_PAUSE: Final = "'p', NEW.key"
_STANDING: Final = "'t', NEW.bucket, NEW.epoch, NEW.lack, NEW.base, NEW.pieces"
_TRIGGERS: Final = {
    "record": (
        ("INSERT", _RECORD),
        ("UPDATE OF visit, phase, attempts, losses", _RECORD),
        ("DELETE", "'x', OLD.id, OLD.hi, OLD.lo, OLD.job"),
    ),
    "pause": (("INSERT", _PAUSE), ("UPDATE", _PAUSE)),
    "lease": (("INSERT", "'l', NEW.record, NEW.lease"), ("DELETE", "'e', OLD.record, OLD.lease")),
    "job": (
        ("INSERT", _JOB),
        ("UPDATE OF state, reason, spec", _JOB),
        ("DELETE", "'k', OLD.id"),
    ),
    "held": (
        ("INSERT", _HELD),
        ("UPDATE OF stamp", _HELD),
        ("DELETE", "'d', OLD.hi, OLD.lo, OLD.job"),
    ),
    "spool": (("INSERT", "'s', NEW.id, NEW.hi, NEW.lo, NEW.job"), ("DELETE", "'u', OLD.id")),
    "standing": (
        ("INSERT", _STANDING),
        ("UPDATE", _STANDING),
        ("DELETE", "'n', OLD.bucket"),
    ),
}
_READ: Final = {
    "record": "SELECT 'r', id, hi, lo, job, bucket, visit, phase, attempts, losses FROM record",
    "pause": "SELECT 'p', key FROM pause",
    "lease": "SELECT 'l', record, lease FROM lease",
    "job": "SELECT 'j', id, state, reason, spec FROM job",
    "held": "SELECT 'h', bucket, hi, lo, job, stamp FROM held",
    "spool": "SELECT 's', id, hi, lo, job FROM spool",
    "standing": "SELECT 't', bucket, epoch, lack, base, pieces FROM standing",
}


class DiskTaps:
    """Keeps the stores of a model up with the disks of a run. Each connection gives it what it commits."""

    def __init__(self, stores: Stores, clock: Callable[[], float], ears: Ears) -> None:
        self._stores = stores
        self._clock = clock
        self._ears = ears
        self._back: list[tuple[Key, int, int]] = []
        """The URLs of which the transaction that is taken in makes a disk know less, and how far they were and are."""

    def tap(self, node: str, connection: sqlite3.Connection, changes: list[Row]) -> bool:
        """Begins to listen at a connection of a node, which has just committed: ``changes`` gets what follows. Tells
        whether there is anything to listen to.
        """
        here = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        tables = [table for table in _TRIGGERS if table in here]
        if not tables:
            return False
        connection.create_function("p2pcrawl_tap", -1, lambda *row: changes.append(row))
        for table in tables:
            for number, (event, columns) in enumerate(_TRIGGERS[table]):
                connection.execute(
                    f"CREATE TEMP TRIGGER tap_{table}_{number} AFTER {event} ON main.{table}"
                    f" BEGIN SELECT p2pcrawl_tap({columns}); END"
                )
        store = self._stores.store(node)
        store.forget_records() if "record" in tables else store.forget_copies()
        for table in tables:
            for row in connection.execute(_READ[table]):
                self._take(store, row, told=False)
        if "job" in tables:
            jobs = connection.execute(_READ["job"])
            self._ears.has_jobs(node, {job: read_job(*columns) for _, job, *columns in jobs})
        return True

    def committed(self, node: str, changes: list[Row]) -> None:
        """Takes in what a transaction has made durable."""
        store, rows = self._stores.store(node), changes.copy()
        changes.clear()
        stood = {row[1]: store.standings.get(row[1]) for row in rows if row[0] == "t"}
        ended = [(key, row[0] == "h") for row in rows if (key := self._take(store, row, told=True)) is not None]
        for step in self._back:
            self._ears.goes_back(node, *step)
        self._back.clear()
        # Only when all of it is there: a page's links come with its end.
        for row in rows:
            if row[0] == "d" and row[1:] not in store.held:
                self._ears.has_dropped(node, row[1:])
        for bucket, before in stood.items():
            if (standing := store.standings.get(bucket)) is not None:
                self._ears.has_stood(node, bucket, before, standing)
        for key, is_copy in ended:
            self._ears.has_ended(node, key, is_copy=is_copy)
        for job, columns in {row[1]: row[2:] for row in rows if row[0] in "jk"}.items():
            self._ears.has_stored(node, job, read_job(*columns) if columns else None)

    def lost(self, node: str) -> None:
        """Takes in that nothing of what a disk had is to be read any more."""
        self._stores.lose(node, self._clock())
        self._ears.has_lost(node)

    def _take(self, store: Store, row: Row, *, told: bool) -> Key | None:
        """Takes in one row; returns the key of what has ended by it."""
        match row[0]:
            case "r":
                _, number, hi, lo, job, bucket, *standing = row
                store.numbers[number] = (hi, lo, job)
                return self._know(store, store.records, (hi, lo, job), bucket, stamp_of(*standing), told=told)
            case "h":
                _, bucket, hi, lo, job, stamp = row
                return self._know(store, store.held, (hi, lo, job), bucket, stamp, told=told)
            case "x":
                store.numbers.pop(row[1], None)
                self._leave(store, row[2:], store.records.pop(row[2:], None))
            case "d":
                self._leave(store, row[1:], store.held.pop(row[1:], None))
            case "p":
                store.pauses.add(row[1])
            case _:
                _note(store, row)
        return None

    def _know(
        self, store: Store, facts: dict[Key, int], key: Key, bucket: int, stamp: int, *, told: bool
    ) -> Key | None:
        """Takes in how far a URL is; returns its key if it has ended by that."""
        if told and facts is store.records:
            store.changed[key] = self._clock()
        if told and key not in facts:
            store.came[key] = self._clock()
        before = facts.get(key, 0)
        if told and stamp < before:
            self._back.append((key, before, stamp))
        facts[key] = stamp
        self._stores.bucket_of[key] = bucket
        return key if told and phase_of(stamp) and not phase_of(before) else None

    def _leave(self, store: Store, key: Key, stamp: int | None) -> None:
        if stamp is not None:
            store.left[key] = self._clock(), stamp


def _note(store: Store, row: Row) -> None:
    """Takes in a row that is of no URL, or of a link that is kept for others."""
    match row[0]:
        case "l":
            store.leases[row[1]] = row[2]
        case "e":
            if store.leases.get(row[1]) == row[2]:
                del store.leases[row[1]]
        case "s":
            store.spool[row[1]] = row[2:]
            store.spooled[row[2:]] += 1
        case "u":
            if (link := store.spool.pop(row[1], None)) is not None:
                store.spooled[link] -= 1
        case "t":
            store.standings[row[1]] = StandingRow(*row[2:])
        case "n":
            store.standings.pop(row[1], None)
