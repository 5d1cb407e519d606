"""Checks that who votes is decided as Paxos wants it: votes in rising ballots, on disk, and one electorate a version.

Held against all that voters have ever said, and what their disks said then, by a model that is not the peers'.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...play.evidence import Evidence


def check(evidence: Evidence) -> Iterator[str]:
    yield from evidence.found.get("ballots", ())
