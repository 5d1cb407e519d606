"""Every page that was fetched has its items in the results, each once."""

from __future__ import annotations

from collections.abc import Iterator

from ...observe.folders import DONE
from ...play.evidence import Evidence, listed
from ...play.spiders import items_of, page_of
from ...world.web import Kind


def check(evidence: Evidence) -> Iterator[str]:
    if not evidence.ended:
        return
    web = evidence.web
    fetched = {
        str(item["url"])
        for url, record in evidence.phases().items()
        if record.phase == DONE and url in web.pages and web.pages[url].kind is not Kind.REDIRECT
        for item in items_of(url, web.body(url))
    }
    lost = sorted(fetched - set(evidence.items))
    if lost:
        yield f"{len(lost)} items of pages that are done are not in the results: {listed(lost)}"
    twice = sorted(url for url, count in evidence.items.items() if count > 1)
    if twice:
        yield f"{len(twice)} items are in the results more than once: {listed(twice)}"
    before = _served_before(evidence)
    strange = sorted(name for name in set(evidence.items) - fetched if page_of(name) not in before)
    if strange:
        yield f"{len(strange)} items are of pages that are not done: {listed(strange)}"


def _served_before(evidence: Evidence) -> set[str]:
    """Returns the pages that the web served before somebody had the entries of the job begun anew: of these an item
    stays, though the visit that came then has failed.
    """
    until_s = max((ended_s for _, ended_s in evidence.begun_anew()), default=0.0)
    return {visit.url for visit in evidence.pages if visit.answered and visit.status < 300 and visit.began_s < until_s}
