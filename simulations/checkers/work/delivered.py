"""In the end each item of the results is in each sink, once, or was refused by it; and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator

from ...play.evidence import Evidence, listed


def check(evidence: Evidence) -> Iterator[str]:
    if not evidence.ended:
        return
    for name, found in sorted(evidence.sinks.items()):
        there = set(found.items) | found.refused
        if lost := sorted(set(evidence.items) - there):
            yield f"{name}: {len(lost)} items of the results were never brought: {listed(lost)}"
        if twice := sorted(url for url, count in found.items.items() if count > 1):
            yield f"{name}: {len(twice)} items are there more than once: {listed(twice)}"
        if strange := sorted(there - set(evidence.items)):
            yield f"{name}: {len(strange)} items are not in the results: {listed(strange)}"
        if both := sorted(set(found.items) & found.refused):
            yield f"{name}: {len(both)} items were refused and are there: {listed(both)}"
        if found.strangers:
            yield f"{name}: was opened {found.strangers} times with a wrong password"
        if found.waiting:
            yield f"{name}: {found.waiting} items are said to wait when all is over"
