"""The hunt for a mutant: which seed is run next, with it or without, and when it counts as caught.

Decisions only; who hunts runs what is asked for, and says what came of it. Each seed is run as the product is first:
one that never comes to the mutant's place would be the same run with it, and one that has the same amiss without it
proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
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

    said: Mapping[str, str]
    cpu_s: float
    reached: Mapping[str, int] | None = None
    """The mutants whose places the run came to, and how often what they edit was called; None where nobody took note
    of it."""
    trace: str = ""
    """The same when the run was the same."""


class Fate(StrEnum):
    """The fate of a mutant."""

    CAUGHT = "caught"
    UNREACHED = "unreached"
    """No seed came to its place."""
    NO_DIFFERENCE = "no difference"
    """Each run that came there was the same with it as without."""
    UNTOLD = "untold"
    """Some run was another one with it, and nobody told."""


@dataclass(slots=True)
class Hunt:
    """One mutant's way through the seeds. ``sound`` is what unchanged runs had amiss, by seed, known to all hunts."""

    mutant: str
    seeds: Iterator[int]
    sound: dict[int, Amiss]
    runs_max: int | None = None
    """With the mutant put in; None: as many as there are seeds."""
    tried: int = 0
    never_there: int = 0
    """Of these: seeds that never came to the mutant's place."""
    same: list[int] = field(default_factory=list)
    """Seeds that came there, and whose runs were the same with the mutant as without,"""
    other: list[int] = field(default_factory=list)
    """and those whose runs were not."""
    cpu_s: float = 0.0
    """With the mutant put in."""
    caught_by: dict[str, str] = field(default_factory=dict)
    caught_in: int | None = None
    """The seed."""
    passed_over: list[int] = field(default_factory=list)
    """Seeds that fail without the mutant as well."""
    _due: int | None = None
    """The seed that comes next."""

    def next_run(self) -> Run | None:
        """Returns what is to be run next; None when the hunt is over."""
        while not self.caught_by and (self.runs_max is None or self._runs < self.runs_max):
            self._due = next(self.seeds, None) if self._due is None else self._due
            if self._due is None:
                return None
            seed = self._due
            if seed not in self.sound:
                return Run("", seed)
            reached = self.sound[seed].reached
            if reached is None or self.mutant in reached:
                return Run(self.mutant, seed)
            self.tried += 1
            self.never_there += 1
            self._due = None
        return None

    def take(self, run: Run, amiss: Amiss) -> None:
        """Takes in what came of a run that was asked for."""
        if not run.mutant:
            self.sound[run.seed] = amiss
            return
        sound = self.sound[run.seed]
        self._due = None
        self.tried += 1
        self.cpu_s += amiss.cpu_s
        (self.same if amiss.trace and amiss.trace == sound.trace else self.other).append(run.seed)
        if not amiss.said:
            return
        self.caught_by = {checker: what for checker, what in amiss.said.items() if checker not in sound.said}
        if self.caught_by:
            self.caught_in = run.seed
        else:
            self.passed_over.append(run.seed)

    @property
    def fate(self) -> Fate:
        """The mutant's fate so far."""
        if self.caught_by:
            return Fate.CAUGHT
        if not self._runs:
            return Fate.UNREACHED
        return Fate.UNTOLD if self.other else Fate.NO_DIFFERENCE

    @property
    def _runs(self) -> int:
        return self.tried - self.never_there
