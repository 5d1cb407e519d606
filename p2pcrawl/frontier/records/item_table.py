"""The items of pages, numbered in the order in which they became durable.

Of each page's items it is known which sinks of the job have them: those whose cursor has come past them, and those
that had them already when they came from another master with their record, which stands beside them as *marks*. A mark
is a bit: the first one for the first of the sinks that the job was submitted with, and so on, at every master.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import reduce
from operator import and_
from typing import NamedTuple

from p2pcrawl.frontier.database.statements import run_many
from p2pcrawl.frontier.records.batch import ItemRow, KeptItems
from p2pcrawl.frontier.records.columns import ITEMS_VISIT, STAMPED, named, stamp_in
from p2pcrawl.model.crawl.fingerprint import pack_halves
from p2pcrawl.model.packing import packed, unpacked
from p2pcrawl.model.texts.imprint_url import without_imprint
from p2pcrawl.wire.messages.peer_messages import Row

ITEM_BYTES_MAX = 8 * 1024 * 1024
"""Bytes of items that are read at once."""


class DurablePage(NamedTuple):
    """The items of one page as they became durable, with what is told beside them."""

    last: int
    """The number up to which all is told when these are."""
    fingerprint: bytes
    url: str
    visit: int
    ended: int
    items: list[bytes]
    bucket: int
    again: bool = False
    """It was another master's before."""


class BroughtPage(NamedTuple):
    """A page whose items a sink has, as others are told of it."""

    last: int
    """The number of its last items."""
    bucket: int
    fingerprint: bytes
    stamp: int
    items: int


