"""Checks that what people put into a job is an entry of it, though it was met as a link before.

Each disk says so in the end, and it is asked for once more when somebody has the entries begun anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...observe.folders import DONE, print_of
from ...play.evidence import Asked, Evidence, listed

DEATHS: Final = frozenset({"crash", "power loss"})
"""Incidents that may have taken a disk along."""
CALM_S: Final = 30.0
"""So long before somebody has the entries begun anew nothing may have happened to anybody, for all to be there."""
UNDER_WAY_S: Final = 5.0
"""What has just been fetched may be in somebody's hands still, and so not begun anew."""


def check(evidence: Evidence) -> Iterator[str]:
    if not evidence.ended:
        return
    put_in = _put_in(evidence)
    for name, held in evidence.held.items():
        for kind, is_copy in (("records", False), ("copies", True)):
            here = {row.url for row in held if row.is_copy == is_copy and row.url in put_in and not row.seed}
            urls = {url for url in here if not _lost(evidence, url, put_in[url][-1])}
            if urls:
                yield f"{name} has {kind} of {listed(sorted(urls))}, which do not say that they were put into the job"
    for asked in evidence.asked:
        if asked.verb == "clear" and asked.job == evidence.label and asked.answer is not None:
            yield from _left_out(evidence, asked, put_in)


def _lost(evidence: Evidence, url: str, since_s: float) -> bool:
    """Tells whether all disks that had something of this page are gone for good, and masters died after that moment."""
    died = any(incident.what in DEATHS and incident.began_s >= since_s for incident in evidence.incidents)
    return died and evidence.is_destroyed(print_of(url))


def _put_in(evidence: Evidence) -> dict[str, list[float]]:
    """Returns what people were told to be in the job, and when."""
    put_in: dict[str, list[float]] = {}
    for asked in evidence.asked:
        if asked.verb == "inject" and asked.job == evidence.label and asked.answer is not None:
            for url in asked.arguments["urls"]:
                put_in.setdefault(url, []).append(asked.ended_s)
    return put_in


def _left_out(evidence: Evidence, asked: Asked, put_in: dict[str, list[float]]) -> Iterator[str]:
    """Says which entries nobody has asked for since they were begun anew, which all were there to do."""
    calm_s = asked.began_s - CALM_S
    if any(i.began_s < asked.ended_s and i.ended_s > calm_s for i in evidence.incidents) or evidence.destroyed:
        return
    presences = evidence.presences
    there = {p.name for p in presences if p.began_s <= calm_s and p.ended_s >= asked.ended_s}
    if there != {p.name for p in presences}:
        return
    entries = {url for url, told_s in put_in.items() if told_s[0] < asked.began_s}
    entries.update(evidence.web.starts if evidence.crawl is None else evidence.crawl.starts)
    since_s = asked.began_s - UNDER_WAY_S
    again = {visit.url for visit in evidence.pages if visit.ended_s > since_s}
    done = {url for url, record in evidence.phases().items() if record.phase == DONE}
    if left := sorted((entries & done) - again):
        word = f"{asked.who} said at {asked.ended_s:.2f} s that all entries are begun anew"
        yield f"{word}, and nobody has asked for {listed(left)} since"
