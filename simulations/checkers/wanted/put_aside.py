"""The pages that are put aside for a host that is down: only where the host has left request after request without an
answer for as long as the job says, and not for good where pages that failed are visited again.
"""

from __future__ import annotations

from p2pcrawl.model.outcome import Failure

from ...observe.folders import Record
from ...play.evidence import Evidence
from ...world.web import Visit

IN_A_ROW = 10
"""So many requests a host leaves without an answer, one after the other, before it is taken for one that is down."""
TOLERANCE = 0.95


def is_put_aside(record: Record) -> bool:
    """Tells whether a page is said to have failed with its host."""
    return record.reason == Failure.HOST_DOWN


def may_be_put_aside(evidence: Evidence, host: str) -> bool:
    """Tells whether pages of a host may be so in the end, by what the web saw of it."""
    said = evidence.settings
    # Who had failed pages fetched anew has begun their visits, of which there are so many and no more.
    if said.get("retry_failed_after") and not evidence.asked_anew() and not evidence.web.hosts[host].dead:
        return False
    silences = _silences(sorted((v for v in evidence.web.visits if v.host == host), key=lambda visit: visit.ended_s))
    down_s = said.get("host_down_after", 300.0) * TOLERANCE
    return any(len(row) >= IN_A_ROW and row[-1].ended_s - row[0].ended_s >= down_s for row in silences)


def _silences(visits: list[Visit]) -> list[list[Visit]]:
    """Returns the requests of a host that had no answer, by the answers between them."""
    rows: list[list[Visit]] = [[]]
    for visit in visits:
        if visit.failure:
            rows[-1].append(visit)
        else:
            rows.append([])
    return rows
