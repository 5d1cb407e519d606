"""The records of buckets: told to other masters, compared with their copies, and forgotten when another has them."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

from p2pcrawl.frontier.database import digest
from p2pcrawl.frontier.database.digest import RECORDS, Range
from p2pcrawl.frontier.database.known import GENERATIONS, Key, numbers_of
from p2pcrawl.frontier.database.schema import Transaction
from p2pcrawl.frontier.database.statements import run_many
from p2pcrawl.frontier.database.tables import DROPPED_INDEX, FAILED_INDEX, NO_OLD_INDEX, RECORD_INDEX
from p2pcrawl.frontier.records import tallies
from p2pcrawl.frontier.records.columns import PARENT, PLACE, TOLD, found_row, named, place_of, travelling_row
from p2pcrawl.frontier.records.item_table import ItemTable
from p2pcrawl.frontier.texts.imprint_table import ImprintTable
from p2pcrawl.model.crawl.record import Order, Phase
from p2pcrawl.wire.messages.peer_messages import Row

FORGET_ROWS = 5_000
"""How many are deleted in one transaction."""

QUEUES = ("queue", "queue_young")

_FROM = "FROM claimed AS c CROSS JOIN record AS r ON r.bucket = c.bucket"
_BEFORE = (-(1 << 63),) * 3

_TEMPORARY = f"""
CREATE TEMP TABLE claimed (bucket INTEGER PRIMARY KEY);
CREATE TEMP VIEW unseen AS SELECT hi, lo, job FROM seen;
CREATE TEMP TRIGGER forget_seen INSTEAD OF INSERT ON unseen BEGIN
    {"".join(f"DELETE FROM {t} WHERE hi = NEW.hi AND lo = NEW.lo AND job = NEW.job;" for t in GENERATIONS)}
