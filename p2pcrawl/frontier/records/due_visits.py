"""Visits that are due: found by their turn, begun, or put off.

What is found stands in an index of those records alone that are to be visited again, in the order of their turns, so
that it costs the same however many pages are known. A visit that begins enters the queue of its host as a new link
does; the items of the visit before stay where they are.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.frontier.database.known import numbers_of
from p2pcrawl.frontier.database.schema import Transaction
from p2pcrawl.frontier.database.statements import run_many
from p2pcrawl.frontier.records import tallies
from p2pcrawl.frontier.records.batch import NewLink
from p2pcrawl.frontier.records.candidates import queued
from p2pcrawl.frontier.records.columns import PLACE, named, place_of
from p2pcrawl.model.crawl.fingerprint import halves
from p2pcrawl.model.crawl.record import VISIT_MAX, Order, Phase

BEHIND_ROWS = 50_000
"""So many visits that were put off are counted at most: whoever is as far behind as that need not know it to one."""

HASTEN_ROWS = 20_000
"""Records that are looked at in one transaction."""


class DueVisit(NamedTuple):
    """A page whose turn has come."""

    record: int
    host: int
    bucket: int


class Lateness(NamedTuple):
    """The distance at which a job is behind its periods."""

    overdue: int
    """Pages whose time has come, and whose visit is not over,"""
    oldest: int
    """and when that of the first of them was, in seconds since 1970; 0: none is."""


@dataclass(frozen=True, slots=True)
class BegunVisits:
    """The visits that were begun."""

    changes: Counter[str] = field(default_factory=Counter)
    """In the counters of the job."""
    candidates: Sequence[Candidate] = ()


def due_now(db: sqlite3.Connection, job: int, now: int, limit: int) -> list[DueVisit]:
    """Returns the next visits of a job whose turn has come, in order."""
    found = db.execute(
        "SELECT id, host, bucket FROM record WHERE job = ? AND turn > 0 AND turn <= ? ORDER BY turn LIMIT ?",
        (job, now, limit),
    )
    return [DueVisit(*row) for row in found]


def begin(
    db: sqlite3.Connection,
    job: int,
    records: Collection[int],
    put_off: Sequence[tuple[int, int]],
    orders: Mapping[int, Order],
) -> BegunVisits:
    """Begins a visit of these records, if their turn is still to come; ``put_off``: others, and when their turn is
    instead.
    """
    change = Counter[str]()
    with Transaction(db):
        run_many(
            db,
            "WITH p (id, turn) AS (",
            put_off,
            ") UPDATE record SET turn = p.turn FROM p WHERE record.id = p.id AND record.turn > 0",
        )
        rows = run_many(
            named(db),
            f"SELECT {PLACE}, r.phase, r.reason FROM record AS r WHERE r.turn > 0 AND r.id IN (",
            [(record,) for record in records],
            ")",
        )
        for row in rows:
            tallies.count(change, row["phase"], row["reason"], -1)
            tallies.count(change, Phase.QUEUED, "", +1)
        change["again"] -= len(rows)
        run_many(
            db,
            f"UPDATE record SET told = coalesce(told, visit), visit = min(visit + 1, {VISIT_MAX}), turn = 0,"
            f" phase = {int(Phase.QUEUED)}, attempts = 0, losses = 0, status = 0, reason = '', size = 0, digest = NULL"
            " WHERE id IN (",
            [(row["id"],) for row in rows],
            ")",
        )
        run_many(db, "INSERT INTO queue_young", [(*place_of(row, orders), row["id"]) for row in rows])
        tallies.write(db, {job: change})
    return BegunVisits(change, queued(db, [row["id"] for row in rows], orders))


def hasten(db: sqlite3.Connection, links: Sequence[NewLink], now: int) -> None:
    """Makes pages due at once that are to be visited again, and were changed since their last visit, as it is said. A
    change that lies in the future is none: it would make them due each time that it is said.
    """
    if not links:
        return
    keys = {(*halves(new.link.fingerprint), new.job): new.changed for new in links}
    numbers = numbers_of(db, list(keys))
    run_many(
        db,
        "WITH c (id, changed) AS (",
        [(number, keys[key]) for key, number in numbers.items()],
        f") UPDATE record SET turn = {now}, due = {now} FROM c WHERE record.id = c.id AND record.turn > {now}"
        f" AND record.ended < c.changed AND c.changed <= {now}",
    )


class WaitingPage(NamedTuple):
    """A page that is not queued, and may be visited again."""

    kind: str
    url: str
    reason: str
    page_type: str
    visit: int
    due: int
    """0: never."""
    ended: int
    past: bytes
    key: int
    """A number of its own, of 64 bits, signed."""


class Hastened(NamedTuple):
    """The consequences of a step: in the job's counters, and where the next one begins; 0: that was all."""

    changes: Counter[str]
    sooner: int
    after: int


def hasten_some(
    db: sqlite3.Connection, job: int, callback: str, after: int, now: int, due_of: Callable[[WaitingPage], int]
) -> Hastened:
    """Makes those pages with a callback, among the next records after a number, due when ``due_of`` says; 0: as they
    are. Those that were dropped, or whose turn has come, stay as they are.
    """
    last = db.execute("SELECT coalesce(max(id), 0) FROM record").fetchone()[0]
    until = min(after + HASTEN_ROWS, last)
    change = Counter[str]()
    with Transaction(db):
        rows = db.execute(
            "SELECT id, turn, kind, url, reason, page_type, visit, due, ended, coalesce(past, x''),"
            " hi FROM record WHERE id > ?"
            " AND id <= ? AND job = ? AND callback = ? AND phase != ? AND (turn > ? OR turn = 0 AND phase != ?)",
            (after, until, job, callback, int(Phase.QUEUED), now, int(Phase.DROPPED)),
        ).fetchall()
        sooner = [(record, turn, due) for record, turn, *page in rows if (due := due_of(WaitingPage._make(page)))]
        run_many(
            db,
            "WITH s (id, due) AS (",
            [(record, due) for record, _, due in sooner],
            ") UPDATE record SET due = s.due, turn = s.due FROM s WHERE record.id = s.id",
        )
        change["again"] += sum(not turn for _, turn, _ in sooner)
        tallies.write(db, {job: change})
    return Hastened(change, len(sooner), 0 if until >= last else until)


def bring_back(db: sqlite3.Connection, job: int, latest: int) -> int:
    """Brings visits that are due after the latest moment at which any can be to that moment: a clock was set back.
    Returns how many.
    """
    with Transaction(db):
        found = db.execute(
            "UPDATE record SET turn = ?, due = min(due, ?) WHERE job = ? AND turn > ?", (latest, latest, job, latest)
        )
        return found.rowcount


def lateness(db: sqlite3.Connection, job: int, now: int, put_off_s: int) -> Lateness:
    """Tells how far a job is behind: of what waits for its turn, and of what was put off by no more than so many
    seconds. What has begun and is in the queue is not among it.
    """
    overdue, oldest = db.execute(
        "SELECT count(*), coalesce(min(due), 0) FROM (SELECT due FROM record WHERE job = ? AND turn > 0"
        " AND turn <= ? ORDER BY turn LIMIT ?) WHERE due <= ?",
        (job, now + put_off_s, BEHIND_ROWS, now),
    ).fetchone()
    return Lateness(overdue, oldest)
