"""A job comes to its end, and when it is said to be finished nothing of it happens any more.

Nothing is called final while anybody is away who may know more: that is held against who signed it, and against what
the disks of the others know.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Final

from p2pcrawl.core.control import FINISHED, INCOMPLETE

from ...play.evidence import Evidence
from ...play.people import LATE_S

GO_ON: Final = ("retry", "inject", "resume", "clear")
"""What lets a job go on that had ended."""


def check(evidence: Evidence) -> Iterator[str]:
    if not evidence.ended:
        yield f"the job has not ended after {evidence.looked_s:g} s"
    # What is gone with all disks that had it is told for good.
    right = {FINISHED, INCOMPLETE} if evidence.destroyed else {FINISHED}
    for state in sorted(set(evidence.states.values()) - right):
        names = [name for name, each in evidence.states.items() if each == state]
        yield f"the job is {state} at {', '.join(names)}"
    yield from evidence.overlooked
    reopened = [*evidence.injections, *_unanswered(evidence)]
    for moment, who, is_last_word in evidence.claims:
        # Whoever puts URLs into it lets it go on.
        until = min((began for began, ended in reopened if ended >= moment), default=inf)
        later = [v for v in evidence.web.visits if v.job == evidence.label and moment < v.began_s <= until]
        if is_last_word and later:
            first = later[0]
            yield (
                f"{who} said at {moment:.2f} s that the job is finished, and {len(later)} requests followed, the first "
                f"by {first.node} at {first.began_s:.2f} s for {first.url}"
            )


def _unanswered(evidence: Evidence) -> Iterator[tuple[float, float]]:
    """Yields from when until when somebody may obey what nobody has answered: what was under way in a cut comes when
    that is over.
    """
    cuts = sorted((i.began_s, i.ended_s) for i in evidence.incidents if i.everywhere)
    for asked in evidence.asked:
        if asked.error and asked.verb in GO_ON and asked.job == evidence.label:
            until_s = asked.ended_s
            for began_s, ended_s in cuts:
                if began_s <= until_s + LATE_S and until_s < ended_s:
                    until_s = ended_s
            yield asked.began_s, until_s + LATE_S