END
"""
# Rows inserted into ``unseen`` are not known any more: see ``leave`` in the tables.


class Buckets:
    """``indexed``: records are found by their bucket, for up to half of the rate at which links are stored."""

    def __init__(self, db: sqlite3.Connection, items: ItemTable, imprints: ImprintTable, *, indexed: bool) -> None:
        self._db = db
        self._items = items
        self._imprints = imprints
        db.executescript(_TEMPORARY)
        if indexed:
            db.execute(NO_OLD_INDEX)
            db.execute(RECORD_INDEX)
            db.execute(FAILED_INDEX)
            db.execute(DROPPED_INDEX)

    def rows(self, buckets: Collection[int], after: int, limit: int, bytes_max: int) -> tuple[list[Row], int]:
        """Returns the next records, as ``Store.rows_of``. They come by bucket, then by fingerprint; the place is the
        last one's number.
        """
        place = self._db.execute("SELECT bucket, hi, lo, job FROM record WHERE id = ?", (after,)).fetchone()
        bucket, *start = place or (-1, *_BEFORE)
        self._claim(buckets)
        order, db = "ORDER BY c.bucket, r.hi, r.lo, r.job LIMIT ?", named(self._db)
        rows = db.execute(
            f"SELECT {TOLD} {_FROM} {PARENT} WHERE c.bucket = ? AND (r.hi, r.lo, r.job) > (?, ?, ?) {order}",
            (bucket, *start, limit),
        ).fetchall()
        if len(rows) < limit:
            rows += db.execute(
                f"SELECT {TOLD} {_FROM} {PARENT} WHERE c.bucket > ? {order}", (bucket, limit - len(rows))
            ).fetchall()
        size, found = 0, []
        for columns in rows:
            row, after = self._row(columns), columns["id"]
            found.append(row)
            size += len(row.link.url) + len(row.link.referer) + len(row.link.extra) + len(row.data)
            if size >= bytes_max:
                break
        return found, after

    def links_after(self, after: int, until: int, limit: int) -> tuple[list[Row], int]:
        """Returns the next records by their numbers, as ``Store.links_after``."""
        rows = named(self._db).execute(
            f"SELECT {TOLD} FROM record AS r {PARENT} WHERE r.id > ? AND r.id <= ? ORDER BY r.id LIMIT ?",
            (after, until, limit),
        )
        found = [(columns["id"], found_row(columns)) for columns in rows]
        return [row for _, row in found], found[-1][0] if found else until

    def sizes(self, buckets: Collection[int]) -> Counter[int]:
        """Counts the records in each of these buckets that has any."""
        self._claim(buckets)
        return Counter(dict(self._db.execute(f"SELECT r.bucket, count(*) {_FROM} GROUP BY r.bucket").fetchall()))

    def rows_by_key(self, bucket: int, keys: Sequence[Key]) -> list[Row]:
        """Returns those of these records of a bucket that are here."""
        found = run_many(
            named(self._db),
            f"SELECT {TOLD} FROM record AS r {PARENT} WHERE r.bucket = {int(bucket)} AND r.id IN (",
            [(number,) for number in numbers_of(self._db, keys).values()],
            ")",
        )
        return [self._row(columns) for columns in found]

    def digests(self, nonce: bytes, ranges: Sequence[Range]) -> list[tuple[int, int]]:
        """Counts the records of each range, and sums them under a key of 16 bytes."""
        return digest.digests(self._db, RECORDS, nonce, ranges)

    def keys(self, ranges: Sequence[Range]) -> list[tuple[int, int, int, int]]:
        """Returns (hi, lo, job, stamp) of all records in these ranges."""
        return digest.keys(self._db, RECORDS, ranges)

    def forget(self, buckets: Collection[int], orders: Mapping[int, Order]) -> dict[int, Counter[str]]:
        """Deletes these buckets' records, as ``Store.forget``, in bounded transactions."""
        changes: dict[int, Counter[str]] = defaultdict(Counter)
        self._claim(buckets)
        while rows := (
            named(self._db)
            .execute(f"SELECT {PLACE}, r.hi, r.lo, r.phase, r.reason, r.turn {_FROM} LIMIT {FORGET_ROWS}")
            .fetchall()
        ):
            with Transaction(self._db):
                self._delete(rows, orders, changes)
        return changes

    def drop_job(self, job: int, order: Order) -> None:
        """Deletes all that is known of a job, as ``Store.drop_job``, in bounded transactions; the job itself last."""
        self.empty_job(job, order)
        with Transaction(self._db):
            self._db.execute("DELETE FROM job WHERE id = ?", (job,))
            self._db.execute(
                "INSERT OR REPLACE INTO meta VALUES ('dropped', max(?, coalesce("
                "(SELECT value FROM meta WHERE name = 'dropped'), 0)))",
                (job,),
            )

    def empty_job(self, job: int, order: Order) -> None:
        """Deletes all that a job has brought, as ``Store.empty_job``, in bounded transactions."""
        last, asked = (
            0,
            f"SELECT {PLACE}, r.hi, r.lo, r.phase, r.reason, r.turn FROM record AS r WHERE r.id > ? AND r.job = ?",
        )
        while rows := named(self._db).execute(f"{asked} ORDER BY r.id LIMIT {FORGET_ROWS}", (last, job)).fetchall():
            last = rows[-1]["id"]
            with Transaction(self._db):
                self._delete(rows, {job: order}, defaultdict(Counter))
        with Transaction(self._db):
            for table in ("lease", "staged", "item", "sink", "tally", "statistic", "left_out", *QUEUES):
                self._db.execute(f"DELETE FROM {table} WHERE job = ?", (job,))

    def _delete(self, rows: list[sqlite3.Row], orders: Mapping[int, Order], changes: dict[int, Counter[str]]) -> None:
        tally: dict[int, Counter[str]] = defaultdict(Counter)
        leaves = []
        for row in rows:
            tally[row["job"]]["discovered"] -= 1
            tallies.count(tally[row["job"]], row["phase"], row["reason"], -1)
            tally[row["job"]]["again"] -= row["turn"] > 0
            if row["phase"] == Phase.QUEUED:
                leaves.append(place_of(row, orders))
        records = [(row["id"],) for row in rows]
        for job, count in self._items.remove([row["id"] for row in rows]).items():
            tally[job]["items"] -= count
        self._imprints.remove([row["id"] for row in rows])
        run_many(self._db, "INSERT INTO leave", leaves)
        run_many(self._db, "INSERT INTO unseen", [(row["hi"], row["lo"], row["job"]) for row in rows])
        for table, column in (("attempt", "record"), ("record", "id")):
            run_many(self._db, f"DELETE FROM {table} WHERE {column} IN (", records, ")")
        tallies.write(self._db, tally)
        for job, change in tally.items():
            changes[job].update(change)

    def _row(self, columns: sqlite3.Row) -> Row:
        return travelling_row(columns, *self._items.of(columns["id"]))

    def _claim(self, buckets: Collection[int]) -> None:
        self._db.execute("DELETE FROM claimed")
        run_many(self._db, "INSERT INTO claimed", [(bucket,) for bucket in sorted(buckets)])
