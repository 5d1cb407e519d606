"""The items of pages, numbered in the order in which they became durable."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

from p2pcrawl.frontier.database.statements import run_many
from p2pcrawl.frontier.records.batch import ItemRow
from p2pcrawl.model.crawl.fingerprint import pack_halves
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.packing import packed, unpacked

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

    def add(self, items: Iterable[ItemRow]) -> None:
        rows = [(self._last + n, i.job, i.record, i.number, i.data) for n, i in enumerate(items, 1)]
        self._last += len(rows)
        run_many(self._db, "INSERT INTO item (id, job, record, count, data)", rows)

    def stage(self, parts: Iterable[ItemRow]) -> None:
        """Parts of a page that is not over: they count when it is, and are gone when its lease ends otherwise."""
        run_many(self._db, "INSERT INTO staged (record, job, count, data)", list(parts))

    def staged(self, record: int) -> list[ItemRow]:
        rows = self._db.execute(
            "SELECT record, job, count, data FROM staged WHERE record = ? ORDER BY rowid", (record,)
        )
        return [ItemRow(*row) for row in rows.fetchall()]

    def unstage(self, records: Collection[int]) -> None:
        run_many(self._db, "DELETE FROM staged WHERE record IN (", [(r,) for r in records], ")")

    def of(self, record: int) -> tuple[int, bytes]:
        """Returns how many items a page has, and all of them as they travel."""
        rows = self._db.execute("SELECT count, data FROM item WHERE record = ? ORDER BY id", (record,)).fetchall()
        return sum(count for count, _ in rows), packed(data for _, data in rows)

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

    def pages_after(self, job: int, last: int, items_max: int, bytes_max: int) -> tuple[list[DurablePage], int, bool]:
        """Returns the next pages of a job, the number to go on behind, and whether there are more: it stops behind
        either limit. They are those that ended with items, or without any after an earlier visit.
        """
        pages: list[DurablePage] = []
        count = size = before = 0
        # The rows of a page were written at once: they stand side by side.
        found = self._db.execute(
            "SELECT i.id, i.record, i.count, i.data, r.hi, r.lo, r.url, r.visit, r.phase, r.ended, r.found"
            " FROM item AS i CROSS JOIN record AS r ON r.id = i.record WHERE i.id > ? AND i.job = ? ORDER BY i.id",
            (last, job),
        )
        for number, record, rows, data, hi, lo, url, visit, phase, ended, discovered in found:
            if record != before:
                if count >= items_max or size >= bytes_max or len(pages) >= items_max:
                    found.close()
                    return pages, pages[-1].last, True
                # The next visit of a page may have begun: these items are of the one before.
                visit = max(visit - 1, 0) if phase == Phase.QUEUED else visit
                pages.append(DurablePage(number, pack_halves(hi, lo), url, visit, ended or discovered, []))
            before, page = record, pages[-1]
            items = unpacked(data).split(b"\n") if rows else []
            page.items.extend(items)
            pages[-1] = page._replace(last=number)
            count += rows
            size += sum(map(len, items))
        return pages, self._last, False

    def waiting(self, job: int, last: int) -> int:
        """Counts the items of a job behind a number."""
        (count,) = self._db.execute(
            "SELECT coalesce(sum(count), 0) FROM item WHERE id > ? AND job = ?", (last, job)
        ).fetchone()
        return int(count)
