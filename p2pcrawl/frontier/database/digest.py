"""Sums over rows, by which two stores find out cheaply where they differ.

A sum says of a range of fingerprints how many rows there are, and adds up a keyed hash of each row's (fingerprint,
job, stamp). Addition has no order, so two stores need not read in the same one. The hash is AES in CBC-MAC over two
blocks, the fingerprint and (job, stamp), which nobody can predict without the key; and the key is drawn for each
comparison. So whoever chooses URLs cannot choose rows that add up to the same: of different sets, one in 2^63 is taken
for equal. AES because it hashes all rows in a few calls: one call for each row costs ten times as much.
The rows are joined to text inside SQLite for a similar reason: each row that Python steps over gives the interpreter
lock away.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from p2pcrawl.frontier.database.statements import run_many
from p2pcrawl.model.crawl.record import COUNT_MAX, LOSSES_MAX, VISIT_MAX
from p2pcrawl.model.errors import LinkError

CHUNK_ROWS = 16_384
"""Rows that are in memory at once; a few more, where fingerprints begin alike."""
DEPTH_MAX = 16
_BITS = 64
_SUM_MASK = (1 << 63) - 1


class Range(NamedTuple):
    """The fingerprints of a bucket whose first ``depth`` hexadecimal digits are ``prefix``. Depth 0: all of them."""

    bucket: int
    depth: int
    prefix: int


class Rows(NamedTuple):
    """A table of rows by (bucket, hi, lo, job)."""

    table: str
    stamp: str
    """What makes a row's stamp of its columns."""


RECORDS = Rows(
    "record",
    f"(min(max(visit, 0), {VISIT_MAX}) << 32) + (phase << 30) + (min(max(attempts, 0), {COUNT_MAX}) << 15)"
    f" + (min(max(losses, 0), {LOSSES_MAX}) << 1) + (seed != 0)",
)
"""Stamps as ``model.record.stamp_of`` makes them."""


def split(range_: Range) -> list[Range]:
    """Returns the 16 parts of a range. Raises ValueError for one that is only one half of a fingerprint."""
    if range_.depth >= DEPTH_MAX:
        raise ValueError(f"a range of depth {range_.depth} has no parts")
    return [Range(range_.bucket, range_.depth + 1, range_.prefix << 4 | digit) for digit in range(16)]


def bounds(range_: Range) -> tuple[int, int]:
    """Returns the least and the greatest first half in a range, signed as they are stored.

    Raises LinkError for a range that there is not: ranges come from other masters.
    """
    bits = 4 * range_.depth
    if not 0 <= range_.depth <= DEPTH_MAX or not 0 <= range_.prefix < 1 << bits:
        raise LinkError(f"there is no range of depth {range_.depth} with prefix {range_.prefix:x}")
    low = range_.prefix << (_BITS - bits)
    high = low + (1 << (_BITS - bits)) - 1
    if not bits:
        low, high = 1 << (_BITS - 1), (1 << (_BITS - 1)) - 1
    return _signed(low), _signed(high)


def digests(db: sqlite3.Connection, rows: Rows, nonce: bytes, ranges: Sequence[Range]) -> list[tuple[int, int]]:
    """Counts the rows of each range, and sums them under the 16 bytes of ``nonce``."""
    encrypt = Cipher(algorithms.AES(nonce), modes.ECB()).encryptor().update  # nosec B305  # keyed hashing
    inhabited = _inhabited(db, rows, {range_.bucket for range_ in ranges})
    found = []
    for range_ in ranges:
        count = total = 0
        low, high = bounds(range_)
        chunks = _chunks(db, rows, range_.bucket, low, high) if range_.bucket in inhabited else ()
        for here, prints, facts in chunks:
            first = int.from_bytes(encrypt(bytes.fromhex(prints)), "big")
            block = bytes.fromhex(facts)
            hashes = encrypt((first ^ int.from_bytes(block, "big")).to_bytes(len(block), "big"))
            count += here
            total += sum(struct.unpack(f">{2 * here}Q", hashes)[::2])
        found.append((count, total & _SUM_MASK))
    return found


def keys(db: sqlite3.Connection, rows: Rows, ranges: Sequence[Range]) -> list[tuple[int, int, int, int]]:
    """Returns (hi, lo, job, stamp) of all rows in the ranges."""
    found: list[tuple[int, int, int, int]] = []
    for range_ in ranges:
        found += db.execute(
            f"SELECT hi, lo, job, {rows.stamp} FROM {rows.table} WHERE bucket = ? AND hi BETWEEN ? AND ?",
            (range_.bucket, *bounds(range_)),
        ).fetchall()
    return found


def _inhabited(db: sqlite3.Connection, rows: Rows, buckets: Collection[int]) -> set[int]:
    """Returns those of these buckets that have any rows. In most crawls few have: one look is enough for all the
    others.
    """
    found = run_many(
        db,
        "WITH asked (bucket) AS (",
        [(bucket,) for bucket in sorted(buckets)],
        f") SELECT bucket FROM asked WHERE EXISTS (SELECT 1 FROM {rows.table} AS r WHERE r.bucket = asked.bucket)",
    )
    return {bucket for (bucket,) in found}


def _chunks(db: sqlite3.Connection, rows: Rows, bucket: int, low: int, high: int) -> Iterator[tuple[int, str, str]]:
    """Yields pieces of a range: how many rows, and their two blocks each, in hexadecimal."""
    while low <= high:
        edge = db.execute(
            f"SELECT hi FROM {rows.table} WHERE bucket = ? AND hi BETWEEN ? AND ? ORDER BY hi"
            f" LIMIT 1 OFFSET {CHUNK_ROWS - 1}",
            (bucket, low, high),
        ).fetchone()
        last = high if edge is None else edge[0]
        count, prints, facts = db.execute(
            "SELECT count(*), group_concat(printf('%016x%016x', hi, lo), ''),"
            f" group_concat(printf('%016x%016x', job, {rows.stamp}), '')"
            f" FROM {rows.table} WHERE bucket = ? AND hi BETWEEN ? AND ?",
            (bucket, low, last),
        ).fetchone()
        if count:
            yield count, prints, facts
        low = last + 1


def _signed(number: int) -> int:
    return number - (1 << _BITS) if number >> (_BITS - 1) else number
