"""The items of a job page by page, read beside who writes them.

A page's items may be in several rows: they come together, under the page's fingerprint, so that whoever gathers from
several stores can tell that it has a page already.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from p2pcrawl.frontier.database.schema import MappedErrors, open_for_reading
from p2pcrawl.frontier.database.statements import run_many
from p2pcrawl.frontier.records.columns import ITEMS_VISIT
from p2pcrawl.model.crawl.fingerprint import pack_halves
from p2pcrawl.model.packing import packed
from p2pcrawl.model.texts.imprint_url import without_imprint

PAGES_MAX = 500
BYTES_MAX = 4 * 1024 * 1024


class PageItems(NamedTuple):
    """The items of a page, as they travel, with what is told beside them."""

    place: int
    """To go on behind."""
    fingerprint: bytes
    data: bytes
    url: str
    visit: int
    fetched_at: int
    """Seconds since 1970."""


def pages_after(folder: Path, job: int, after: int) -> list[PageItems]:
    """Returns the next pages of a job with items, behind a place that is 0 at first; none: there are no more so far.

    Raises as every reading of a data folder does.
    """
    connection = open_for_reading(folder)
    try:
        with MappedErrors(folder):
            connection.execute("BEGIN")
            firsts = connection.execute(
                f"SELECT i.id, i.record, r.hi, r.lo, length(i.data), r.url, {ITEMS_VISIT}, r.ended, r.found"
                " FROM item AS i JOIN record AS r ON r.id = i.record"
                " WHERE i.id > ? AND i.job = ? AND i.count > 0"
                " AND NOT EXISTS (SELECT 1 FROM item AS e WHERE e.record = i.record AND e.id < i.id)"
                " ORDER BY i.id LIMIT ?",
                (after, job, PAGES_MAX),
            ).fetchall()
            chosen: list[tuple[Any, ...]] = []
            size = 0
            for first in firsts:
                if chosen and size >= BYTES_MAX:
                    break
                chosen.append(first)
                size += first[4]
            data: dict[int, list[bytes]] = {}
            asked = "SELECT record, data FROM item WHERE record IN ("
            for record, part in run_many(connection, asked, [(row[1],) for row in chosen], ") ORDER BY record, id"):
                data.setdefault(record, []).append(part)
    finally:
        connection.close()
    return [
        PageItems(
            number,
            pack_halves(hi, lo),
            packed(data[record]),
            without_imprint(url),
            visit,
            ended or found,
        )
        for number, record, hi, lo, _, url, visit, ended, found in chosen
    ]
