"""A job comes to its end, and when it is said to be finished nothing of it happens any more.

Nothing is called final while anybody is away who may know more: that is held against who signed it, and against what
the disks of the others know.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from ...play.evidence import Evidence

FINISHED = "finished"


def check(evidence: Evidence) -> Iterator[str]:
    if not evidence.ended:
        yield f"the job has not ended after {evidence.looked_s:g} s"
    # No scenario takes more away than the copies make up for.
    for state in sorted(set(evidence.states.values()) - {FINISHED}):
        names = [name for name, each in evidence.states.items() if each == state]
        yield f"the job is {state} at {', '.join(names)}"
    yield from evidence.overlooked
    for moment, who, is_last_word in evidence.claims:
        # Whoever puts URLs into it lets it go on.
        until = min((began for began, ended in evidence.injections if ended >= moment), default=inf)
        later = [visit for visit in evidence.web.visits if moment < visit.began_s <= until]
        if is_last_word and later:
            first = later[0]
            yield (
                f"{who} said at {moment:.2f} s that the job is finished, and {len(later)} requests followed, the first "
                f"by {first.node} at {first.began_s:.2f} s for {first.url}"
            )
