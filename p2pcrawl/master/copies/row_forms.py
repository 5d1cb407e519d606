"""Records between their forms: what the bench and the store know, what travels, what a copy keeps."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import msgspec

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.frontier.records.batch import Ending, KeptItems
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import Phase, is_entry
from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.peer_messages import UNTOLD, CopyRow, Row

log = logging.getLogger(__name__)

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Row).decode
_decode_fields = msgspec.msgpack.Decoder(list).decode


def copy_of_candidate(c: Candidate, kept: KeptItems | None = None) -> CopyRow:
    """Makes the copy of a record that is queued; ``kept``: the items of the visit before."""
    row = Row(c.job, c.link, Phase.QUEUED, c.attempts, c.losses, status=0, reason="", size=0, visit=c.visit)
    row.due, row.past = c.due, c.past
    return _copy(c.bucket, row) if kept is None else _copy_with(c.bucket, row, kept)


def copy_of_ending(e: Ending, staged: tuple[int, bytes] | None = None, kept: KeptItems | None = None) -> CopyRow:
    """Makes the copy of a record whose turn has ended, with the items of its page: all of them are ``staged`` if some
    came ahead of the end, and ``kept`` if they are still those of an earlier visit.
    """
    c = e.candidate
    items, data = staged or ((e.items.number, e.items.data) if e.items is not None else (0, b""))
    row = Row(c.job, c.link, e.phase, e.attempts, e.losses, e.status, e.reason, e.size, visit=c.visit)
    row.due, row.told, row.past, row.page_type = e.due, c.visit, e.past, e.page_type
    if e.phase is Phase.QUEUED:
        row.due, row.told, row.past = c.due, UNTOLD, c.past
    if kept is None:
        return _copy(c.bucket, row, items, data)
    return _copy_with(c.bucket, row, kept)


def copy_of_row(row: Row, bucket: int) -> CopyRow:
    """Makes the copy of a record that the store told."""
    items, data, marks = row.items, row.data, row.marks
    row.items, row.data, row.marks = 0, b"", 0
    return _copy(bucket, row, items, data, marks)


def rows_of_copies(copies: Iterable[CopyRow]) -> tuple[list[Row], frozenset[int]]:
    """Returns the rows that copies hold, and the buckets of those that hold none, or another than they say: a disk may
    have changed them, which SQLite does not notice.
    """
    rows: list[Row] = []
    spoilt: dict[int, LinkError] = {}
    for copy in copies:
        try:
            rows.append(row_of_copy(copy))
        except LinkError as error:
            spoilt.setdefault(copy.bucket, error)
    if spoilt:
        # One line for all of them: others may send as many as they like.
        first, *more = spoilt.values()
        others = f", and others of {len(more)} more buckets" if more else ""
        log.warning("%s%s: what cannot be read is left out", first, others)
    return rows, frozenset(spoilt)


def row_of_copy(copy: CopyRow) -> Row:
    """Returns the record that a copy keeps. Raises LinkError for one that holds no row, or another than it says."""
    try:
        try:
            row = _decode(copy.row)
        except msgspec.ValidationError:
            row = _row_without_link(copy.row)
    except msgspec.MsgspecError as error:
        raise LinkError(f"a copy of bucket {copy.bucket} holds no row: {error}") from error
    if row.link.fingerprint != copy.fingerprint or row.job != copy.job:
        raise LinkError(f"a copy of bucket {copy.bucket} holds another row than it says")
    if is_entry(copy.stamp) and not row.link.seed:
        row.link = row.link._replace(seed=True)
    row.items, row.data, row.marks = copy.items, copy.data, copy.marks
    return row


def _copy(bucket: int, row: Row, items: int = 0, data: bytes = b"", marks: int = 0) -> CopyRow:
    return CopyRow(bucket, row.link.fingerprint, row.job, row.stamp, _encode(row), items, data, marks)


def _copy_with(bucket: int, row: Row, kept: KeptItems) -> CopyRow:
    row.told = kept.told
    return _copy(bucket, row, kept.number, kept.data, kept.marks)


def _row_without_link(packed: bytes) -> Row:
    """Decodes a row of older copies: the facts of its link are fields of its own, behind the job."""
    job, *fields = _decode_fields(packed) or [None]
    size = len(Link._fields)
    return msgspec.convert([job, fields[:size], *fields[size:]], Row)
