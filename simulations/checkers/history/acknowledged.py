"""Checks that acknowledgements are true when they are given: all is stored where it is said to be, links before ends.

Each acknowledgement is held against what all disks had committed at the moment at which it left, by a model that is not
the peers' (simulations/model).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...play.evidence import Evidence


def check(evidence: Evidence) -> Iterator[str]:
    yield from evidence.found.get("acknowledged", ())
