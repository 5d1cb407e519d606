"""robots.txt comes first: no page of a host is asked for before it, and none that it forbids at all."""

from __future__ import annotations

from collections.abc import Iterator

from ...play.evidence import Evidence, listed


def check(evidence: Evidence) -> Iterator[str]:
    web = evidence.web
    told: set[str] = set()
    early: list[str] = []
    for moment, is_end, visit in sorted(
        ((visit.ended_s if end else visit.began_s, end, visit) for visit in web.visits for end in (True, False)),
        key=lambda each: each[:2],
    ):
        if is_end and visit.is_robots and visit.failure != "cut":
            told.add(visit.host)
        elif not is_end and not visit.is_robots and visit.host not in told:
            early.append(f"{visit.url} by {visit.node} at {moment:.2f} s")
    if early:
        yield f"{len(early)} requests were made before their host's robots.txt was known: {listed(early)}"
    forbidden = sorted({v.url for v in web.visits if v.url in web.pages and web.forbids(web.pages[v.url])})
    if forbidden:
        yield f"{len(forbidden)} pages were asked for that robots.txt forbids: {listed(forbidden)}"
