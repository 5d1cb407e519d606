"""Of all pages that were fetched with one text, one item is in the results, or one that is not marked as a duplicate.

While the network is in parts each of them may keep one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ...observe.folders import DONE
from ...play.evidence import Evidence, listed
from ...world.web import Kind, text_of


def check(evidence: Evidence) -> Iterator[str]:
    web = evidence.web
    if not evidence.ended or not web.plan.texts:
        return
    pages: dict[int, list[str]] = defaultdict(list)
    for url, record in evidence.phases().items():
        if record.phase == DONE and url in web.pages and web.pages[url].kind is not Kind.REDIRECT:
            pages[text_of(url, web.plan.texts)].append(url)
    # An item of each visit is told: no page is a copy of what it was before.
    most = 1 if evidence.begun_anew() else sum(evidence.unmarked.values())
    parted = any(incident.everywhere for incident in evidence.incidents)
    for urls in pages.values():
        out = [url for url in sorted(urls) for _ in range(min(evidence.unmarked[url], most))]
        if not out:
            yield f"a text has no item in the results, of {len(urls)} pages that have it: {listed(sorted(urls))}"
        elif len(out) > 1 and not parted:
            yield f"{len(out)} items in the results have one text: {listed(out)}"
