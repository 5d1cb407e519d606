"""Questions about single URLs, asked of a data folder without disturbing who writes it.

Everything is read in one transaction, so the answers fit together even while the crawl goes on.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from p2pcrawl.core.hosts.politeness import RobotsEntry
from p2pcrawl.frontier.database.integrity import stored_phase
from p2pcrawl.frontier.database.schema import FILE, LOCK, MappedErrors, damaged, open_for_reading
from p2pcrawl.frontier.records.columns import KNOWN, link_of
from p2pcrawl.model.crawl.fingerprint import fingerprint, halves
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.errors import DamagedError, NotThere, StorageError

LINEAGE_MAX = 50
SEARCH_S = 3.0
"""How long a search without an index may take."""
_HOST_URLS_MAX = 2_000


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as it is stored. ``spec`` is packed."""

    id: int
    name: str
    spec: bytes
    state: str
    reason: str
    tallies: dict[str, int]


@dataclass(frozen=True, slots=True)
class RecordRow:
    """One URL of one job. The referer of its ``link`` is told if another master crawled that page."""

    id: int
    link: Link
    job: int
    host: int
    bucket: int
    parent: int
    found: int
    phase: Phase
    attempts: int
    losses: int
    visit: int
    status: int
    reason: str
    size: int
    ended: int
    due: int = 0
    """When its next visit is to be, in seconds since 1970; 0: never. While it is queued: when this one was to be."""
    turn: int = 0
    """When that begins at the earliest, for its host has a budget; 0: never, or it has begun."""
    past: bytes = b""
    page_type: str = ""


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """An attempt that did not end well."""

    number: int
    ended: int
    reason: str
    status: int
    latency_s: float
    detail: str


@dataclass(frozen=True, slots=True)
class RobotsRow:
    """An origin's robots.txt, as it spoke to one agent."""

    agent: str
    verdict: str
    body: str
    reason: str
    crawl_delay_s: float
    known: int


