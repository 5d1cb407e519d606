"""Taps at the databases of masters: what each transaction has made durable, row by row, as it is committed.

Temporary triggers on each connection tell of the rows that change. They lie in no file, and the peers' statements do
not notice them. What a connection finds when it is opened is read once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection
from typing import Any, Protocol

from ..model.endings import JobRow
from ..model.stores import Key, StandingRow, Store, Stores, end_of, is_entry, phase_of, says_all, stamp_of, standing_row
from .job_rows import read_job
from .tapped_tables import BY_KEYS, OF_FACTS, OF_RECORDS, READ, TRIGGERS

Row = tuple[Any, ...]


class Ears(Protocol):
    """The interface of whoever is told of what matters at once."""

    def has_ended(self, node: str, key: Key, *, is_copy: bool) -> None:
        """Hears of a URL that a disk knows to be through from now on, as its own or as a copy."""

    def goes_back(self, node: str, key: Key, before: int, after: int) -> None:
        """Hears of a URL of which a disk knows less than it knew, in stamps."""

    def has_leased_twice(self, node: str, key: Key) -> None:
        """Hears of a URL that has another lease, though the one before is not over."""

    def has_dropped(self, node: str, key: Key) -> None:
        """Hears of a copy that a disk has no more."""

    def has_given_up(self, node: str, key: Key) -> None:
        """Hears of a record that a disk has no more."""

    def has_stood(self, node: str, bucket: int, before: StandingRow | None, row: StandingRow) -> None:
        """Hears of which epochs a disk says that it has all of a bucket, and what it said before."""

    def has_stored_records(self, node: str, numbers: Collection[int], keys: Collection[Key]) -> None:
        """Hears of the records, by their numbers there, of which a transaction has changed anything, and of the keys
        under which they are or were found.
        """

    def has_marked_copied(self, node: str, entered: Collection[int]) -> None:
        """Hears that a transaction may have moved the mark up to which all links are with others, and which of the
        records that were there before are entries since this one.
        """

    def has_new_items(self, node: str, key: Key) -> None:
        """Hears of a URL whose items a disk has written, though it knows it to be no further than before."""

    def has_marked(self, node: str, key: Key, marks: int) -> None:
        """Hears of the sinks that have the items of a URL, as a disk says from now on."""

    def has_shortened(self, node: str, host: int, before_s: float, until_s: float) -> None:
        """Hears of a host that is left alone for less than was on a disk."""

    def has_older_account(self, node: str, whose: tuple[Any, ...], before: int, after: int) -> None:
        """Hears of an account of which a disk knows an older version than it knew."""

    def has_unspooled(self, node: str, key: Key) -> None:
        """Hears of a link that a disk keeps no more for want of copies elsewhere."""

    def has_jobs(self, node: str, jobs: dict[int, JobRow]) -> None:
        """Hears which jobs a disk has, when it is opened."""

    def has_stored(self, node: str, job: int, row: JobRow | None) -> None:
        """Hears of a job as a disk has it from now on; None: no more."""

    def has_lost(self, node: str) -> None:
        """Hears of a disk that is no more."""


class DiskTaps:
    """Keeps the stores of a model up with the disks of a run. Each connection gives it what it commits."""

    def __init__(self, stores: Stores, clock: Callable[[], float], ears: Ears) -> None:
        self._stores = stores
        self._clock = clock
        self._ears = ears
        self._back: list[tuple[Key, int, int]] = []
        """The URLs of which the transaction that is taken in makes a disk know less, and how far they were and are."""
        self._further: set[Key] = set()
        """Those of which it makes a disk know more,"""
        self._entered: list[int] = []
        """and the records that were there before, and are entries from now on, by their numbers."""

    def tap(self, node: str, connection: sqlite3.Connection, changes: list[Row]) -> bool:
        """Begins to listen at a connection of a node that has no transaction open: ``changes`` gets what follows. Tells
        whether there is anything to listen to. Raises sqlite3.DatabaseError, and takes nothing in, where that cannot be
        read.
        """
        here = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        if OF_FACTS.isdisjoint(here):
            # Indexes of stored pages have tables of these names, too, which are of something else.
            return False
        tables = [table for table in TRIGGERS if table in here]
        connection.create_function("p2pcrawl_tap", -1, lambda *row: changes.append(row))
        for table in tables:
            for number, (event, columns) in enumerate(TRIGGERS[table]):
                connection.execute(
                    f"CREATE TEMP TRIGGER tap_{table}_{number} AFTER {event} ON main.{table}"
                    f" BEGIN SELECT p2pcrawl_tap({columns}); END"
                )
        found = {table: connection.execute(READ[table]).fetchall() for table in tables}
        store = self._stores.store(node)
        store.forget_records() if "record" in tables else store.forget_copies()
        for table in tables:
            for row in found[table]:
                self._take(store, row, told=False)
        if "job" in tables:
            self._ears.has_jobs(node, {job: read_job(*columns) for _, job, *columns in found["job"]})
        return True

    def committed(self, node: str, changes: list[Row]) -> None:
        """Takes in what a transaction has made durable."""
        store, standings = self._stores.store(node), self._stores.store(node).standings
        # Standings come by the hundred, and are of no URL.
        rows: list[Row] = []
        stood: dict[int, StandingRow | None] = {}
        for row in changes:
            if row[0] != "t":
                rows.append(row)
                continue
            bucket = row[1]
            if bucket not in stood:
                stood[bucket] = standings.get(bucket)
            standings[bucket] = standing_row(*row[2:])
        changes.clear()
        if not rows:
            self._hear_of_standings(node, standings, stood)
            return
        unspooled = [store.spool[row[1]] for row in rows if row[0] == "u" and row[1] in store.spool]
        self._hear_of_changes(node, store, rows)
        self._entered = _become_entries(store, rows)
        ended = [(key, row[0] == "h") for row in rows if (key := self._take(store, row, told=True)) is not None]
        for step in self._back:
            self._ears.goes_back(node, *step)
        self._hear_of_items(node, store, rows)
        self._back.clear()
        self._further.clear()
        # Only when all of it is there: a page's links come with its end.
        self._hear_of_what_went(node, store, rows)
        self._hear_of_standings(node, standings, stood)
        for key, is_copy in ended:
            self._ears.has_ended(node, key, is_copy=is_copy)
        for key in unspooled:
            if not store.spooled[key]:
                self._ears.has_unspooled(node, key)
        self._hear_of_records(node, rows)

    def _hear_of_standings(
        self, node: str, standings: dict[int, StandingRow], before: dict[int, StandingRow | None]
    ) -> None:
        """Tells of what a disk says of buckets from now on."""
        for bucket, was in before.items():
            if (standing := standings.get(bucket)) is not None:
                self._ears.has_stood(node, bucket, was, standing)

    def _hear_of_changes(self, node: str, store: Store, rows: list[Row]) -> None:
        """Tells of leases, pauses and accounts that are not what they should be, beside what was there before."""
        known = {row[1] for row in rows if row[0] == "r"}
        for row in rows:
            match row[0]:
                case "l":
                    if store.leases.get(row[1], row[2]) != row[2] and self._is_still_leased(store, rows, row):
                        self._ears.has_leased_twice(node, store.numbers[row[1]])
                # A page that is given back as it was is no work.
                case "e" if row[1] in known and (key := store.numbers.get(row[1])) is not None:
                    store.worked.setdefault(key[2], self._clock())
                case "p" if row[2] < (until := store.pauses.get(row[1], 0)):
                    self._ears.has_shortened(node, row[1], until, row[2])
                case "v" if row[5] < (version := store.accounts.get(row[1:5], 0)):
                    self._ears.has_older_account(node, row[1:5], version, row[5])

    def _hear_of_what_went(self, node: str, store: Store, rows: list[Row]) -> None:
        """Tells of copies and records that are there no more."""
        for row in rows:
            if row[0] == "d" and row[1:] not in store.held:
                self._ears.has_dropped(node, row[1:])
            elif row[0] == "x" and row[2:] not in store.records:
                self._ears.has_given_up(node, row[2:])

    def _hear_of_records(self, node: str, rows: list[Row]) -> None:
        """Tells of records, by all tables that have something of them, and of jobs."""
        if numbers := dict.fromkeys(row[1] for row in rows if row[0] in OF_RECORDS):
            keys = dict.fromkeys(row[2:5] for row in rows if row[0] in BY_KEYS)
            self._ears.has_stored_records(node, numbers, keys)
        if self._entered or any(row[0] == "y" for row in rows):
            self._ears.has_marked_copied(node, self._entered)
        for job, columns in {row[1]: row[2:] for row in rows if row[0] in "jk"}.items():
            self._ears.has_stored(node, job, read_job(*columns) if columns else None)

    def _is_still_leased(self, store: Store, rows: list[Row], leased: Row) -> bool:
        """Tells whether a lease was there when another one took its place in this transaction."""
        record = leased[1]
        return record in store.numbers and ("e", record, store.leases[record]) not in rows

    def _hear_of_items(self, node: str, store: Store, rows: list[Row]) -> None:
        """Tells of items that were written, and of the sinks that have them."""
        for row in rows:
            if row[0] == "i" and (key := store.numbers.get(row[1])) is not None and key not in self._further:
                self._ears.has_new_items(node, key)
            if row[0] == "m" and (key := store.numbers.get(row[1]) if row[1] else row[2:5]) is not None and row[5]:
                self._ears.has_marked(node, key, row[5])

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
                store.pauses[row[1]] = row[2]
            case "o":
                store.notes[row[1]] = self._clock(), row[2]
            case "v":
                store.accounts[row[1:5]] = row[5]
            case _:
                _note(store, row)
        return None

    def _know(
        self, store: Store, facts: dict[Key, int], key: Key, bucket: int, stamp: int, *, told: bool
    ) -> Key | None:
        """Takes in how far a URL is; returns its key if it has ended by that."""
        if told:
            store.changed[key] = self._clock()
            if stamp > facts.get(key, -1):
                self._further.add(key)
        if told and key not in facts:
            store.came[key] = self._clock()
            if key not in store.records and key not in store.held:
                store.known[key] = self._clock()
        before = facts.get(key, 0)
        if told and not says_all(stamp, before):
            self._back.append((key, before, stamp))
        if facts is store.records and phase_of(before) and not phase_of(stamp):
            store.visited[key] = before
        if facts is store.records and told and phase_of(stamp) and end_of(before) != end_of(stamp):
            store.ended[key] = self._clock()
        facts[key] = stamp
        self._stores.bucket_of[key] = bucket
        return key if told and phase_of(stamp) and not phase_of(before) else None

    def _leave(self, store: Store, key: Key, stamp: int | None) -> None:
        if stamp is not None:
            store.left[key] = self._clock(), stamp


def _become_entries(store: Store, rows: list[Row]) -> list[int]:
    """Returns the records, by their numbers, that are there, and are to be entries from now on."""
    entries = (row for row in rows if row[0] == "r" and row[-1] and row[2:5] in store.records)
    return [row[1] for row in entries if not is_entry(store.records[row[2:5]])]


def _note(store: Store, row: Row) -> None:
    """Takes in a row that is of no URL, or of a link that is kept for others."""
    match row[0]:
        case "l":
            store.leases[row[1]] = row[2]
        case "e":
            if store.leases.get(row[1]) == row[2]:
                del store.leases[row[1]]
        case "q":
            store.queued[row[1]] += 1
        case "w":
            store.queued[row[1]] -= 1
        case "f":
            store.found[row[2:]] = (*store.found.get(row[2:], ()), row[1])
        case "g":
            left = list(store.found.pop(row[2:], ()))
            left.remove(row[1])
            if left:
                store.found[row[2:]] = tuple(left)
        case "a":
            store.staged[row[1]] += 1
        case "b":
            store.staged[row[1]] -= 1
        case "s":
            store.spool[row[1]] = row[2:]
            store.spooled[row[2:]] += 1
        case "u":
            if (link := store.spool.pop(row[1], None)) is not None:
                store.spooled[link] -= 1
        case "c":
            store.accounts.pop(row[1:], None)
        case "y" if row[1] == "copied":
            store.mark = row[2]
        case "t":
            store.standings[row[1]] = standing_row(*row[2:])
        case "n":
            store.standings.pop(row[1], None)
