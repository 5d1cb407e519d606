"""The copies that a master holds for others, merged by their stamps, in a file of their own.

Beside them is what has to be remembered with them: what hosts ask of whoever visits them, how good the rows of each
bucket are here, and links that have too few copies elsewhere. What a method has written is durable when it returns;
if it raises, nothing of it was written. All methods are synchronous and meant for one thread.
The folder's lock is the frontier's.

Whether a row is an entry its stamp says, for any row that was merged may have been one; what is kept of its link is
that of the row which won.

Keys and stamps have a table of their own, so that comparing reads little, and a row with long items is written once, at
the end of its table, however many copies there are.
"""

from __future__ import annotations

import sqlite3
import struct
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from p2pcrawl.core.buckets.standings import Standing, standing_at
from p2pcrawl.frontier.copies.account_rows import (
    SLICED,
    TABLE,
    WITHOUT_SLICES,
    drop_accounts,
    read_accounts,
    write_accounts,
)
from p2pcrawl.frontier.copies.order_rows import ORDERS_TABLE, read_orders, write_orders
from p2pcrawl.frontier.copies.schedule_rows import (
    SCHEDULES_TABLE,
    ScheduleRow,
    read_schedules,
    stored_task,
    write_schedules,
)
from p2pcrawl.frontier.database import digest
from p2pcrawl.frontier.database.digest import Range, Rows
from p2pcrawl.frontier.database.integrity import Nonsense
from p2pcrawl.frontier.database.known import Key
from p2pcrawl.frontier.database.schema import MappedErrors, Transaction, open_database
from p2pcrawl.frontier.database.statements import run_many
from p2pcrawl.frontier.database.tables import Layout, run_script
from p2pcrawl.frontier.records.columns import named
from p2pcrawl.model.cluster.account import Account, AccountKey
from p2pcrawl.model.cluster.epoch import Span
from p2pcrawl.model.cluster.host_order import HostOrder
from p2pcrawl.model.cluster.schedule import Schedule
from p2pcrawl.model.crawl.fingerprint import halves, pack_halves
from p2pcrawl.model.crawl.record import COUNT_MAX, LOSSES_MAX, is_entry, is_further
from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.peer_messages import CopyRow

DROP_ROWS = 5_000
"""How many are deleted in one transaction."""

_TABLES = """
CREATE TABLE held (
    bucket INTEGER, hi INTEGER, lo INTEGER, job INTEGER, stamp INTEGER NOT NULL, id INTEGER NOT NULL,
    marks INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (bucket, hi, lo, job)
) WITHOUT ROWID;
CREATE TABLE body (id INTEGER PRIMARY KEY, row BLOB NOT NULL, items INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE note (
    key INTEGER PRIMARY KEY, bucket INTEGER NOT NULL, delay REAL NOT NULL, penalty REAL NOT NULL,
    until REAL NOT NULL, pause REAL NOT NULL
);
CREATE INDEX note_bucket ON note (bucket);
CREATE TABLE standing (
    bucket INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, lack INTEGER NOT NULL, base INTEGER NOT NULL DEFAULT 0,
    pieces TEXT NOT NULL DEFAULT ''
);
CREATE TABLE spool (
    id INTEGER PRIMARY KEY, job INTEGER NOT NULL, hi INTEGER NOT NULL, lo INTEGER NOT NULL, bucket INTEGER NOT NULL,
    link BLOB NOT NULL
)
"""
_UPGRADES = {
    1: ("ALTER TABLE standing ADD COLUMN base INTEGER NOT NULL DEFAULT 0",),
    2: ("ALTER TABLE standing ADD COLUMN pieces TEXT NOT NULL DEFAULT ''",),
    3: ("ALTER TABLE held ADD COLUMN marks INTEGER NOT NULL DEFAULT 0",),
    4: (WITHOUT_SLICES,),
    5: (ORDERS_TABLE,),
    6: SLICED,
    7: (SCHEDULES_TABLE,),
    # Of which of these are entries their stamps say nothing yet; rows do, so owners and whoever reads them know it.
    8: (f"UPDATE held SET stamp = stamp + min(stamp & {COUNT_MAX}, {LOSSES_MAX}) * 2 - (stamp & {COUNT_MAX})",),
}
LAYOUT = Layout(
    "copies.db", 0x70327062, 9, lambda db: run_script(db, _TABLES, TABLE, ORDERS_TABLE, SCHEDULES_TABLE), _UPGRADES
)
HELD = Rows("held", "stamp")
_COLUMNS = "h.bucket, h.hi, h.lo, h.job, h.stamp, h.marks, b.row, b.items, b.data"
_AFTER = struct.Struct(">qqqq")
_FIRST = (-1, *((-(1 << 63),) * 3))


