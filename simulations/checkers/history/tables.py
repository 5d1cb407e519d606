"""Checks that the tables of each frontier agree with each other after each transaction."""

from __future__ import annotations

from collections.abc import Iterator

from ...play.evidence import Evidence


def check(evidence: Evidence) -> Iterator[str]:
    yield from evidence.found.get("tables", ())
