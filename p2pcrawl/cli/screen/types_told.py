"""The types of pages, as people read them: of a job, and of one page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

_RULES: Final = {
    "pattern": "by a pattern",
    "entry": "as one of the entries",
    "content": "by its content",
    "cached": "by what pages like it are",
    "domain": "for its domain",
}


def type_lines(job: dict[str, Any]) -> Iterator[str]:
    """Says how many pages of each type a job has found. Nothing of a job that does not tell them apart."""
    types = job.get("page_types") or {}
    if not types:
        return
    found = ", ".join(f"{name} {count:,}" for name, count in sorted(types.items(), key=lambda pair: -pair[1]))
    wrong = (job.get("stats") or {}).get("page_types/guessed_wrong", 0)
    yield f"types of pages: {found}" + (f"; {wrong:,} waited in the queue of another type" if wrong else "")


def type_words(told: str) -> str:
    """Says what a page was taken for, and by which rule."""
    kind, _, rule = told.partition(":")
    by, _, more = rule.partition(" ")
    return f"taken for {kind} {_RULES.get(by, f'by {by}')}" + (f": {more}" if more else "")
