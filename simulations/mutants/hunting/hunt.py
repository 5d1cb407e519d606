"""The hunt for a mutant: which seed is run next, with it or without, and when it counts as caught.

Decisions only; who hunts runs what is asked for, and says what came of it. A seed in which the sound product has the
same amiss proves nothing, and is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

HUNG = "hung"
"""The kind of failure of a run that is not over in time,"""
ENDED = "ended"
"""and of one whose process ended without a word."""


class Run(NamedTuple):
    """One seed of the swarm, with a mutant put in; "": as the product is."""

    mutant: str
    seed: int


class Amiss(NamedTuple):
    """The failures of a run, each the checker (or what else ended the run) with what it said first."""

    said: dict[str, str]
    real_s: float
    reached: frozenset[str] | None = None
    """The mutants whose places the run came to; None where nobody took note of it."""


@dataclass(slots=True)
class Hunt:
    """One mutant's way through the seeds. ``sound`` is what unchanged runs had amiss, by seed, known to all hunts.

    ``sound_first``: each seed is run unchanged before it is run with the mutant, which it is not if it never came to
    the mutant's place: that would be the same run. It pays where there are many hunts.
    """

    mutant: str
    seeds: Iterator[int]
    sound: dict[int, Amiss]
    sound_first: bool = False
    tried: int = 0
    never_there: int = 0
    """Of these: seeds that never came to the mutant's place."""
    real_s: float = 0.0
    """With the mutant put in."""
    caught_by: dict[str, str] = field(default_factory=dict)
    caught_in: int | None = None
    """The seed."""
    passed_over: list[int] = field(default_factory=list)
    """Seeds that fail without the mutant as well."""
    _suspected: Amiss | None = None
    _seed: int = 0
    _due: int | None = None
    """The seed that comes next."""

    def next_run(self) -> Run | None:
        """Returns what is to be run next; None when the hunt is over."""
        while self._suspected is not None:
            if self._seed not in self.sound:
                return Run("", self._seed)
            self._compare(self._suspected, self.sound[self._seed])
        while not self.caught_by:
            self._due = next(self.seeds, None) if self._due is None else self._due
            if self._due is None:
                return None
            if self.sound_first and self._due not in self.sound:
                return Run("", self._due)
            self._seed, self._due = self._due, None
            if self._comes_there(self._seed):
                return Run(self.mutant, self._seed)
            self.tried += 1
            self.never_there += 1
        return None

    def take(self, run: Run, amiss: Amiss) -> None:
        """Takes in what came of a run that was asked for."""
        if not run.mutant:
            self.sound[run.seed] = amiss
            return
        self.tried += 1
        self.real_s += amiss.real_s
        if amiss.said:
            self._suspected = amiss

    def _comes_there(self, seed: int) -> bool:
        known = self.sound.get(seed) if self.sound_first else None
        return known is None or known.reached is None or self.mutant in known.reached

    def _compare(self, suspected: Amiss, sound: Amiss) -> None:
        self._suspected = None
        by = {checker: what for checker, what in suspected.said.items() if checker not in sound.said}
        if by:
            self.caught_by, self.caught_in = by, self._seed
        else:
            self.passed_over.append(self._seed)
