"""Reach: which mutants' places a run came to, and how often.

A run that did not come to a mutant's place is the same with it: it need not be made. That is so for two in five of all
runs, and a mutant that no seed comes to says what the swarm never does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ...reached.traced_lines import TracedLines
from ..making.mutant import Mutant
from ..making.places import place_of


class Reach:
    """Notes the lines that a run comes to, in the functions that these mutants edit, and in no others."""

    def __init__(self, mutants: Iterable[Mutant]) -> None:
        self._places = {mutant.name: place_of(mutant) for mutant in mutants}
        watched = {id(code) for place in self._places.values() for code in place.codes}
        self._traced = TracedLines(lambda code: id(code) in watched)
        self._lines: set[tuple[str, int]] = set()

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Notes the lines that the block comes to. It takes up to twice the time, and does the same."""
        with self._traced.noted():
            yield
        self._lines |= self._traced.take()

    @property
    def reached(self) -> dict[str, int]:
        """The mutants that would have had a say, by name, and how often what they edit was called."""
        return {
            name: max(1, sum(map(self._traced.calls_of, place.codes)))
            for name, place in self._places.items()
            if any((place.file, line) in self._lines for line in range(place.first, place.last + 1))
        }
