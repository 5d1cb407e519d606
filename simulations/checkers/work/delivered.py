"""In the end each item of the results is in each sink, once, or was refused by it; and nothing else is. At every moment
what a disk says to be there is.

Where nothing is known by its key, as in part files, a page that both sides of a divided network have fetched may be
there once for each of them (docs/sinks.md says so).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from ...observe.incidents import PAUSE
from ...play.evidence import Evidence, SinkFound, listed
from ...play.spiders import page_of


def check(evidence: Evidence) -> Iterator[str]:
    yield from evidence.found.get("delivered", ())
    if not evidence.ended:
        return
    for name, found in sorted(evidence.sinks.items()):
        there = set(found.items) | found.refused
        if lost := sorted(set(evidence.items) - there):
            yield f"{name}: {len(lost)} items of the results were never brought: {listed(lost)}"
        often = _fetched_by_both_sides(evidence) if found.parts else _visited_again(evidence)
        if twice := sorted(url for url, count in found.items.items() if count > often.get(page_of(url), 1)):
            yield f"{name}: {len(twice)} items are there more than once: {listed(twice)}"
        # What the disks had is gone with them, and was brought before.
        if not evidence.destroyed and (strange := sorted(there - set(evidence.items))):
            yield f"{name}: {len(strange)} items are not in the results: {listed(strange)}"
        if both := sorted(set(found.items) & found.refused):
            yield f"{name}: {len(both)} items were refused and are there: {listed(both)}"
        if found.letters is not None and (untold := sorted(found.refused - found.letters)):
            yield f"{name}: {len(untold)} items were refused, and no disk says so: {listed(untold)}"
        yield from _left(name, found, evidence)
        if found.strangers:
            yield f"{name}: was opened {found.strangers} times with a wrong password"
        if found.waiting:
            yield f"{name}: {found.waiting} items are said to wait when all is over"


def _left(name: str, found: SinkFound, evidence: Evidence) -> Iterator[str]:
    """Yields what is left of dead letters that were sent again when all was over, to sinks that take everything."""
    if "letters" not in evidence.options.draws or found.parts or found.letters is None:
        return
    if refused := sorted(found.refused):
        yield f"{name}: {len(refused)} items that were refused were not brought again: {listed(refused)}"
    if letters := sorted(found.letters):
        yield f"{name}: {len(letters)} dead letters are left that it takes: {listed(letters)}"


def _visited_again(evidence: Evidence) -> dict[str, int]:
    """Counts how often each page was fetched, if people had the entries begun anew where items are known by their
    texts: what a page said before is not replaced then (docs/duplicates.md).
    """
    if not evidence.web.plan.texts or not evidence.begun_anew():
        return {}
    return dict(Counter(visit.url for visit in evidence.pages if visit.answered))


def _fetched_by_both_sides(evidence: Evidence) -> dict[str, int]:
    """Counts by how many masters each page was fetched, if some of them were out of each other's reach."""
    if not any(incident.what in ("partition", PAUSE) for incident in evidence.incidents):
        return {}
    masters: dict[str, set[str]] = defaultdict(set)
    for visit in evidence.pages:
        if visit.answered:
            masters[visit.url].add(visit.master)
    return {url: len(those) for url, those in masters.items()}
