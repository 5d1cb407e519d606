"""Records between their forms: what the bench and the store know, what travels, what a copy keeps."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import msgspec

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.frontier.copies import copy_store as frontier
from p2pcrawl.frontier.records.batch import Ending
from p2pcrawl.model.crawl.fingerprint import halves, pack_halves
from p2pcrawl.model.crawl.record import Phase, stamp_of
from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.peer_messages import CopyRow, Row

log = logging.getLogger(__name__)

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Row).decode


def row_of_columns(
    _: int,
    job: int,
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
) -> Row:
    """A record as the store tells it; ``rest`` are phase and what follows it."""
    print_ = pack_halves(hi, lo)
    return Row(job, url, print_, depth, priority, kind, callback, bool(seed), referer, extra or b"", *rest)


def copy_of_candidate(c: Candidate) -> CopyRow:
    """A record that is queued."""
    row = _row_of(c, Phase.QUEUED, c.attempts, c.losses, 0, "", 0)
    return _copy(c.bucket, row, 0, b"")


def copy_of_ending(c: Candidate, e: Ending, items: int, data: bytes) -> CopyRow:
    """A record whose turn has ended, with the items of its page."""
    row = _row_of(c, e.phase, e.attempts, e.losses, e.status, e.reason, e.size)
    return _copy(c.bucket, row, items, data)


def copy_of_row(row: Row, bucket: int) -> CopyRow:
    """A record that the store told."""
    items, data = row.items, row.data
    row.items, row.data = 0, b""
    return _copy(bucket, row, items, data)


def rows_of_copies(copies: Iterable[CopyRow]) -> tuple[list[Row], frozenset[int]]:
    """Returns the rows that copies hold, and the buckets of those that hold none, or another than they say: a disk may
    have changed them, which SQLite does not notice.
    """
    rows: list[Row] = []
    spoilt: set[int] = set()
    for copy in copies:
        try:
            rows.append(row_of_copy(copy))
        except LinkError as error:
            log.warning("%s: it is left out, and the bucket is not whole till somebody comes who has all of it", error)
            spoilt.add(copy.bucket)
    return rows, frozenset(spoilt)


def row_of_copy(copy: CopyRow) -> Row:
    """Raises LinkError for a copy that holds no row, or another than it says."""
    try:
        row = _decode(copy.row)
    except msgspec.MsgspecError as error:
        raise LinkError(f"a copy of bucket {copy.bucket} holds no row: {error}") from error
    if row.fingerprint != copy.fingerprint or row.job != copy.job:
        raise LinkError(f"a copy of bucket {copy.bucket} holds another row than it says")
    row.items, row.data = copy.items, copy.data
    return row


def stored(copy: CopyRow) -> frontier.CopyRow:
    """For the table of copies."""
    hi, lo = halves(copy.fingerprint)
    return frontier.CopyRow(copy.bucket, hi, lo, copy.job, copy.stamp, copy.row, copy.items, copy.data)


def told(row: frontier.CopyRow) -> CopyRow:
    """From the table of copies."""
    return CopyRow(row.bucket, pack_halves(row.hi, row.lo), row.job, row.stamp, row.row, row.items, row.data)


def _row_of(c: Candidate, phase: Phase, attempts: int, losses: int, status: int, reason: str, size: int) -> Row:
    return Row(
        c.job,
        c.url,
        c.fingerprint,
        c.depth,
        c.priority,
        c.kind,
        c.callback,
        c.seed,
        c.referer,
        c.extra,
        int(phase),
        attempts,
        losses,
        status,
        reason,
        size,
        visit=c.visit,
    )


def _copy(bucket: int, row: Row, items: int, data: bytes) -> CopyRow:
    stamp = stamp_of(row.visit, row.phase, row.attempts, row.losses)
    return CopyRow(bucket, row.fingerprint, row.job, stamp, _encode(row), items, data)
