"""A host that is throttled is left alone for as long as its answers take, at least; the first time for about as long as
the job begins with.

The delay follows what answers take, half way at a time, and an error never shortens it. Each master finds it by itself,
so it is judged between two requests of the same one, to which nothing happened in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ...play.evidence import Evidence
from ...world.web import Visit

TOLERANCE = 0.96
"""Clocks differ by 2 %, and the slave's begins and ends a moment apart from the host's."""
SLACK_S = 0.05


def check(evidence: Evidence) -> Iterator[str]:
    said = evidence.settings
    if not said.get("autothrottle_enabled"):
        return
    # What people say of a host comes before it; and who borrows a host keeps to what its owner has found.
    ordered = {change.host for change in evidence.changes}
    ordered |= {str(asked.arguments["host"]) for asked in evidence.asked if asked.verb == "set-host"}
    by_place: dict[tuple[str, str], list[Visit]] = {}
    for visit in evidence.web.visits:
        if visit.host not in ordered and not visit.job and not visit.is_robots:
            by_place.setdefault((visit.host, visit.master), []).append(visit)
    for visits in by_place.values():
        visits.sort(key=lambda visit: visit.began_s)
        for before, after in pairwise(visits):
            yield from _too_early(evidence, before, after)


def _too_early(evidence: Evidence, before: Visit, after: Visit) -> Iterator[str]:
    """Yields what is wrong with the second of two requests of one master."""
    said = evidence.settings
    if before.failure or any(i.began_s <= after.began_s and i.ended_s >= before.began_s for i in evidence.incidents):
        return
    took_s = before.ended_s - before.began_s
    wanted_s = min(took_s / said["autothrottle_target_concurrency"], said["autothrottle_max_delay"])
    due_s = before.ended_s + wanted_s * TOLERANCE - SLACK_S
    if after.began_s < due_s:
        yield (
            f"{after.node} asked for {after.url} at {after.began_s:.2f} s, {due_s - after.began_s:.2f} s too early: "
            f"the answer before took {took_s:.2f} s"
        )
