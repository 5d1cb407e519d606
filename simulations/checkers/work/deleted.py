"""Of a job that was deleted nothing is left at any master but the word that it was."""

from __future__ import annotations

from collections.abc import Iterator

from p2pcrawl.core.control import DELETED

from ...play.evidence import Evidence


def check(evidence: Evidence) -> Iterator[str]:
    for job, who, state, rows in evidence.remains:
        if state != DELETED:
            yield f"{who} says of job {job}, which was deleted, that it is {state or 'unknown'}"
        if rows:
            told = ", ".join(f"{count} in {table}" for table, count in sorted(rows.items()))
            yield f"{who} keeps rows of job {job}, which was deleted: {told}"
