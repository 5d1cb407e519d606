"""Each page is visited in each round, not before its time, and had in full once as long as it says the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ...observe.folders import DONE
from ...observe.incidents import excused
from ...play.evidence import Evidence
from ...world.web import Visit

SLACK_S = 2.0
"""What clocks, which count visits in whole seconds, may make of a period; and machines may run fast."""


def check(evidence: Evidence) -> Iterator[str]:
    if evidence.rounds == 1 or not evidence.ended:
        return
    lost = excused((*evidence.incidents, *evidence.lapses), evidence.pages, again=True)
    by_url: dict[str, list[Visit]] = {}
    for visit in evidence.pages:
        if visit.answered:
            by_url.setdefault(visit.url, []).append(visit)
    least_s = evidence.period_s * 0.9 - SLACK_S
    for url, record in sorted(evidence.phases().items()):
        visits = sorted(by_url.get(url, ()), key=lambda visit: visit.began_s)
        if record.phase != DONE or not visits:
            continue
        if len(visits) < evidence.rounds and not evidence.destroyed:
            yield f"{url} was visited {len(visits)} times, of {evidence.rounds} rounds"
        early = sum(later.began_s - earlier.ended_s < least_s for earlier, later in pairwise(visits))
        if early > lost[url]:
            told = ", ".join(f"{visit.began_s:.2f} s" for visit in visits)
            yield f"{url} was visited {early} times before it was due: {told}"
        whole = sum(visit.status == 200 for visit in visits)
        if any(visit.status == 304 for visit in visits) and whole > 1 + lost[url]:
            yield f"{url} was sent {whole} times, and had not changed"
