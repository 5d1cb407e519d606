"""Reach: which mutants' places a run came to.

A run that did not come to a mutant's place is the same with it: it need not be made. That is so for two in five of all
runs, and a mutant that no seed comes to says what the swarm never does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ..making.mutant import Mutant
from ..making.places import place_of


class Reach:
    """Notes the lines that a run comes to, in the functions that these mutants edit, and in no others."""

    def __init__(self, mutants: Iterable[Mutant]) -> None:
        self._places = {mutant.name: place_of(mutant) for mutant in mutants}
        # By what they are, for code hashes by all that is in it.
        self._watched = {id(code) for place in self._places.values() for code in place.codes}
        self._lines: set[tuple[str, int]] = set()

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Notes the lines that the block comes to. It takes twice the time, and does the same."""
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(None)

    @property
    def reached(self) -> frozenset[str]:
        """The names of the mutants that would have had a say."""
        return frozenset(
            name
            for name, place in self._places.items()
            if any((place.file, line) in self._lines for line in range(place.first, place.last + 1))
        )

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if id(code) not in self._watched:
            return None
        self._lines.add((code.co_filename, code.co_firstlineno))
        return self._went_on

    def _went_on(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self._lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._went_on
