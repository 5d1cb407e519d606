"""Stories: a failure told to a person, what was done to whom, when, and what broke."""

from __future__ import annotations

from collections.abc import Iterator

from ..play.faults import OF_PEOPLE
from ..report.telling import shortened
from ..whole.outcome import Report
from .case import Case

SAID_MAX = 3
"""So much of what the checker said; there is often one line for each page."""


def story_of(case: Case, report: Report, checker: str) -> Iterator[str]:
    """Yields the story of a run that failed, line by line."""
    options = case.options
    yield (
        f"{options.masters} masters with {options.replicas} copies crawl {len(case.numbers)} pages "
        f"(seed {options.seed}{f', control {options.control}' if options.control else ''}"
        f"{f', mutant {options.mutant}' if options.mutant else ''})."
    )
    hits = {round(hit["at_s"], 2): hit["aim"] for hit in report.figures.get("aims", ())}
    for incident in sorted(report.incidents, key=lambda each: each.began_s):
        why = hits.get(round(incident.began_s, 2), "")
        yield f"{incident.began_s:9.3f} s  {incident.what} of {', '.join(sorted(incident.nodes))}" + (
            f" ({why})" if why else ""
        )
    if not report.incidents:
        yield "Nothing is done to anybody."
    for part in case.parts:
        if part.do in OF_PEOPLE:
            yield f"Somebody asks for {part}."
    said = [violation.what for violation in report.violations if violation.checker == checker]
    yield f"{report.virtual_s:9.3f} s  {checker} tells:"
    yield from (f"             {shortened(what, 200)}" for what in said[:SAID_MAX])
    if len(said) > SAID_MAX:
        yield f"             ... and {len(said) - SAID_MAX} more"
