"""Measures whether anything can be heard at all: silence of a host is told from silence all around.

The theory. While anybody answers, a host that does not is silent itself. When nobody answers any more, the fault may be
our own network's; then it is unjust to count what hosts leave unanswered. So the time in which nothing was heard from
anybody is measured, and taken off the silence of a host that used to answer, and off failures that do not concern it
(no name server answers); and attempts that fall into it are not counted.

That is believed for so long only: where the last host of a crawl has died, nothing is heard either.

Invariant: ``deaf_s`` never shrinks as time goes on.
"""

from __future__ import annotations

GAP_S = 15.0
"""Pauses up to this are nothing: one answer may take so long, with hosts that have a delay."""
OUTAGE_TIMES = 3.0
"""So many times HOST_DOWN_AFTER nothing may be heard of anybody before it is counted all the same."""


class Hearing:
    """Measures for how long nothing was heard from any host."""

    __slots__ = ("_before_s", "heard_at")

    def __init__(self) -> None:
        self.heard_at: float | None = None
        """When anybody was heard last; None: nobody ever was."""
        self._before_s = 0.0

    def heard(self, now: float) -> None:
        """Notes that some host has answered, or has at least refused to."""
        self._before_s = self.deaf_s(now)
        self.heard_at = now

    def deaf_s(self, now: float) -> float:
        """Returns for how long nothing was heard, all in all."""
        if self.heard_at is None:
            return 0.0
        return self._before_s + max(0.0, now - self.heard_at - GAP_S)

    def deaf_since(self, at: float, now: float, bound_s: float) -> bool:
        """Tells whether nobody was heard since ``at``, and that may be our own network's fault."""
        return self.heard_at is not None and self.heard_at < at and now - self.heard_at < bound_s
