"""Finds the record that a fingerprint belongs to: the two generations of the table of what was seen."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from p2pcrawl.frontier.database.statements import run_many

Key = tuple[int, int, int]
"""Both halves of a fingerprint, and the job."""
GENERATIONS = ("seen_young", "seen")


def numbers_of(db: sqlite3.Connection, keys: Sequence[Key]) -> dict[Key, int]:
    """Returns the record of each key that is known."""
    numbers: dict[Key, int] = {}
    for table in GENERATIONS:
        keys = [key for key in keys if key not in numbers]
        found = run_many(
            db,
            "WITH asked (hi, lo, job) AS (",
            keys,
            f") SELECT asked.*, s.id FROM asked JOIN {table} AS s ON s.hi = asked.hi AND s.lo = asked.lo"
            " AND s.job = asked.job",
        )
        numbers.update({(hi, lo, job): number for hi, lo, job, number in found})
    return numbers
