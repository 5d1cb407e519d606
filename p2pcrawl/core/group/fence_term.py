"""The time for which a slave works under a session, by its own clock: the other end of ``session_states``.

It goes on for so long from the *sending* of the last Beat that its master answered. The master counts from its answer,
which is later, and longer by twice the drift of clocks. So when it takes a session for over, here it has been over for
some time, whoever of the two stood still. What is over stays over, even if an answer comes after all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf


@dataclass(slots=True)
class FenceTerm:
    """Of one session. ``length_s`` 0: it does not end by itself."""

    length_s: float
    until: float
    sent: dict[int, float] = field(default_factory=dict)
    """When each Beat was sent that may still be answered."""

    @classmethod
    def begun(cls, length_s: float, asked_at: float) -> FenceTerm:
        """Returns the term of a session whose Hello was sent at ``asked_at``."""
        return cls(length_s, asked_at + length_s if length_s else inf)

    def passed(self, now: float) -> bool:
        """Tells whether the session is over."""
        return now >= self.until

    def send(self, beat: int, now: float) -> None:
        """Notes that this Beat is about to be sent."""
        self.sent[beat] = now

    def renew(self, beat: int, now: float) -> None:
        """Puts the end off, if it has not come: the master has answered this Beat."""
        sent_at = self.sent.get(beat)
        if sent_at is None:
            return
        self.sent = {number: at for number, at in self.sent.items() if number > beat}
        if not self.passed(now):
            self.until = max(self.until, sent_at + self.length_s)

    def close(self) -> None:
        """Ends the session."""
        self.until = -inf
