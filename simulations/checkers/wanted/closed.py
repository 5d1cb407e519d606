"""A job that a limit or its spider closes: for the reason that was given to it, at all masters alike, not before that
holds, and soon after; what it left undone is queued, and what people ask of it then is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from ...observe.folders import DONE
from ...play.evidence import Evidence
from ...play.other_jobs import CLOSES, Close
from ...world.web import Kind, Visit

SOON_S = 15.0
"""So long after enough was answered nobody asks for more: pages are reported, masters asked, and slaves told."""


def check(evidence: Evidence) -> Iterator[str]:
    if not evidence.closed_by or not evidence.ended:
        return
    close, said = CLOSES[evidence.closed_by], set(evidence.reasons.values())
    if len(said) > 1:
        yield f"masters tell several reasons of its end: {', '.join(sorted(said))}"
    for reason in sorted(said - {"", close.reason}):
        yield f"it was closed for {reason}, and nothing of that was said"
    if close.reason in said and close.reason:
        yield from _too_soon(evidence, close)
    if not evidence.incidents and not evidence.stalls:
        yield from _too_late(evidence, close, was_closed=close.reason in said)


def _too_soon(evidence: Evidence, close: Close) -> Iterator[str]:
    """Yields what is wrong where a job was closed before it was to be."""
    there = _counted(evidence)[close.counts] if close.counts else close.most
    # What the disks had that are gone was counted as well, and a page that somebody has begun anew is not done.
    if there < close.most and not evidence.destroyed and not evidence.begun_anew():
        yield f"it was closed for {close.reason} with {there} {close.counts}, of {close.most}"


def _too_late(evidence: Evidence, close: Close, *, was_closed: bool) -> Iterator[str]:
    """Yields what is wrong where a job goes on when it was to be closed."""
    reached_s = _reached_s(evidence.closed_by, close, evidence.pages)
    late = [visit for visit in evidence.pages if visit.began_s > reached_s + SOON_S]
    if late and close.reason:
        yield f"{len(late)} requests began later than {reached_s + SOON_S:.2f} s, though {evidence.closed_by} closes it"
    elif close.counts and not was_closed and (there := _counted(evidence)[close.counts]) >= close.most:
        yield f"it was not closed for {close.reason}, with {there} {close.counts}"


def _reached_s(closed_by: str, close: Close, visits: Sequence[Visit]) -> float:
    """Returns when there was enough of a job, as the web saw it."""
    if not close.counts:
        return min((visit.began_s for visit in visits), default=inf) + close.most
    # What a spider counts is what one slave has done.
    nodes = {visit.node for visit in visits} if closed_by == "spider" else {""}
    ends = [sorted(v.ended_s for v in visits if v.status == 200 and (not node or v.node == node)) for node in nodes]
    return min((each[int(close.most) - 1] for each in ends if len(each) >= close.most), default=inf)


def _counted(evidence: Evidence) -> dict[str, int]:
    """Counts what there is of a job: its pages that are done, and their items."""
    done = [url for url, record in evidence.phases().items() if record.phase == DONE and url in evidence.web.pages]
    pages = [url for url in done if evidence.web.pages[url].kind is not Kind.REDIRECT]
    return {"pages": len(pages), "items": evidence.items.total()}
