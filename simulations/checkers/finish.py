"""A job comes to its end, and when it is said to be finished nothing of it happens any more."""

from __future__ import annotations

from collections.abc import Iterator

from simulations.checkers.evidence import Evidence


def check(evidence: Evidence) -> Iterator[str]:
    if not evidence.finished:
        yield f"the job was not finished within {evidence.options.limit_s:g} s"
    for moment, who, untroubled in evidence.claims:
        later = [visit for visit in evidence.web.visits if visit.began_s > moment]
        if untroubled and later:
            first = later[0]
            yield (
                f"{who} said at {moment:.2f} s that the job is finished, and {len(later)} requests followed, the first "
                f"by {first.node} at {first.began_s:.2f} s for {first.url}"
            )
