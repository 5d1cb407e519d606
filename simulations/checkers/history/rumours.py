"""Checks that members say of each other what they may say: nobody is called dead or gone too soon, or by the wrong one.

Held against all that each of them said and heard before, by a model that is not the peers'.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...play.evidence import Evidence


def check(evidence: Evidence) -> Iterator[str]:
    yield from evidence.found.get("rumours", ())
