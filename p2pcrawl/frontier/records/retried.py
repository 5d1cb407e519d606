"""Records that are put aside as failed, and those that are taken up again."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from p2pcrawl.frontier.database.schema import Transaction
from p2pcrawl.frontier.database.statements import run_many
from p2pcrawl.frontier.records import tallies
from p2pcrawl.frontier.records.columns import PLACE, named, place_of
from p2pcrawl.model.crawl.page_link import FILE_CALLBACK
from p2pcrawl.model.crawl.record import GIVEN_UP, VISIT_MAX, Order, Phase
from p2pcrawl.model.outcome import Drop, Failure
from p2pcrawl.model.reason_choice import ReasonChoice


class FailedAgain(NamedTuple):
    """The moment at which pages that fail now are visited again, and how often that is done; 0: never."""

    due: int = 0
    times: int = 0


NEVER_AGAIN = FailedAgain()
RETRY_ROWS = 5_000
"""How many are taken up again in one transaction."""


def give_up(db: sqlite3.Connection, job: int, host: int, limit: int) -> tuple[int, set[int]]:
    """Gives up the next files that items wait for at a host that is down, as ``Store.give_up``."""
    key = (job, host)
    part = (
        "SELECT q.id, r.attempts FROM {} AS q JOIN record AS r ON r.id = q.id WHERE q.job = ? AND q.host = ?"
        f" AND q.id NOT IN (SELECT record FROM lease) AND r.callback = '{FILE_CALLBACK}'"
    )
    rows = db.execute(f"{part.format('queue_young')} UNION ALL {part.format('queue')}", (*key, *key)).fetchall()
    fresh = [(record,) for record, attempts in rows if attempts < GIVEN_UP][:limit]
    if not fresh:
        return len(rows), set()
    with Transaction(db):
        buckets = run_many(
            db,
            "WITH gone (id) AS (",
            fresh,
            f") UPDATE record SET attempts = {GIVEN_UP} FROM gone WHERE record.id = gone.id RETURNING bucket",
        )
    return len(rows), {bucket for (bucket,) in buckets}


def abandon(
    db: sqlite3.Connection, job: int, host: int, limit: int, due_at: Mapping[str, int], failed: FailedAgain
) -> tuple[Counter[str], set[int]]:
    """Fails the next queued records of a host that is down, as ``Store.abandon``."""
    key, change = (job, host), Counter[str]()
    part = (
        "SELECT q.kind, q.prio, q.seq, q.id, r.visit FROM {} AS q JOIN record AS r ON r.id = q.id WHERE q.job = ?"
        f" AND q.host = ? AND q.id NOT IN (SELECT record FROM lease) AND r.callback != '{FILE_CALLBACK}'"
    )
    rows = db.execute(
        f"{part.format('queue_young')} UNION ALL {part.format('queue')} LIMIT ?", (*key, *key, limit)
    ).fetchall()
    if not rows:
        return change, set()
    change.update({"queued": -len(rows), "failed": len(rows), f"failed:{Failure.HOST_DOWN}": len(rows)})
    again = [
        (record, due_at.get(kind, 0) or (failed.due if visit < failed.times else 0))
        for kind, _, _, record, visit in rows
    ]
    change["again"] += sum(due > 0 for _, due in again)
    with Transaction(db):
        buckets = run_many(
            db,
            "WITH gone (id, due) AS (",
            again,
            f") UPDATE record SET phase = {int(Phase.FAILED)}, reason = '{Failure.HOST_DOWN}',"
            " told = coalesce(record.told, max(record.visit - 1, 0)), due = gone.due, turn = gone.due,"
            f" ended = {int(time.time())} FROM gone WHERE record.id = gone.id RETURNING bucket",
        )
        run_many(db, "INSERT INTO leave", [(*key, kind, prio, seq) for kind, prio, seq, *_ in rows])
        tallies.write(db, {job: change})
    return change, {bucket for (bucket,) in buckets}


def retry(
    db: sqlite3.Connection, job: int, orders: Mapping[int, Order], choice: ReasonChoice
) -> tuple[Counter[str], set[int]]:
    """Queues failed records of a job again, as ``Store.retry``."""

    def wanted(row: sqlite3.Row) -> bool:
        return choice.covers(row["reason"], row["status"])

    changes, touched = _take_up(db, job, Phase.FAILED, wanted, orders)
    if choice.reasons:
        more, places = _take_up(db, job, Phase.DROPPED, wanted, orders)
        changes.update(more)
        touched |= places
    return changes, touched


def take_up_dropped(
    db: sqlite3.Connection, job: int, is_open: Callable[[str], bool], orders: Mapping[int, Order]
) -> tuple[Counter[str], set[int]]:
    """Queues records again that were dropped for their network, as ``Store.take_up_dropped``."""

    def wanted(row: sqlite3.Row) -> bool:
        return bool(row["reason"] == Drop.PRIVATE_NETWORK and is_open(row["url"]))

    return _take_up(db, job, Phase.DROPPED, wanted, orders)


def _take_up(
    db: sqlite3.Connection, job: int, phase: Phase, wanted: Callable[[sqlite3.Row], bool], orders: Mapping[int, Order]
) -> tuple[Counter[str], set[int]]:
    """Begins a new visit of the records in a phase that are ``wanted``, which is given a record."""
    changes, touched, last = Counter[str](), set[int](), 0
    asked = f"SELECT {PLACE}, r.reason, r.status, r.bucket, r.url, r.turn FROM record AS r"
    asked += " WHERE r.id > ? AND r.job = ? AND r.phase = ? ORDER BY r.id LIMIT ?"
    while found := named(db).execute(asked, (last, job, int(phase), RETRY_ROWS)).fetchall():
        last = found[-1]["id"]
        rows = [row for row in found if wanted(row)]
        change, queue = Counter[str](), []
        for row in rows:
            tallies.count(change, phase, row["reason"], -1)
            tallies.count(change, Phase.QUEUED, "", +1)
            change["again"] -= row["turn"] > 0
            queue.append((*place_of(row, orders), row["id"]))
            touched.add(row["bucket"])
        if not rows:
            continue
        with Transaction(db):
            run_many(
                db,
                f"UPDATE record SET told = coalesce(told, visit), visit = min(visit + 1, {VISIT_MAX}), turn = 0,"
                f" phase = {int(Phase.QUEUED)}, attempts = 0,"
                " losses = 0, status = 0, reason = '', size = 0, ended = 0, digest = NULL WHERE id IN (",
                [(row["id"],) for row in rows],
                ")",
            )
            run_many(db, "INSERT INTO queue_young", queue)
            tallies.write(db, {job: change})
        changes.update(change)
    return changes, touched
