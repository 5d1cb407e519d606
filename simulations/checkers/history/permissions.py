"""Checks that a host is asked only by who may: whose bucket it is, or who has it on loan, in a session that goes on.

Held against what masters told each other of buckets and loans, and slaves of their sessions, be it harmful or not.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...play.evidence import Evidence


def check(evidence: Evidence) -> Iterator[str]:
    yield from evidence.found.get("permissions", ())
