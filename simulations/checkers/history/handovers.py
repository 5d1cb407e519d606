"""Checks that what is said of buckets that change hands is true when it is said, and nothing is let go of too soon.

Who has what of a bucket, that all of it was taken, that copies are whole, that they may be dropped: each word is held
against what all disks had committed at that moment, by a model that is not the peers' (simulations/model).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...play.evidence import Evidence


def check(evidence: Evidence) -> Iterator[str]:
    yield from evidence.found.get("handovers", ())
