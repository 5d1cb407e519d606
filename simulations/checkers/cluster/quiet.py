"""Checks that no master gave up, no exception got lost, and nobody logged an error that the run's own faults do not
explain.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...observe.alarms import unexplained
from ...play.evidence import Evidence

TOLD_MAX = 10


def check(evidence: Evidence) -> Iterator[str]:
    yield from evidence.complaints[:TOLD_MAX]
    yield from map(str, list(unexplained(evidence.alarms, evidence.incidents))[:TOLD_MAX])
