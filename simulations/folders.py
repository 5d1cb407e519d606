"""What lies in the data folder of a master, read straight from its files, without the code that wrote them."""

from __future__ import annotations

import sqlite3
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from p2pcrawl.model.fingerprint import fingerprint

QUEUED, DROPPED, FAILED, DONE = range(4)
PHASES = ("queued", "dropped", "failed", "done")

Print = tuple[int, int]
"""A URL's fingerprint, in its two halves."""


@dataclass(frozen=True, slots=True)
class Record:
    """One URL of one job, as a frontier keeps it."""

    url: str
    phase: int
    reason: str
    attempts: int
    bucket: int
    items: int


@dataclass(slots=True)
class Folder:
    """One master's frontier, and how far its copies of others' records are."""

    records: dict[Print, Record] = field(default_factory=dict)
    copies: dict[Print, int] = field(default_factory=dict)
    """The phase of each row that is held for others."""
    tally: Counter[str] = field(default_factory=Counter)
    """The counters that the master keeps beside the records."""


def print_of(url: str) -> Print:
    high, low = struct.unpack(">qq", fingerprint(url))
    return high, low


def read_folder(path: Path, job: int) -> Folder:
    """All of one job that is durable there; nothing of a folder that was never a master's."""
    folder = Folder()
    with _opened(path / "frontier.db") as frontier:
        for hi, lo, url, phase, reason, attempts, bucket, items in frontier.execute(
            "SELECT hi, lo, url, phase, reason, attempts, bucket,"
            " coalesce((SELECT sum(count) FROM item WHERE item.record = record.id), 0) FROM record WHERE job = ?",
            (job,),
        ):
            folder.records[hi, lo] = Record(url, phase, reason, attempts, bucket, items)
        folder.tally.update(dict(frontier.execute("SELECT name, count FROM tally WHERE job = ?", (job,))))
    if (path / "copies.db").exists():
        with _opened(path / "copies.db") as copies:
            rows = copies.execute("SELECT hi, lo, stamp FROM held WHERE job = ?", (job,))
            folder.copies = {(hi, lo): stamp >> 30 & 3 for hi, lo, stamp in rows}
    return folder


def ended_in(path: Path, job: int) -> Iterator[Print]:
    """The URLs that this folder knows to be through, as record or as copy."""
    if not (path / "frontier.db").exists():
        return
    folder = read_folder(path, job)
    yield from (key for key, record in folder.records.items() if record.phase)
    yield from (key for key, phase in folder.copies.items() if phase)


def _opened(path: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True))
