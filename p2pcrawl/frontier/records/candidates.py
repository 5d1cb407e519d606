"""Queued records as the workbench holds them."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping

from p2pcrawl.core.bench.candidate import Candidate, Want, rank_of
from p2pcrawl.frontier.database.statements import run_many
from p2pcrawl.frontier.records.columns import CANDIDATE, PARENT, candidate_of, named
from p2pcrawl.model.crawl.record import Order

_PART = "SELECT prio, seq, id FROM {} WHERE job = ? AND host = ? AND kind = ? AND (prio, seq) > (?, ?)"


def next_of(db: sqlite3.Connection, want: Want) -> list[Candidate]:
    """Loads what follows in a queue, in rank order."""
    key = (want.job, want.host, want.kind, *want.after)
    rows = named(db).execute(
        f"SELECT q.prio, q.seq, {CANDIDATE} FROM ("
        f"{_PART.format('queue_young')} UNION ALL {_PART.format('queue')} ORDER BY prio, seq LIMIT ?"
        f") AS q JOIN record AS r ON r.id = q.id {PARENT} ORDER BY q.prio, q.seq",
        (*key, *key, want.limit),
    )
    return [candidate_of(row, (row["prio"], row["seq"])) for row in rows]


def queued(db: sqlite3.Connection, records: Collection[int], orders: Mapping[int, Order]) -> list[Candidate]:
    """Loads these records, which are queued, as candidates."""
    rows = run_many(
        named(db),
        f"SELECT {CANDIDATE} FROM record AS r {PARENT} WHERE r.id IN (",
        [(record,) for record in records],
        ")",
    )
    return [candidate_of(row, rank_of(orders[row["job"]], row["id"], row["priority"], row["depth"])) for row in rows]
