"""Timing: parts of a run as they came in it, at their times, without those that came too late to matter.

What waits for the n-th moment of a kind, or for a share of the web, comes elsewhere as soon as anything else is taken
away. Told by the time it comes where it came.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..play.aims import Aim
from ..play.evidence import Coming
from ..play.faults import WORDS, Fault
from ..whole.outcome import Report
from .case import Case, Part
from .deeds import DIGITS, LONG_S


def timed(case: Case, report: Report) -> Case:
    """Returns a case with the parts that came in this run of it, each by the time at which it came."""
    return replace(case, parts=tuple(_timed(came_in(case, report), report)))


def came_in(case: Case, report: Report) -> list[Coming]:
    """Returns the first coming of each part of a case that came in this run of it."""
    first = [next((each for each in report.came if each.part == part), None) for part in case.parts]
    return [each for each in first if each is not None]


def early(case: Case, report: Report) -> Case:
    """Returns a case without the parts that never came in this run of it."""
    there = [each.part for each in report.came]
    return replace(case, parts=tuple(part for part in case.parts if part in there))


def began(report: Report) -> float:
    """Returns when the job began in a run, or would have."""
    return next((at_s for at_s, _ in report.series.marks), report.virtual_s)


def _timed(came: Iterable[Coming], report: Report) -> Iterator[Part]:
    began_s = began(report)
    for part, at_s, node, nth in came:
        since_s = round(at_s - began_s, DIGITS)
        if isinstance(part, Aim):
            # Not the moment after it, by as much as was rounded.
            yield replace(part, nth=nth, of=node, after_s=max(0.0, round(since_s - 10**-DIGITS, DIGITS)))
        elif isinstance(part, Fault) and part.every_s is None:
            for_s = LONG_S if part.for_s is None and WORDS[part.do].end is not None else part.for_s
            yield replace(part, at_s=since_s, at_share=None, whole=False, for_s=for_s)
        elif isinstance(part, Fault):
            yield part
