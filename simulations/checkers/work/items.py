"""Every page that was fetched has its item in the results, once."""

from __future__ import annotations

from collections.abc import Iterator

from ...observe.folders import DONE
from ...play.evidence import Evidence, listed
from ...world.web import Kind


def check(evidence: Evidence) -> Iterator[str]:
    if not evidence.ended:
        return
    fetched = {
        url
        for url, record in evidence.phases().items()
        if record.phase == DONE and url in evidence.web.pages and evidence.web.pages[url].kind is not Kind.REDIRECT
    }
    lost = sorted(fetched - set(evidence.items))
    if lost:
        yield f"{len(lost)} pages are done without an item in the results: {listed(lost)}"
    twice = sorted(url for url, count in evidence.items.items() if count > 1)
    if twice:
        yield f"{len(twice)} items are in the results more than once: {listed(twice)}"
    strange = sorted(set(evidence.items) - fetched - _served_before(evidence))
    if strange:
        yield f"{len(strange)} items are of pages that are not done: {listed(strange)}"


def _served_before(evidence: Evidence) -> set[str]:
    """Returns the pages that the web served before somebody had the entries of the job begun anew: of these an item
    stays, though the visit that came then has failed.
    """
    until_s = max((ended_s for _, ended_s in evidence.begun_anew()), default=0.0)
    return {visit.url for visit in evidence.pages if visit.answered and visit.status < 300 and visit.began_s < until_s}
