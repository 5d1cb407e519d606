"""The rules of how a host is left alone, by what its master knows of it, step by step (docs/guarantees.md).

After each answer it waits as long as whoever asks for most wants: the job, its robots.txt, what another master knows of
that, or what it has earned by refusing. What it asks for itself is kept to as well, and what somebody else has said
makes it wait longer and never less. It is asked only when all of that has passed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from ..acknowledged import Tell

ROUNDED_S: Final = 1e-6
FIRST_S: Final = 1.0
MOST_S: Final = 60.0
"""What a host earns that refuses without a word on how long: at first, and at most;"""
LEAST_S: Final = 0.25
"""what is left of that when it answers becomes less by half, and nothing from here on."""


class Sight(Protocol):
    """The harness's own clock."""

    @property
    def now_s(self) -> float: ...


class Standing(NamedTuple):
    """The wishes of a host at some moment, by the clock of its master."""

    next_s: float
    """When it may be asked again."""
    rests_until_s: float
    """Until when it wants to be left alone."""
    earned_s: float
    """The delay that it has earned."""
    told_s: float
    """The delay that others say that it asks for."""
    open: int


class Asks(NamedTuple):
    """The delay of a host for one job, as it follows from all that is known: of people or the job, of its robots.txt in
    each place, and of other masters.
    """

    usual_s: float
    robots_s: tuple[float, ...]
    told_s: float
    most_s: float
    """Whoever asks for more is asked for nothing."""

    def delay_s(self, earned_s: float) -> float:
        """Returns the delay."""
        asked = (each for each in (*self.robots_s, self.told_s) if each <= self.most_s)
        return max(self.usual_s, earned_s, *asked, 0.0)


class Ended(NamedTuple):
    """The end of a request."""

    answered: bool
    refused: bool
    """It said that this was too much,"""
    pause_s: float
    """or for how long it wants to be left alone."""


@dataclass(slots=True)
class HostsLeftAlone:
    """Judges masters by what they make of what they hear of a host. ``before`` and ``after``: how it stands there."""

    sight: Sight
    tell: Tell

    def ends(
        self, master: str, host: str, now_s: float, asks: Asks, end: Ended, steps: tuple[Standing, Standing]
    ) -> None:
        """Judges the end of a request."""
        before, after = steps
        earned_s = before.earned_s
        if end.answered and not end.refused:
            earned_s = earned_s / 2 if earned_s > LEAST_S else 0.0
        if end.refused and not end.pause_s:
            earned_s = min(MOST_S, max(FIRST_S, 2 * earned_s))
        if abs(after.earned_s - earned_s) > ROUNDED_S:
            self._tell(
                master, f"has {host} wait {after.earned_s:g} s for what it answered, and it has earned {earned_s:g}"
            )
        if delay_s := asks.delay_s(earned_s):
            self._waits(master, host, now_s + delay_s, "after an answer", steps)
        if end.pause_s:
            self._waits(master, host, now_s + end.pause_s, "as it asked", steps)
            self._rests(master, host, now_s + end.pause_s, steps)

    def is_released(self, master: str, host: str, now_s: float, asks: Asks, steps: tuple[Standing, Standing]) -> None:
        """Judges the end of a request of which nobody knows how it ended."""
        if delay_s := asks.delay_s(steps[0].earned_s):
            self._waits(master, host, now_s + delay_s, "after a request that may have come", steps)

    def learns(
        self, master: str, host: str, now_s: float, told: tuple[float, float, float], steps: tuple[Standing, Standing]
    ) -> None:
        """Judges a master that hears what another one knew: the delay that it asks for, what it has earned, and for how
        long it is to be left alone.
        """
        delay_s, earned_s, pause_s = told
        before, after = steps
        earned_s = min(earned_s, MOST_S)
        if after.told_s < max(before.told_s, delay_s) - ROUNDED_S:
            self._tell(master, f"takes {host} for one that asks for {after.told_s:g} s, and was told of {delay_s:g}")
        if after.earned_s < max(before.earned_s, earned_s) - ROUNDED_S:
            self._tell(master, f"takes {host} for one that earned {after.earned_s:g} s, and was told of {earned_s:g}")
        if longest_s := max(delay_s, earned_s):
            self._waits(master, host, now_s + longest_s, "after what another one said", steps)
        if pause_s:
            self._rests(master, host, now_s + pause_s, steps)

    def waits(self, master: str, host: str, until_s: float, steps: tuple[Standing, Standing]) -> None:
        """Judges a master that is to leave a host alone until some moment."""
        self._waits(master, host, until_s, "as was said", steps)

    def may_be_asked(self, master: str, host: str, now_s: float, how: tuple[Standing, float, int, int]) -> None:
        """Judges the word that a host may be asked: how it stands, its delay, how many others may ask it, and how many
        requests there may be at once.
        """
        standing, delay_s, lent, most = how
        at = f"has {host} asked"
        if now_s < standing.next_s:
            self._tell(master, f"{at} {standing.next_s - now_s:.3f} s before that may be")
        elif delay_s > 0.0 and (standing.open or lent):
            self._tell(master, f"{at}, which has a delay of {delay_s:g} s, beside another request")
        elif standing.open and standing.open + lent >= most:
            self._tell(master, f"{at} by more than {most} requests at once")

    # -- inside --------------------------------------------------------------------------------

    def _waits(self, master: str, host: str, until_s: float, why: str, steps: tuple[Standing, Standing]) -> None:
        before, after = steps
        if after.next_s < max(before.next_s, until_s) - ROUNDED_S:
            early_s = max(before.next_s, until_s) - after.next_s
            self._tell(master, f"leaves {host} alone {why} for {early_s:.3f} s less than it has to")

    def _rests(self, master: str, host: str, until_s: float, steps: tuple[Standing, Standing]) -> None:
        before, after = steps
        if after.rests_until_s < max(before.rests_until_s, until_s) - ROUNDED_S:
            self._tell(master, f"lets {host} rest for less than it wants")

    def _tell(self, node: str, what: str) -> None:
        self.tell(f"at {self.sight.now_s:.3f} s {node} {what}")
