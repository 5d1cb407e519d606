"""Queued records as the workbench holds them."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from typing import Any

from p2pcrawl.core.bench.candidate import Candidate, Rank, Want, rank_of
from p2pcrawl.frontier.database.statements import select_many
from p2pcrawl.frontier.records.batch import NewLink
from p2pcrawl.model.crawl.fingerprint import pack_halves
from p2pcrawl.model.crawl.record import Order

_COLUMNS = (
    "r.id, r.job, r.host, r.url, r.hi, r.lo, r.depth, r.priority, r.kind, r.callback, r.seed,"
    " CASE WHEN p.reason = 'redirect' THEN '' ELSE coalesce(r.referer, p.url, '') END, r.extra, r.attempts,"
    " r.losses, r.bucket, r.visit"
)
_PART = "SELECT prio, seq, id FROM {} WHERE job = ? AND host = ? AND kind = ? AND (prio, seq) > (?, ?)"


def next_of(db: sqlite3.Connection, want: Want) -> list[Candidate]:
    """What follows in a queue, in rank order."""
    key = (want.job, want.host, want.kind, *want.after)
    rows = db.execute(
        f"SELECT q.prio, q.seq, {_COLUMNS} FROM ("
        f"{_PART.format('queue_young')} UNION ALL {_PART.format('queue')} ORDER BY prio, seq LIMIT ?"
        ") AS q JOIN record AS r ON r.id = q.id LEFT JOIN record AS p ON p.id = r.parent ORDER BY q.prio, q.seq",
        (*key, *key, want.limit),
    ).fetchall()
    return [_candidate((prio, seq), *columns) for prio, seq, *columns in rows]


def queued(db: sqlite3.Connection, records: Collection[int], orders: Mapping[int, Order]) -> list[Candidate]:
    """These records, which are queued."""
    rows = select_many(
        db,
        f"SELECT {_COLUMNS} FROM record AS r LEFT JOIN record AS p ON p.id = r.parent WHERE r.id IN (",
        [(record,) for record in records],
        ")",
    )
    candidates = [_candidate((0, 0), *columns) for columns in rows]
    for candidate in candidates:
        candidate.rank = rank_of(orders[candidate.job], candidate.record, candidate.priority, candidate.depth)
    return candidates


def found(record: int, link: NewLink, rank: Rank) -> Candidate:
    """A link that has just become a record."""
    return Candidate(
        record,
        link.job,
        link.host,
        link.url,
        link.fingerprint,
        link.depth,
        link.priority,
        link.kind,
        link.callback,
        link.seed,
        link.referer,
        link.extra,
        rank=rank,
        bucket=link.bucket,
    )


def _candidate(
    rank: Rank,
    record: int,
    job: int,
    host: int,
    url: str,
    hi: int,
    lo: int,
    depth: int,
    priority: int,
    kind: str,
    callback: str,
    seed: int,
    referer: str,
    extra: bytes | None,
    *rest: Any,
) -> Candidate:
    """``rest``: attempts, losses, bucket and visit."""
    attempts, losses, bucket, visit = rest
    return Candidate(
        record,
        job,
        host,
        url,
        pack_halves(hi, lo),
        depth,
        priority,
        kind,
        callback,
        bool(seed),
        referer if referer.startswith("http") else "",
        extra or b"",
        attempts,
        losses,
        rank,
        bucket,
        visit,
    )
