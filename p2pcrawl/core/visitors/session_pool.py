"""The pool of sessions: cookies, user agent and proxy that belong together, as one visitor to a host.

Here a session is a name only; cookies, user agents and proxies go by it. One that a host keeps out, or that has been
used often enough, ends, and another one takes its place, under a name that nobody had.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

OURS: Final = "pool "
"""Begins the names of sessions of the pool."""


@dataclass(slots=True)
class _PooledSession:
    """A place in the pool: the session that has it now is told by ``number`` and ``generation``."""

    number: int
    generation: int = 0
    uses: int = 0

    @property
    def name(self) -> str:
        return f"{OURS}{self.number}.{self.generation}"


class SessionPool:
    """``size`` sessions; ``uses_max``: of one, 0: any number; ``draw``: draws a number below another one."""

    def __init__(self, size: int, uses_max: int, draw: Callable[[int], int]) -> None:
        self._places = [_PooledSession(number) for number in range(size)]
        self._uses_max = uses_max
        self._draw = draw

    def take(self) -> str:
        """Returns the name of a session, which is used once more."""
        place = self._places[self._draw(len(self._places))]
        if self._uses_max and place.uses >= self._uses_max:
            self._replace(place)
        place.uses += 1
        return place.name

    def end(self, name: str) -> None:
        """Ends a session, if it is of the pool and has not ended."""
        number, _, generation = name.removeprefix(OURS).partition(".")
        if name.startswith(OURS) and number.isdigit() and int(number) < len(self._places):
            place = self._places[int(number)]
            if generation == str(place.generation):
                self._replace(place)

    def _replace(self, place: _PooledSession) -> None:
        place.generation += 1
        place.uses = 0
