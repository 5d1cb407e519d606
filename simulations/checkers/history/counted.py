"""Checks that the copies which owners count on have what their owners have, at every moment and not only in the end."""

from __future__ import annotations

from collections.abc import Iterator

from ...play.evidence import Evidence


def check(evidence: Evidence) -> Iterator[str]:
    yield from evidence.found.get("counted", ())
