"""The rules of how long a session lasts, by the clocks of its two ends (docs/overlay.md, docs/guarantees.md).

Its master holds it for over when its last answer is longer ago than the longer of two times, and not a moment before;
its slave when the last beat that was answered was sent longer ago than the shorter one. What is over stays over, and
what is not goes on: whoever ends it early fetches twice, or has somebody else do so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Final, Protocol

from ..acknowledged import Tell

ROUNDED_S: Final = 1e-6


class Sight(Protocol):
    """The harness's own knowledge of the machines."""

    @property
    def now_s(self) -> float: ...

    def lies(self, slave: str) -> bool:
        """Tells whether a slave says what it should not."""


@dataclass(slots=True)
class MastersTerm:
    """A session at its master. ``lasts_s``: without an answer; infinity where only the end of its link tells."""

    lasts_s: float
    since_s: float = -1.0
    """When its slave was last answered, by the master's clock; below 0 before its greeting."""
    is_over: bool = False
    is_cut: bool = False
    """Its link is gone, and its slave may be at work."""

    def left_s(self, now_s: float) -> float:
        """Returns for how long it lasts yet."""
        return self.since_s + self.lasts_s - now_s

    def goes_on(self, now_s: float) -> bool:
        """Tells whether it has begun, and is not over."""
        return self.since_s >= 0.0 and not self.is_over and self.left_s(now_s) >= 0.0


@dataclass(slots=True)
class SlavesTerm:
    """A session at its slave. ``lasts_s``: from the sending of a beat that is answered."""

    lasts_s: float
    until_s: float
    sent: dict[int, float] = field(default_factory=dict)

    def answered(self, beat: int, now_s: float) -> None:
        """Takes in the answer to a beat. One that comes when the session is over changes nothing."""
        sent_s = self.sent.pop(beat, None)
        self.sent = {number: at_s for number, at_s in self.sent.items() if number > beat}
        if sent_s is not None and now_s < self.until_s:
            self.until_s = max(self.until_s, sent_s + self.lasts_s)

    def close(self) -> None:
        """Ends it."""
        self.until_s = -inf


@dataclass(slots=True)
class SessionTerms:
    """Judges who takes a session for over, or for one that goes on. Times are of the clock of whoever does."""

    sight: Sight
    tell: Tell

    def renews(self, master: str, term: MastersTerm, now_s: float, *, renewed: bool) -> None:
        """Judges a master that is asked whether a session goes on."""
        if renewed and not term.goes_on(now_s):
            self._tell(master, "says of a session that is over that it goes on")
        elif not renewed and term.goes_on(now_s):
            self._tell(master, f"does not renew a session that lasts for {term.left_s(now_s):.3f} s more")
        if renewed:
            term.since_s = now_s

    def looks(self, master: str, term: MastersTerm, now_s: float, *, found_over: bool) -> None:
        """Judges a master that looks whether a session has lasted for long enough."""
        began = term.since_s >= 0.0 and not term.is_over
        if found_over and began and term.left_s(now_s) >= 0.0:
            self._tell(master, f"ends a session that lasts for {term.left_s(now_s):.3f} s more")
        elif not found_over and began and term.left_s(now_s) < 0.0:
            self._tell(master, f"does not end a session that is over for {-term.left_s(now_s):.3f} s")

    def runs_out(self, master: str, term: MastersTerm, now_s: float) -> None:
        """Judges a master that gives the pages of a slave that is out of reach to others."""
        if term.is_cut and term.left_s(now_s) > ROUNDED_S:
            text = f"takes back what a slave has that may work for {term.left_s(now_s):.3f} s more"
            self._tell(master, text)

    def goes_on(self, slave: str, term: SlavesTerm, now_s: float, *, passed: bool) -> None:
        """Judges a slave that looks whether it may go on."""
        if self.sight.lies(slave) or passed == (now_s >= term.until_s):
            return
        if passed:
            self._tell(slave, f"gives up a session that lasts for {term.until_s - now_s:.3f} s more")
        else:
            self._tell(slave, "goes on under a session that is over")

    def _tell(self, node: str, what: str) -> None:
        self.tell(f"at {self.sight.now_s:.3f} s {node} {what}")
