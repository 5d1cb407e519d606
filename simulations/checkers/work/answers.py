"""Answers of a running job are true by then: they tell each item once, and none of a page that was not fetched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ...play.evidence import Evidence, listed
from ...play.spiders import page_of


def check(evidence: Evidence) -> Iterator[str]:
    fetched: dict[tuple[str, str], float] = {}
    for visit in evidence.web.visits:
        if visit.answered:
            key = visit.job, visit.url
            fetched[key] = min(visit.ended_s, fetched.get(key, visit.ended_s))
    for asked in evidence.asked:
        if asked.verb != "results" or asked.answer is None:
            continue
        told = Counter(str(item.get("url")) for item in asked.answer)
        who = f"{asked.who}, asked for the items{f' of job {asked.job}' if asked.job else ''} at {asked.began_s:.2f} s"
        # Where duplicates are dropped there is an item of each visit (docs/duplicates.md).
        again = not asked.job and evidence.web.plan.texts
        visits = 1 + (sum(began_s <= asked.ended_s for began_s, _ in evidence.begun_anew()) if again else 0)
        if twice := sorted(url for url, count in told.items() if count > visits):
            yield f"{who}, told {len(twice)} of them more than once: {listed(twice)}"
        never_s = asked.ended_s + 1.0
        early = sorted(name for name in told if fetched.get((asked.job, page_of(name)), never_s) > asked.ended_s)
        if early:
            yield f"{who}, told {len(early)} of pages that had not been fetched: {listed(early)}"
