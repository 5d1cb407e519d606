"""The items of a job that became durable last, read beside who writes them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from p2pcrawl.frontier.database.schema import MappedErrors, open_for_reading
from p2pcrawl.model.packing import unpacked
from p2pcrawl.model.texts.imprint_url import without_imprint

SEARCH_S = 0.5
"""How long it is looked for pages of this job among those of others; then what was found is told."""
_STEP = 500
BYTES_MAX = 1024 * 1024


class LastItem(NamedTuple):
    """An item, as it was encoded, with the page that it is of and when that ended."""

    at: int
    url: str
    line: bytes


def last_items(folder: Path, job: int, limit: int) -> list[LastItem]:
    """Returns the last items of a job, the newest first; fewer when they are long. Raises as every reading of a data
    folder does.
    """
    connection = open_for_reading(folder)
    found: list[LastItem] = []
    size, until = 0, time.monotonic() + SEARCH_S
    try:
        with MappedErrors(folder):
            connection.execute("BEGIN")
            (last,) = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM item").fetchone()
            while last > 1 and len(found) < limit and size < BYTES_MAX and time.monotonic() < until:
                first = max(1, last - _STEP)
                rows = connection.execute(
                    "SELECT r.ended, r.found, r.url, i.data FROM item AS i JOIN record AS r ON r.id = i.record"
                    " WHERE i.id >= ? AND i.id < ? AND i.job = ? AND i.count > 0 ORDER BY i.id DESC",
                    (first, last, job),
                )
                for ended, discovered, url, data in rows:
                    lines = reversed(unpacked(data).split(b"\n"))
                    page = [LastItem(ended or discovered, without_imprint(url), line) for line in lines]
                    found += page[: limit - len(found)]
                    size += len(data)
                    if len(found) >= limit or size >= BYTES_MAX:
                        break
                rows.close()
                last = first
            return found
    finally:
        connection.close()
