"""Reads what records and copies in a data folder say, value by value, without the code that wrote them."""

from __future__ import annotations

import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from .folders import Print

PACKED: Final = b"\x00z"
"""Items that are packed begin with this."""


class Content(NamedTuple):
    """One URL of one job, as a record or a copy says it."""

    is_copy: bool
    key: Print
    url: str
    phase: int
    status: int
    size: int
    depth: int
    seed: bool
    referer: str
    visit: int
    number: int
    """How many items it is said to have;"""
    items: tuple[bytes, ...]
    """what they are, each a line of JSON."""


def read_contents(path: Path, job: int) -> list[Content]:
    """Reads all that a folder says of one job's URLs; nothing of a folder that was never a master's."""
    found: list[Content] = []
    if (path / "frontier.db").exists():
        with _opened(path / "frontier.db") as frontier:
            found += _records(frontier, job)
    if (path / "copies.db").exists():
        with _opened(path / "copies.db") as copies:
            found += _copies(copies, job)
    return found


def _records(frontier: sqlite3.Connection, job: int) -> Iterator[Content]:
    counts: dict[int, int] = defaultdict(int)
    items: dict[int, list[bytes]] = defaultdict(list)
    for record, count, data in frontier.execute(
        "SELECT record, count, data FROM item WHERE job = ? ORDER BY id", (job,)
    ):
        counts[record] += count
        items[record] += lines_of(data)
    rows = frontier.execute(
        "SELECT r.id, r.hi, r.lo, r.url, r.phase, r.status, r.size, r.depth, r.seed, coalesce(r.referer, p.url, ''),"
        " r.visit FROM record AS r LEFT JOIN record AS p ON p.id = r.parent WHERE r.job = ?",
        (job,),
    )
    for number, hi, lo, url, phase, status, size, depth, seed, referer, visit in rows:
        yield Content(
            False, (hi, lo), url, phase, status, size, depth, bool(seed), referer, visit, counts[number],
            tuple(items[number]),
        )  # fmt: skip


def _copies(copies: sqlite3.Connection, job: int) -> Iterator[Content]:
    rows = copies.execute(
        "SELECT hi, lo, row, items, data, stamp & 1 FROM held JOIN body ON body.id = held.id WHERE job = ?", (job,)
    )
    for hi, lo, row, count, data, is_entry in rows:
        fields: list[Any] = msgspec.msgpack.decode(row)
        _, link, phase, _, _, status, _, size, _, _, visit, *_ = fields
        url, _, depth, _, _, _, seed, referer, *_ = link
        yield Content(
            True, (hi, lo), url, phase, status, size, depth, bool(seed or is_entry), referer, visit, count,
            tuple(lines_of(data)),
        )  # fmt: skip


def lines_of(data: bytes) -> list[bytes]:
    """Returns the items in what is kept of them, packed or not."""
    if data.startswith(PACKED):
        data = zlib.decompress(data[len(PACKED) :])
    return data.split(b"\n") if data else []


def _opened(path: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True))