class ItemTable:
    """Reads and writes the items of pages. Writing methods are called inside a transaction, the reading ones
    anywhere.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        # A number that an output has seen is never given again, though its row may have moved away.
        (self._last,) = db.execute(
            "SELECT max((SELECT coalesce(max(id), 0) FROM item), (SELECT coalesce(max(delivered), 0) FROM sink))"
        ).fetchone()
        self._cursors: dict[int, dict[int, int]] = defaultdict(dict)
        """By job: how far its sinks have come, by their places."""
        for job, place, passed in db.execute("SELECT job, place, delivered FROM sink WHERE place NOTNULL").fetchall():
            self.passed(job, place, passed)

    @property
    def last(self) -> int:
        """The number of the last items."""
        return int(self._last)

    def passed(self, job: int, place: int, last: int) -> None:
        """Takes note that the sink at a place among those of its job has all items up to a number."""
        self._cursors[job][place] = last

    def add(self, items: Iterable[ItemRow]) -> None:
        rows = [(self._last + n, i.job, i.record, i.number, i.data, i.marks) for n, i in enumerate(items, 1)]
        self._last += len(rows)
        run_many(self._db, "INSERT INTO item (id, job, record, count, data, marks)", rows)

    def stage(self, parts: Iterable[ItemRow]) -> None:
        """Parts of a page that is not over: they count when it is, and are gone when its lease ends otherwise."""
        run_many(self._db, "INSERT INTO staged (record, job, count, data)", [part[:4] for part in parts])

    def staged(self, record: int) -> list[ItemRow]:
        rows = self._db.execute(
            "SELECT record, job, count, data FROM staged WHERE record = ? ORDER BY rowid", (record,)
        )
        return [ItemRow(*row) for row in rows.fetchall()]

    def unstage(self, records: Collection[int]) -> None:
        run_many(self._db, "DELETE FROM staged WHERE record IN (", [(r,) for r in records], ")")

    def of(self, record: int) -> tuple[int, bytes, int]:
        """Returns how many items a page has, all of them as they travel, and which sinks have them."""
        rows = self._db.execute(
            "SELECT count, data, id, job, marks FROM item WHERE record = ? ORDER BY id", (record,)
        ).fetchall()
        if not rows:
            return 0, b"", 0
        # A sink has the page when it has each of its rows.
        marks = reduce(and_, [self._marks(number, job, marks or 0) for _, _, number, job, marks in rows])
        return sum(count for count, *_ in rows), packed(data for _, data, *_ in rows), marks

    def kept(self, records: Iterable[int]) -> dict[int, KeptItems]:
        """Returns the items of pages of which a later visit goes on, or has brought nothing new."""
        rows = run_many(
            self._db,
            f"SELECT r.id, {ITEMS_VISIT} FROM record AS r WHERE r.id IN (",
            [(record,) for record in records],
            ")",
        )
        return {record: KeptItems(told, *self.of(record)) for record, told in rows}

    def brought(self, job: int, after: int, until: int, limit: int) -> list[BroughtPage]:
        """Returns pages with items behind one number and up to another, in order, with what a mark of them tells."""
        rows = named(self._db).execute(
            f"SELECT i.id, i.count, r.bucket, r.hi, r.lo, {STAMPED} FROM item AS i CROSS JOIN record AS r"
            " ON r.id = i.record WHERE i.id > ? AND i.id <= ? AND i.job = ? ORDER BY i.id LIMIT ?",
            (after, until, job, limit),
        )
        pages: dict[tuple[int, int], BroughtPage] = {}
        for row in rows:
            place = row["hi"], row["lo"]
            items = row["count"] + (pages[place].items if place in pages else 0)
            pages[place] = BroughtPage(row["id"], row["bucket"], pack_halves(*place), stamp_in(row), items)
        return list(pages.values())

    def mark(self, records: Mapping[int, Row]) -> None:
        """Adds the marks of rows that are here already, where as many items are here as they have."""
        run_many(
            self._db,
            "WITH m (record, count, marks) AS (",
            [(number, row.items, row.marks) for number, row in records.items()],
            ") UPDATE item SET marks = coalesce(item.marks, 0) | m.marks FROM m WHERE item.record = m.record"
            " AND m.count = (SELECT sum(i.count) FROM item AS i WHERE i.record = m.record)",
        )

    def _marks(self, number: int, job: int, marks: int) -> int:
        """Returns which sinks have the items of this number: those that had them, and those that have come past."""
        for place, passed in self._cursors.get(job, {}).items():
            if number <= passed:
                marks |= 1 << place
        return marks

    def remove(self, records: Collection[int]) -> Counter[int]:
        """Deletes the items of these pages. Returns how many there were, by job."""
        gone: Counter[int] = Counter()
        asked = [(record,) for record in records]
        found = "SELECT job, sum(count) FROM item WHERE record IN ("
        for job, count in run_many(self._db, found, asked, ") GROUP BY job"):
            gone[job] += count
        run_many(self._db, "DELETE FROM item WHERE record IN (", asked, ")")
        return gone

    def after(self, job: int, last: int, limit: int, bytes_max: int) -> list[tuple[int, bytes]]:
        """Returns the next rows of a job: (number, items joined by newlines). Stops behind ``bytes_max``."""
        rows: list[tuple[int, bytes]] = []
        size = 0
        found = self._db.execute(
            "SELECT id, data FROM item WHERE id > ? AND job = ? AND count > 0 ORDER BY id LIMIT ?", (last, job, limit)
        )
        for number, data in found:
            rows.append((number, unpacked(data)))
            size += len(rows[-1][1])
            if size >= bytes_max:
                break
        found.close()
        return rows

    def pages_after(
        self, job: int, last: int, items_max: int, bytes_max: int, until: int, marked: int
    ) -> tuple[list[DurablePage], int, bool]:
        """Returns the next pages of a job, the number to go on behind, and whether there are more: it stops behind
        either limit, and at the number ``until``. They are those that ended with items, or without any after an earlier
        visit, and are not ``marked`` with this bit.
        """
        pages: list[DurablePage] = []
        count = size = before = 0
        # The rows of a page were written at once: they stand side by side.
        found = self._db.execute(
            f"SELECT i.id, i.record, i.count, i.data, r.hi, r.lo, r.url, {ITEMS_VISIT}, r.ended, r.found, r.bucket,"
            " i.marks FROM item AS i CROSS JOIN record AS r ON r.id = i.record WHERE i.id > ? AND i.id <= ?"
            " AND i.job = ? AND coalesce(i.marks, 0) & ? = 0 ORDER BY i.id",
            (last, until, job, marked),
        )
        for number, record, rows, data, hi, lo, url, visit, ended, discovered, bucket, marks in found:
            if record != before and (count >= items_max or size >= bytes_max or len(pages) >= items_max):
                found.close()
                return pages, pages[-1].last, True
            text = unpacked(data)
            items = text.split(b"\n") if rows else []
            if record == before:
                pages[-1].items.extend(items)
                pages[-1] = pages[-1]._replace(last=number)
            else:
                print_, again = pack_halves(hi, lo), marks is not None
                pages.append(
                    DurablePage(number, print_, without_imprint(url), visit, ended or discovered, items, bucket, again)
                )
            before = record
            count += rows
            size += len(text)
        return pages, max(last, min(self._last, until)), False

    def waiting(self, job: int, last: int, marked: int) -> int:
        """Counts the items of a job behind a number that are not ``marked`` with this bit."""
        (count,) = self._db.execute(
            "SELECT coalesce(sum(count), 0) FROM item WHERE id > ? AND job = ? AND coalesce(marks, 0) & ? = 0",
            (last, job, marked),
        ).fetchone()
        return int(count)
