"""Reads what lies in the data folder of a master straight from its files, without the code that wrote them."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from p2pcrawl.model.crawl.fingerprint import fingerprint

QUEUED, DROPPED, FAILED, DONE = range(4)
PHASES = ("queued", "dropped", "failed", "done")
_PHASE_SHIFT = 30
"""Where a copy's stamp has its phase."""

Print = tuple[int, int]
"""A URL's fingerprint, in its two halves."""


LETTERS = (Path("dead-letters", "items.jsonl"), Path("dead-letters", "items.sending.jsonl"))
"""Those that wait, and those that were being sent again."""


@dataclass(frozen=True, slots=True)
class Record:
    """One URL of one job, as a frontier keeps it."""

    url: str
    phase: int
    reason: str
    attempts: int
    bucket: int
    items: int


@dataclass(frozen=True, slots=True)
class Copy:
    """One URL of one job, as it is held for another master."""

    phase: int
    items: int


@dataclass(slots=True)
class Folder:
    """One master's frontier, and what it holds for others."""

    records: dict[Print, Record] = field(default_factory=dict)
    copies: dict[Print, Copy] = field(default_factory=dict)
    tally: Counter[str] = field(default_factory=Counter)
    """The counters that the master keeps beside the records."""
    spooled: int = 0
    """The links that have too few copies elsewhere."""


def print_of(url: str) -> Print:
    high, low = struct.unpack(">qq", fingerprint(url))
    return high, low


def read_folder(path: Path, job: int) -> Folder:
    """Reads all of one job that is durable in a folder; nothing of a folder that was never a master's."""
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
            rows = copies.execute(
                "SELECT hi, lo, stamp, items FROM held JOIN body ON body.id = held.id WHERE job = ?", (job,)
            )
            folder.copies = {(hi, lo): Copy(stamp >> _PHASE_SHIFT & 3, items) for hi, lo, stamp, items in rows}
            folder.spooled = copies.execute("SELECT count(*) FROM spool WHERE job = ?", (job,)).fetchone()[0]
    return folder


def phase_of(step: int) -> int:
    """Returns the phase of a visit, QUEUED or another, of the step that a URL has come to."""
    return step & 3


def read_steps(path: Path, job: int) -> dict[Print, int]:
    """Reads how far this folder knows each URL to be, as record or as copy; what is damaged knows nothing. Cheap: a run
    asks for it again and again.

    The visit counts first, then its phase: a URL that is fetched anew is further than one that had failed.
    """
    if _read_once is None:
        return _read_steps(path, job)
    if (path, job) not in _read_once:
        _read_once[path, job] = _read_steps(path, job)
    return _read_once[path, job]


@contextmanager
def disks_at_rest() -> Iterator[None]:
    """Has the steps on each disk read once only, for a block in which none of them changes."""
    global _read_once
    before = _read_once
    _read_once = {} if before is None else before
    try:
        yield
    finally:
        _read_once = before


_read_once: dict[tuple[Path, int], dict[Print, int]] | None = None


def _read_steps(path: Path, job: int) -> dict[Print, int]:
    steps: dict[Print, int] = {}
    held = f"SELECT hi, lo, stamp >> {_PHASE_SHIFT} FROM held WHERE job = ?"
    record = "SELECT hi, lo, visit << 2 | phase FROM record WHERE job = ?"
    for file, sql in (("frontier.db", record), ("copies.db", held)):
        if not (path / file).exists():
            continue
        with suppress(sqlite3.DatabaseError), _opened(path / file) as database:
            for hi, lo, step in database.execute(sql, (job,)):
                if steps.get((hi, lo), -1) < step:
                    steps[hi, lo] = step
    return steps


def furthest(disks: Iterable[Mapping[Print, int]]) -> dict[Print, int]:
    """Returns the furthest step to which any of these disks knows each URL to have come."""
    steps: dict[Print, int] = {}
    for disk in disks:
        for key, step in disk.items():
            if steps.get(key, -1) < step:
                steps[key] = step
    return steps


def through_at_each(sides: Sequence[Mapping[Print, int]], hit: Mapping[Print, int]) -> frozenset[Print]:
    """Returns the URLs that each of these sides knows to be through, where neither another one nor the disks that were
    hit know them to be further: to be queued once more, or through once more.
    """
    most = furthest((*sides, hit))
    first = sides[0] if sides else {}
    return frozenset(
        key for key, step in first.items()
        if phase_of(step) and all(side.get(key, -1) == most[key] for side in sides)
    )  # fmt: skip


def has_due(path: Path, job: int, *, failed: bool = False) -> bool:
    """Tells whether this folder has a page that is done, or one that has ``failed``, and is to be visited again."""
    if not (path / "frontier.db").exists():
        return False
    sql = "SELECT EXISTS (SELECT 1 FROM record WHERE job = ? AND turn > 0 AND phase IN (?, ?))"
    with suppress(sqlite3.DatabaseError), _opened(path / "frontier.db") as database:
        return bool(database.execute(sql, (job, DONE, FAILED if failed else DONE)).fetchone()[0])
    return False


def read_spooled(path: Path, job: int) -> frozenset[Print]:
    """Reads which URLs this folder keeps for want of copies elsewhere; what is damaged keeps nothing."""
    if not (path / "copies.db").exists():
        return frozenset()
    with suppress(sqlite3.DatabaseError), _opened(path / "copies.db") as copies:
        return frozenset(copies.execute("SELECT hi, lo FROM spool WHERE job = ?", (job,)))
    return frozenset()


def read_rows(path: Path, job: int) -> dict[str, int]:
    """Counts the rows that each table of a folder has of one job, whatever they say."""
    rows: dict[str, int] = {}
    for file in ("frontier.db", "copies.db"):
        if not (path / file).exists():
            continue
        with _opened(path / file) as database:
            tables = "SELECT t.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE c.name = 'job'"
            for (table,) in database.execute(tables).fetchall():
                (count,) = database.execute(f'SELECT count(*) FROM "{table}" WHERE job = ?', (job,)).fetchone()
                if count:
                    rows[table] = count
    return rows


def ended_in(path: Path, job: int) -> Iterator[Print]:
    """Returns the URLs that this folder knows to be through, as record or as copy."""
    return (key for key, step in read_steps(path, job).items() if phase_of(step))


def _opened(path: Path) -> closing[sqlite3.Connection]:
    # It is nobody's process that reads here, whoever's turn it is: no disk refuses that, and nothing ends it.
    return closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, factory=sqlite3.Connection))


def letters_in(folder: Path, sink: str) -> Iterator[str]:
    """Yields the URLs of the items that a sink has refused by this folder."""
    for path in (folder / name for name in LETTERS):
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
            letter = json.loads(line)
            if letter["sink"] == sink:
                yield str(letter["item"]["url"])
