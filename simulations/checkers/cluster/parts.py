"""With ``--partition majority`` never two parts of a divided cluster grant, and never two masters from one bucket."""

from __future__ import annotations

from collections.abc import Iterator

from ...play.evidence import Evidence


def check(evidence: Evidence) -> Iterator[str]:
    yield from evidence.parted[:5]
