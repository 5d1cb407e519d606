"""Checks that with a majority asked for nobody serves without it, and that each voter stands by one view at a time.

Held against all that voters were asked and have answered, by a model that is not the peers'.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...play.evidence import Evidence


def check(evidence: Evidence) -> Iterator[str]:
    yield from evidence.found.get("consents", ())
