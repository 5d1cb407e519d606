"""Checks that no master gave up, and no exception got lost."""

from __future__ import annotations

from collections.abc import Iterator

from ...play.evidence import Evidence


def check(evidence: Evidence) -> Iterator[str]:
    yield from evidence.complaints[:10]
