"""Checks that a job ends when nothing is left of it, that its states follow each other, and what its verbs promise.

Judged at each transaction that stores a job, against all disks of masters that can be asked at that moment, and at each
answer to a person, by a model that is not the peers' (simulations/model).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...play.evidence import Evidence


def check(evidence: Evidence) -> Iterator[str]:
    yield from evidence.found.get("endings", ())
