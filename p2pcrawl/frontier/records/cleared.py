"""Queues that somebody has cleared: what was in them is put aside, entries are visited again, and what is found once
more is queued once more. An entry is what comes as one, though it was found as a link before.
"""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.frontier.database.known import Key, numbers_of
from p2pcrawl.frontier.database.schema import Transaction
from p2pcrawl.frontier.database.statements import run_many
from p2pcrawl.frontier.records import tallies
from p2pcrawl.frontier.records.batch import EnteredRow
from p2pcrawl.frontier.records.candidates import queued
from p2pcrawl.frontier.records.columns import PARENT, PLACE, TOLD, found_row, named, place_of
from p2pcrawl.model.crawl.job import START_URL, is_idle
from p2pcrawl.model.crawl.page_link import FILE_CALLBACK
from p2pcrawl.model.crawl.record import VISIT_MAX, Order, Phase
from p2pcrawl.model.outcome import Drop
from p2pcrawl.model.texts.imprint_url import IMPRINT_URL

CLEAR_ROWS = 5_000
"""How many are put aside in one transaction."""

_NEW_VISIT = (
    f"UPDATE record SET told = coalesce(told, visit), visit = min(visit + 1, {VISIT_MAX}), turn = 0,"
    f" phase = {int(Phase.QUEUED)}, attempts = 0, losses = 0, status = 0, reason = '', size = 0,"
    " ended = 0, digest = NULL WHERE id IN ("
)


class Cleared(NamedTuple):
    """The consequences of a step: in the job's counters, in which buckets, and which records left the queue."""

    changes: Counter[str]
    touched: set[int]
    records: set[int]


def clear(db: sqlite3.Connection, job: int, kinds: Collection[str], callback: str | None = None) -> Cleared:
    """Puts aside, as dropped, the next records of these kinds that are queued and in nobody's hands; but no files that
    items wait for, nor the start of the spider. ``callback``: only those with this one, which are a board's that is
    none any more. None mean that was all.
    """
    reason = Drop.CLEARED if callback is None else Drop.NO_BOARD
    marks = ", ".join("?" * len(kinds))
    part = (
        "SELECT q.host, q.kind, q.prio, q.seq, q.id FROM {} AS q JOIN record AS r ON r.id = q.id WHERE q.job = ?"
        f" AND q.kind IN ({marks}) AND q.id NOT IN (SELECT record FROM lease)"
        f" AND r.callback != '{FILE_CALLBACK}' AND r.url NOT LIKE '{START_URL}%'"
    )
    asked: tuple[int | str, ...] = (job, *kinds)
    if callback is not None:
        # Items wait for imprints, too.
        part += f" AND r.callback = ? AND r.url NOT LIKE '{IMPRINT_URL}%'"
        asked = (*asked, callback)
    rows = db.execute(
        f"{part.format('queue_young')} UNION ALL {part.format('queue')} LIMIT ?", (*asked, *asked, CLEAR_ROWS)
    ).fetchall()
    change = Counter[str]()
    if not rows:
        return Cleared(change, set(), set())
    change.update({"queued": -len(rows), "dropped": len(rows), f"dropped:{reason}": len(rows)})
    with Transaction(db):
        buckets = run_many(
            db,
            "WITH gone (id) AS (",
            [(record,) for *_, record in rows],
            f") UPDATE record SET phase = {int(Phase.DROPPED)}, reason = '{reason}',"
            " told = coalesce(record.told, max(record.visit - 1, 0)), due = 0, turn = 0,"
            f" ended = {int(time.time())} FROM gone WHERE record.id = gone.id RETURNING bucket",
        )
        run_many(db, "INSERT INTO leave", [(job, *place) for *place, _ in rows])
        tallies.write(db, {job: change})
    return Cleared(change, {bucket for (bucket,) in buckets}, {record for *_, record in rows})


def cease(db: sqlite3.Connection, job: int, callback: str) -> Cleared:
    """Takes from the next pages with a callback the time of their next visit: they are visited no more. None mean that
    was all.
    """
    with Transaction(db):
        rows = db.execute(
            "UPDATE record SET turn = 0, due = 0 WHERE id IN (SELECT id FROM record WHERE job = ? AND turn > 0"
            " AND callback = ? LIMIT ?) RETURNING id, bucket",
            (job, callback, CLEAR_ROWS),
        ).fetchall()
        change = Counter({"again": -len(rows)} if rows else {})
        tallies.write(db, {job: change})
    return Cleared(change, {bucket for _, bucket in rows}, {record for record, _ in rows})


def restart(db: sqlite3.Connection, job: int, orders: Mapping[int, Order]) -> tuple[Counter[str], set[int]]:
    """Begins a new visit of the entries of a job, its start URLs and what was put into it, and of its spider's start;
    but of those that are queued anyway.
    """
    found = named(db).execute(
        f"SELECT {PLACE}, r.phase, r.reason, r.turn, r.bucket, r.url FROM record AS r"
        f" WHERE r.job = ? AND r.seed AND r.phase != {int(Phase.QUEUED)}",
        (job,),
    )
    rows = [row for row in found.fetchall() if not is_idle(row["url"])]
    change = Counter[str]()
    with Transaction(db):
        _visit_again(db, rows, change, orders)
        tallies.write(db, {job: change})
    return change, {row["bucket"] for row in rows}


def enter(db: sqlite3.Connection, records: Sequence[int]) -> list[EnteredRow]:
    """Makes entries, in a transaction that is open, of those of these records that are none; returns them as they were
    when they were found, which is all that copies need to hear.
    """
    new = run_many(
        db,
        "WITH e (id) AS (",
        [(record,) for record in records],
        ") UPDATE record SET seed = 1 FROM e WHERE record.id = e.id AND record.seed = 0 RETURNING record.id",
    )
    if not new:
        return []
    told = run_many(named(db), f"SELECT {TOLD}, r.bucket FROM record AS r {PARENT} WHERE r.id IN (", new, ")")
    return [EnteredRow(row["id"], row["bucket"], found_row(row)) for row in told]


def take_up_found(
    db: sqlite3.Connection, keys: Iterable[Key], counted: Mapping[int, Counter[str]], orders: Mapping[int, Order]
) -> list[Candidate]:
    """Begins, in a transaction that is open, a new visit of those of these records that were cleared, for somebody has
    found them again; counts that, and returns them as they are queued now.
    """
    numbers = numbers_of(db, list(keys))
    rows = run_many(
        named(db),
        "WITH asked (id) AS (",
        [(number,) for number in numbers.values()],
        f") SELECT {PLACE}, r.phase, r.reason, r.turn, r.bucket FROM asked JOIN record AS r ON r.id = asked.id"
        f" WHERE r.phase = {int(Phase.DROPPED)} AND r.reason IN ('{Drop.CLEARED}', '{Drop.NO_BOARD}')",
    )
    for job in {row["job"] for row in rows}:
        _visit_again(db, [row for row in rows if row["job"] == job], counted[job], orders)
    return queued(db, [row["id"] for row in rows], orders)


def _visit_again(
    db: sqlite3.Connection, rows: Sequence[sqlite3.Row], change: Counter[str], orders: Mapping[int, Order]
) -> None:
    for row in rows:
        tallies.count(change, row["phase"], row["reason"], -1)
        tallies.count(change, Phase.QUEUED, "", +1)
        change["again"] -= row["turn"] > 0
    run_many(db, _NEW_VISIT, [(row["id"],) for row in rows], ")")
    run_many(db, "INSERT INTO queue_young", [(*place_of(row, orders), row["id"]) for row in rows])