class Inquiry:
    """Open it with ``with``. Raises ConfigurationError for a folder that is none of ours, or damaged."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._errors = MappedErrors(folder)
        self._db = open_for_reading(folder)
        self._db.row_factory = sqlite3.Row

    def __enter__(self) -> Self:
        with self._errors:
            self._db.execute("BEGIN")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    def writer(self) -> int:
        """Returns the process that has the folder open, or 0."""
        try:
            pid = int((self._folder / LOCK).read_text() or 0)
            os.kill(pid, 0)
        except (OSError, ValueError):
            return 0
        return pid

    def damaged(self, how: str) -> DamagedError:
        """Makes the error to raise where something that was read here makes no sense."""
        return damaged(self._folder / FILE, how)

    def jobs(self) -> list[JobRow]:
        rows = self._all("SELECT id, name, spec, state, reason FROM job ORDER BY id")
        tallies = "SELECT name, count FROM tally WHERE job = ?"
        return [JobRow(**row, tallies={name: count for name, count in self._all(tallies, row["id"])}) for row in rows]

    def jobs_called(self, text: str) -> list[JobRow]:
        """Returns the jobs that have this number or name; all where it is "". Raises NotThere when none has."""
        known = self.jobs()
        found = [job for job in known if text in ("", str(job.id), job.name)]
        if text and not found:
            there = ", ".join(f"{job.id} ({job.name})" for job in known[:5]) or "none"
            raise NotThere(f"there is no job {text:.80} in {self._folder}; there is {there}")
        return found

    def find(self, url: str) -> list[RecordRow]:
        """Returns the records of a plain GET of ``url``, one at most in each job."""
        hi, lo = halves(fingerprint(url))
        found = []
        for table in ("seen", "seen_young"):
            for (number,) in self._all(f"SELECT id FROM {table} WHERE hi = ? AND lo = ?", hi, lo):
                found += self._records("r.id = ?", number)
        return sorted(found, key=lambda record: record.job)

    def imprints(self, url: str) -> list[RecordRow]:
        """Returns the records in which items of a plain GET of ``url`` wait, or waited, to hear whether its text was
        met before; those that are here.
        """
        if not self._all("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'imprint'"):
            return []
        asked = f"SELECT {KNOWN} FROM imprint AS i JOIN record AS r ON r.id = i.record WHERE i.page = ?"
        return self._record_rows(self._all(f"{asked} ORDER BY r.job, r.visit, r.id", fingerprint(url)))

    def lineage(self, record: RecordRow) -> list[RecordRow]:
        """Returns the page that led to a record, the page that led to that, and so on, at most LINEAGE_MAX."""
        line: list[RecordRow] = []
        parent = record.parent
        while parent and len(line) < LINEAGE_MAX:
            above = self._records("r.id = ?", parent)
            if not above:
                break
            line.append(above[0])
            parent = above[0].parent
        return line

    def attempts(self, record: RecordRow) -> list[AttemptRow]:
        rows = self._all(
            "SELECT number, ended, reason, status, latency AS latency_s, detail FROM attempt WHERE record = ?"
            " ORDER BY number",
            record.id,
        )
        return [AttemptRow(**row) for row in rows]

    def leased(self, record: RecordRow) -> bool:
        return bool(self._all("SELECT 1 FROM lease WHERE record = ?", record.id))

    def items(self, record: RecordRow) -> int | None:
        """Counts the items that a record gave; None when that would take too long."""
        rows = self._search("SELECT coalesce(sum(count), 0) FROM item WHERE record = ?", record.id)
        return rows[0][0] if rows else None

    def robots(self, host: int, origin: str) -> list[RobotsRow]:
        rows = self._all(
            "SELECT agent, verdict, body AS packed, reason, crawl_delay AS crawl_delay_s, known FROM host"
            " WHERE key = ? AND origin = ?",
            host,
            origin,
        )
        return [_robots_of(**row) for row in rows]

    def pause_s(self, host: int) -> float:
        """Returns for how much longer the host asked to be left alone."""
        rows = self._all("SELECT until FROM pause WHERE key = ?", host)
        return max(0.0, rows[0][0] - time.time()) if rows else 0.0

    def place(self, record: RecordRow) -> tuple[int, int] | None:
        """Returns a record's position in its host's queue, from 1, and that queue's length; None when it is not
        queued.
        """
        key = (record.job, record.host, record.link.kind)
        where = "WHERE job = ? AND host = ? AND kind = ?"
        rank = None
        for table in ("queue_young", "queue"):
            for row in self._all(f"SELECT prio, seq FROM {table} {where} AND id = ?", *key, record.id):
                rank = row
        if rank is None:
            return None
        before = length = 0
        for table in ("queue_young", "queue"):
            before += self._all(f"SELECT count(*) FROM {table} {where} AND (prio, seq) < (?, ?)", *key, *rank)[0][0]
            length += self._all(f"SELECT count(*) FROM {table} {where}", *key)[0][0]
        return before + 1, length

    def same_url(self, url: str) -> list[RecordRow]:
        """Returns records of this URL that are not plain GETs (a POST, dont_filter); none when the search takes too
        long.
        """
        return self._record_rows(self._search(f"SELECT {KNOWN} FROM record AS r WHERE r.url = ?", url))

    def urls_of(self, host: int) -> list[str]:
        """Returns some URLs of a host; none when the search takes too long."""
        rows = self._search("SELECT url FROM record WHERE host = ? LIMIT ?", host, _HOST_URLS_MAX)
        return [row[0] for row in rows]

    # -- inside -------------------------------------------------------------------------------

    def _records(self, where: str, *values: Any) -> list[RecordRow]:
        return self._record_rows(self._all(f"SELECT {KNOWN} FROM record AS r WHERE {where}", *values))

    def _record_rows(self, rows: Iterable[sqlite3.Row]) -> list[RecordRow]:
        with self._errors:
            return [_record_of(row) for row in rows]

    def _all(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        with self._errors:
            return self._db.execute(sql, values).fetchall()

    def _search(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        """Runs a query that has no index, and gives it up when it takes too long."""
        deadline = time.monotonic() + SEARCH_S
        self._db.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
        try:
            return self._all(sql, *values)
        except StorageError as error:
            cause = error.__cause__
            if isinstance(cause, sqlite3.Error) and cause.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                return []
            raise
        finally:
            self._db.set_progress_handler(None, 0)


def _record_of(row: sqlite3.Row) -> RecordRow:
    return RecordRow(
        id=row["id"],
        link=link_of(row),
        job=row["job"],
        host=row["host"],
        bucket=row["bucket"],
        parent=row["parent"],
        found=row["found"],
        phase=stored_phase(row["phase"]),
        attempts=row["attempts"],
        losses=row["losses"],
        visit=row["visit"],
        status=row["status"],
        reason=row["reason"],
        size=row["size"],
        ended=row["ended"],
        due=row["due"],
        turn=row["turn"],
        past=row["past"] or b"",
        page_type=row["page_type"],
    )


def _robots_of(verdict: str, packed: bytes, **facts: Any) -> RobotsRow:
    return RobotsRow(verdict=verdict, body=RobotsEntry(verdict, packed, "", 0, 0).body, **facts)
