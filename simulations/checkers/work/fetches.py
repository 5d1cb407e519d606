"""A page is fetched once in each round, and once more for each lease that ended without a report and for each try by
policy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...observe.incidents import excused
from ...play.evidence import Evidence
from ...world.web import Kind, Page


def check(evidence: Evidence) -> Iterator[str]:
    visits = evidence.pages
    asked = Counter(visit.url for visit in visits)
    # What was cut off in the middle is a try by policy in the web's eyes, and a lease without a report in the master's.
    retried = Counter(visit.url for visit in visits if not visit.answered)
    # What failed is fetched anew when somebody asks for that, though it was answered.
    anew = len(evidence.asked_anew())
    begun, entries = len(evidence.begun_anew()), evidence.entries()
    lost = excused((*evidence.incidents, *evidence.lapses), visits, again=evidence.rounds > 1 or begun > 0)
    for url, times in sorted(asked.items()):
        page = evidence.web.pages.get(url)
        fails = page is not None and _fails(page)
        again = (anew if fails else 0) + (begun if url in entries else 0)
        allowed = evidence.rounds + retried[url] + lost[url] + again
        if times > allowed:
            who = ", ".join(f"{v.node} at {v.began_s:.2f} s ({v.failure or v.status})" for v in visits if v.url == url)
            yield f"{url} was asked for {times} times, {allowed} are accounted for: {who}"


def _fails(page: Page) -> bool:
    """Tells whether this page is a failed one, whatever it answers: it is not there, or redirects to itself."""
    return page.kind is Kind.MISSING or (page.kind is Kind.REDIRECT and page.url in page.links)