_Place = tuple[int, int, int, int]
"""Of a row among the copies: its bucket, both halves of its fingerprint, and its job."""
_NONE = (0, 0)
"""The stamp and the number of a row that is not here."""


class Mark(NamedTuple):
    """Sinks that have the items of a copy, a bit for each. It holds for the visit of its stamp, and for so many items:
    two masters may have seen different pages in one visit, and the keys of items are told by their number.
    """

    bucket: int
    hi: int
    lo: int
    job: int
    stamp: int
    items: int
    marks: int


class NoteRow(NamedTuple):
    """A host's wishes. ``pause_s``: for how much longer it wants to be left alone."""

    key: int
    bucket: int
    delay_s: float
    penalty_s: float
    pause_s: float


class SpoolRow(NamedTuple):
    """A link that has too few copies at its owner. What is in ``link`` does not matter here."""

    job: int
    hi: int
    lo: int
    bucket: int
    link: bytes


class CopyStore:
    """Keeps the copies that a master holds for others, their hosts' notes, its standings and its spool. Raises as
    ``schema.open_database`` does.
    """

    def __init__(self, folder: Path) -> None:
        self._db = open_database(folder, LAYOUT)
        self._transaction, self._errors = Transaction(self._db), MappedErrors(folder, LAYOUT.file)
        try:
            with self._errors:
                self._db.execute("CREATE TEMP TABLE asked (bucket INTEGER PRIMARY KEY)")
                self._count = int(self._db.execute("SELECT count(*) FROM held").fetchone()[0])
                self._noted = bool(self._db.execute("SELECT EXISTS (SELECT 1 FROM note)").fetchone()[0])
                self._last = int(self._db.execute("SELECT coalesce(max(id), 0) FROM body").fetchone()[0])
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leaves a database without a write-ahead log behind, if nothing hinders."""
        with self._errors:
            self._db.close()

    def count(self) -> int:
        """Counts the rows that are held."""
        return self._count

    @property
    def bare(self) -> bool:
        """True if neither rows nor notes are here. Costs nothing, and may be asked in any thread."""
        return not self._count and not self._noted

    def has_rows(self, buckets: Collection[int]) -> bool:
        """Tells whether a row of any of these buckets is here."""
        return bool(self._count) and self._has("held", buckets)

    def sizes(self, buckets: Collection[int]) -> Counter[int]:
        """Counts the rows and notes that are here of each of these buckets of which there are any."""
        found = Counter[int]()
        with self._errors:
            self._ask(buckets)
            for table in ("held", "note"):
                counts = f"SELECT bucket, count(*) FROM asked CROSS JOIN {table} USING (bucket) GROUP BY bucket"
                found.update(dict(self._db.execute(counts).fetchall()))
        return found

    # -- copies -------------------------------------------------------------------------------

    def put(self, rows: Sequence[CopyRow], notes: Sequence[NoteRow] = ()) -> int:
        """Merges: what is further wins, what is as far stays what it is, but that marks are joined, and an entry is
        what any was. Returns how many rows changed something.
        """
        newest: dict[_Place, CopyRow] = {}
        entries: set[_Place] = set()
        for row in rows:
            place = (row.bucket, *halves(row.fingerprint), row.job)
            if is_entry(row.stamp):
                entries.add(place)
            if (known := newest.get(place)) is None or is_further(row.stamp, known.stamp):
                newest[place] = row
        with self._errors, self._transaction:
            here = self._here(newest)
            won = {p: row for p, row in newest.items() if p not in here or is_further(row.stamp, here[p][0])}
            entered = [place for place in entries if place not in won and not is_entry(here[place][0])]
            last, held, bodies = self._last, [], []
            for place, row in won.items():
                was, number = here.get(place, _NONE)
                if place not in here:
                    number = last = last + 1
                entry = place in entries or is_entry(was)
                held.append((*place, row.stamp | entry, number, row.marks))
                bodies.append((number, row.row, row.items, row.data))
            run_many(self._db, "INSERT OR REPLACE INTO body (id, row, items, data)", bodies)
            run_many(self._db, "INSERT OR REPLACE INTO held (bucket, hi, lo, job, stamp, id, marks)", held)
            self._enter(entered)
            self._mark([Mark(*place, r.stamp, r.items, r.marks) for place, r in newest.items() if r.marks])
            self._note(notes)
        self._count += last - self._last
        self._last = last
        return len(won) + len(entered)

    def mark(self, marks: Sequence[Mark]) -> None:
        """Takes in which sinks have the items of copies that are here, as long as they say just what was marked."""
        if marks:
            with self._errors, self._transaction:
                self._mark(marks)

    def digests(self, nonce: bytes, ranges: Sequence[Range]) -> list[tuple[int, int]]:
        """Counts the rows of each range, and sums them under a key of 16 bytes.

        Raises LinkError for a range that there is not.
        """
        with self._errors:
            return digest.digests(self._db, HELD, nonce, ranges)

    def keys(self, ranges: Sequence[Range]) -> list[tuple[int, int, int, int]]:
        """Returns (hi, lo, job, stamp) of all rows in these ranges. Raises LinkError for a range that there is not."""
        with self._errors:
            return digest.keys(self._db, HELD, ranges)

    def rows(self, buckets: Collection[int], after: bytes, limit: int, bytes_max: int) -> tuple[list[CopyRow], bytes]:
        """Returns the next rows of these buckets in the order of their keys, and the place behind them; the first is
        empty.

        Stops behind ``bytes_max``. No rows: there are no more. Raises LinkError for a place that there is not.
        """
        bucket, *start = _place(after)
        found: list[CopyRow] = []
        size = 0
        order = "ORDER BY a.bucket, h.hi, h.lo, h.job LIMIT ?"
        held = f"SELECT {_COLUMNS} FROM asked AS a CROSS JOIN held AS h ON h.bucket = a.bucket JOIN body AS b"
        with self._errors:
            self._ask(buckets)
            for where, values in (
                ("a.bucket = ? AND (h.hi, h.lo, h.job) > (?, ?, ?)", (bucket, *start)),
                ("a.bucket > ?", (bucket,)),
            ):
                rows = named(self._db).execute(
                    f"{held} ON b.id = h.id WHERE {where} {order}", (*values, limit - len(found))
                )
                for columns in rows:
                    found.append(_copy_of(columns))
                    after = _AFTER.pack(*(columns[name] for name in ("bucket", "hi", "lo", "job")))
                    size += len(found[-1].row) + len(found[-1].data)
                    if size >= bytes_max:
                        break
                rows.close()
                if size >= bytes_max:
                    break
        return found, after

    def rows_of(self, bucket: int, keys: Sequence[Key]) -> list[CopyRow]:
        """Returns those of these rows (hi, lo, job) of a bucket that are here."""
        with self._errors:
            found = run_many(
                named(self._db),
                "WITH asked (hi, lo, job) AS (",
                keys,
                f") SELECT {_COLUMNS} FROM asked AS a CROSS JOIN held AS h ON h.bucket = {int(bucket)} AND h.hi = a.hi"
                " AND h.lo = a.lo AND h.job = a.job JOIN body AS b ON b.id = h.id",
            )
        return [_copy_of(columns) for columns in found]

    def drop(self, buckets: Collection[int]) -> int:
        """Deletes the rows of these buckets, all of them, in several transactions. Returns how many there were.

        What hosts ask stays: it holds for whoever visits them next.
        """
        with self._errors:
            self._ask(buckets)
            return self._drop("asked AS a CROSS JOIN held AS h ON h.bucket = a.bucket", "1")

    # -- hosts --------------------------------------------------------------------------------

    def drop_job(self, job: int) -> int:
        """Deletes the copies of a job, and links of it that are kept for want of copies elsewhere; returns how many
        copies there were. In transactions that are bounded.
        """
        gone = 0
        with self._errors:
            while True:
                with self._transaction:
                    ids = self._db.execute("SELECT id FROM held WHERE job = ? LIMIT ?", (job, DROP_ROWS)).fetchall()
                    self._db.execute("DELETE FROM spool WHERE job = ?", (job,))
                    self._db.execute("DELETE FROM account WHERE job = ?", (job,))
                    if not ids:
                        return gone
                    run_many(self._db, "DELETE FROM held WHERE id IN (", ids, ")")
                    run_many(self._db, "DELETE FROM body WHERE id IN (", ids, ")")
                gone += len(ids)
                self._count -= len(ids)

    def notes(self, buckets: Collection[int]) -> list[NoteRow]:
        """Returns what the hosts in these buckets ask."""
        with self._errors:
            self._ask(buckets)
            rows = self._db.execute(
                "SELECT key, n.bucket, delay, penalty, until, pause FROM asked CROSS JOIN note AS n USING (bucket)"
            ).fetchall()
        now = time.time()
        # Never longer than they asked for, though the clock may have been set back.
        return [
            NoteRow(key, bucket, delay, penalty, max(0.0, min(pause, until - now)))
            for key, bucket, delay, penalty, until, pause in rows
        ]

    def _note(self, notes: Iterable[NoteRow]) -> None:
        now = time.time()
        rows = [(n.key, n.bucket, n.delay_s, n.penalty_s, now + n.pause_s, n.pause_s) for n in notes]
        self._noted = self._noted or bool(rows)
        run_many(self._db, "INSERT OR REPLACE INTO note", rows)

    # -- accounts -----------------------------------------------------------------------------

    def accounts(self) -> list[Account]:
        """Returns the accounts of masters that are kept here."""
        with self._errors:
            return read_accounts(self._db)

    def set_accounts(self, accounts: Sequence[Account]) -> None:
        """Replaces those with these keys."""
        with self._errors, self._transaction:
            write_accounts(self._db, accounts)

    def drop_accounts(self, keys: Iterable[AccountKey]) -> None:
        """Deletes these."""
        with self._errors, self._transaction:
            drop_accounts(self._db, keys)

    # -- orders about hosts -------------------------------------------------------------------

    def orders(self) -> list[HostOrder]:
        """Returns what people have said of hosts."""
        with self._errors:
            return read_orders(self._db)

    def set_orders(self, orders: Sequence[HostOrder]) -> None:
        """Replaces those about these hosts."""
        with self._errors, self._transaction:
            write_orders(self._db, orders)

    # -- schedules ----------------------------------------------------------------------------

    def schedules(self) -> list[Schedule]:
        """Returns all schedules that are known here."""
        with self._errors:
            return read_schedules(self._db)

    def schedule_task(self, name: str) -> tuple[bytes, bytes]:
        """Returns what a schedule does, and the secrets of that; nothing of one that is not known."""
        with self._errors:
            return stored_task(self._db, name)

    def set_schedules(self, rows: Sequence[ScheduleRow]) -> None:
        """Replaces those of these names; a row without a task leaves that as it is."""
        with self._errors, self._transaction:
            write_schedules(self._db, rows)

    # -- standings ----------------------------------------------------------------------------

    def standings(self) -> dict[int, Standing]:
        """Returns the standing of each bucket of which anything is known."""
        with self._errors:
            rows = self._db.execute("SELECT bucket, epoch, lack, base, pieces FROM standing").fetchall()
            return {
                bucket: standing_at(epoch, lack, base, _pieces_read(text)) for bucket, epoch, lack, base, text in rows
            }

    def set_standings(self, standings: Mapping[int, Standing]) -> None:
        """Replaces those of these buckets."""
        if standings:
            with self._errors, self._transaction:
                rows = [
                    (bucket, epoch, lack, base, _pieces_told(pieces) if pieces else "")
                    for bucket, (epoch, lack, base, pieces) in standings.items()
                ]
                run_many(self._db, "INSERT OR REPLACE INTO standing (bucket, epoch, lack, base, pieces)", rows)

    # -- the spool ----------------------------------------------------------------------------

    def spool(self, rows: Sequence[SpoolRow]) -> None:
        """Keeps links until they are unspooled."""
        if rows:
            with self._errors, self._transaction:
                run_many(self._db, "INSERT INTO spool (job, hi, lo, bucket, link)", rows)

    def spooled(self, after: int, limit: int) -> list[tuple[int, SpoolRow]]:
        """Returns the next links with their numbers, behind a number."""
        with self._errors:
            rows = self._db.execute(
                "SELECT id, job, hi, lo, bucket, link FROM spool WHERE id > ? ORDER BY id LIMIT ?", (after, limit)
            ).fetchall()
        return [(number, SpoolRow(*columns)) for number, *columns in rows]

    def unspool(self, numbers: Sequence[int]) -> None:
        """Deletes spooled links that need not be kept any more."""
        if numbers:
            with self._errors, self._transaction:
                run_many(self._db, "DELETE FROM spool WHERE id IN (", [(n,) for n in numbers], ")")

    def spool_size(self) -> int:
        """Counts the links that are kept."""
        with self._errors:
            return int(self._db.execute("SELECT count(*) FROM spool").fetchone()[0])

    # -- inside -------------------------------------------------------------------------------

    def _here(self, places: Iterable[_Place]) -> dict[_Place, tuple[int, int]]:
        """Returns the stamp and the number of those of these rows that are here."""
        found = run_many(
            self._db,
            "WITH asked (bucket, hi, lo, job) AS (",
            list(places),
            ") SELECT asked.*, h.stamp, h.id FROM asked CROSS JOIN held AS h ON h.bucket = asked.bucket"
            " AND h.hi = asked.hi AND h.lo = asked.lo AND h.job = asked.job",
        )
        return {(bucket, hi, lo, job): (stamp, number) for bucket, hi, lo, job, stamp, number in found}

    def _enter(self, places: Sequence[_Place]) -> None:
        """Takes note that these are entries, which they were not as far as was known here."""
        run_many(
            self._db,
            "WITH e (bucket, hi, lo, job) AS (",
            places,
            ") UPDATE held SET stamp = held.stamp | 1 FROM e WHERE held.bucket = e.bucket AND held.hi = e.hi"
            " AND held.lo = e.lo AND held.job = e.job",
        )

    def _mark(self, marks: Sequence[Mark]) -> None:
        run_many(
            self._db,
            "WITH m (bucket, hi, lo, job, stamp, items, marks) AS (",
            marks,
            ") UPDATE held SET marks = held.marks | m.marks FROM m WHERE held.bucket = m.bucket AND held.hi = m.hi"
            " AND held.lo = m.lo AND held.job = m.job AND held.stamp >> 1 = m.stamp >> 1"
            " AND m.items = (SELECT b.items FROM body AS b WHERE b.id = held.id)",
        )

    def _has(self, table: str, buckets: Collection[int]) -> bool:
        with self._errors:
            self._ask(buckets)
            found = f"SELECT EXISTS (SELECT 1 FROM asked CROSS JOIN {table} USING (bucket))"
            return bool(self._db.execute(found).fetchone()[0])

    def _drop(self, held: str, where: str) -> int:
        gone, chosen = 0, f"SELECT h.bucket, h.hi, h.lo, h.job, h.id FROM {held} WHERE {where} LIMIT {DROP_ROWS}"
        self._db.execute("CREATE TEMP TABLE IF NOT EXISTS gone (bucket, hi, lo, job, id)")
        while True:
            with self._transaction:
                self._db.execute("DELETE FROM gone")
                step = self._db.execute(f"INSERT INTO gone {chosen}").rowcount
                self._db.execute("DELETE FROM body WHERE id IN (SELECT id FROM gone)")
                self._db.execute(
                    "DELETE FROM held WHERE (bucket, hi, lo, job) IN (SELECT bucket, hi, lo, job FROM gone)"
                )
            gone += step
            self._count -= step
            if step < DROP_ROWS:
                return gone

    def _ask(self, buckets: Collection[int]) -> None:
        self._db.execute("DELETE FROM asked")
        run_many(self._db, "INSERT INTO asked", [(bucket,) for bucket in sorted(buckets)])


def _copy_of(columns: sqlite3.Row) -> CopyRow:
    return CopyRow(
        bucket=columns["bucket"],
        fingerprint=pack_halves(columns["hi"], columns["lo"]),
        job=columns["job"],
        stamp=columns["stamp"],
        row=columns["row"],
        items=columns["items"],
        data=columns["data"],
        marks=columns["marks"],
    )


def _pieces_told(pieces: tuple[Span, ...]) -> str:
    return " ".join(f"{before}-{last}" for before, last in pieces)


def _pieces_read(text: str) -> tuple[Span, ...]:
    """Raises Nonsense."""
    if not text:
        return ()
    try:
        return tuple(
            (int(before), int(last)) for before, _, last in (piece.partition("-") for piece in text.split(" "))
        )
    except ValueError as error:
        raise Nonsense(f"a standing has the pieces {text!r:.40}") from error


def _place(after: bytes) -> tuple[int, ...]:
    if not after:
        return _FIRST
    if len(after) != _AFTER.size:
        raise LinkError(f"a place among copies has {_AFTER.size} bytes, not {len(after)}")
    return _AFTER.unpack(after)
