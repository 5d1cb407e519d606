"""Checks that one order of changes explains what everybody was told: of jobs, of their settings, and of hosts.

What was asked of masters, and what they knew, is taken down with its times, and held against a model of a register with
one history (simulations/model/registers.py) when all is over.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...play.evidence import Evidence


def check(evidence: Evidence) -> Iterator[str]:
    yield from evidence.found.get("verbs", ())
