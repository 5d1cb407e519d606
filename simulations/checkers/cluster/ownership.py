"""Among masters that share a view, no bucket is granted from by two at once."""

from __future__ import annotations

from collections.abc import Iterator

from ...play.evidence import Evidence


def check(evidence: Evidence) -> Iterator[str]:
    yield from evidence.doubles[:5]
