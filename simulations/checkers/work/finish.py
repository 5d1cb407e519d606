"""A job comes to its end, and when it is said to be finished nothing of it happens any more.

Nothing is called final while anybody is away who may know more: that is held against who signed it, and against what
the disks of the others know.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from p2pcrawl.core.control import FINISHED, INCOMPLETE

from ...play.evidence import Evidence


def check(evidence: Evidence) -> Iterator[str]:
    if not evidence.ended:
        yield f"the job has not ended after {evidence.looked_s:g} s"
    # What is gone with all disks that had it is told for good.
    right = {FINISHED, INCOMPLETE} if evidence.destroyed else {FINISHED}
    for state in sorted(set(evidence.states.values()) - right):
        names = [name for name, each in evidence.states.items() if each == state]
        yield f"the job is {state} at {', '.join(names)}"
    yield from evidence.overlooked
    for moment, who, is_last_word in evidence.claims:
        # Whoever puts URLs into it lets it go on.
        until = min((began for began, ended in evidence.injections if ended >= moment), default=inf)
        later = [v for v in evidence.web.visits if v.job == evidence.label and moment < v.began_s <= until]
        if is_last_word and later:
            first = later[0]
            yield (
                f"{who} said at {moment:.2f} s that the job is finished, and {len(later)} requests followed, the first "
                f"by {first.node} at {first.began_s:.2f} s for {first.url}"
            )
