"""Moments: named points of a run at which something is about to happen, or has just happened, to one node.

A message of some kind is about to leave, or has left; it has come, and what it is for has been begun; a storage call is
about to commit, or has committed; somebody asks a master something, and is answered. Whoever listens hears of each in
the order of the run, which is the same whenever the run is, and may act on the spot: crash who is concerned, for one.
While nobody listens nothing is made, and nothing counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

LEAVES: Final = "leaves"
"""A message is about to be written to its link: who dies now has not sent it."""
LEFT: Final = "left"
"""It was written, and is on its way."""
COMES: Final = "comes"
"""It has arrived; nobody has looked at it."""
CAME: Final = "came"
"""Whoever it is for has it, and has begun with what it asks for."""
COMMITS: Final = "commits"
"""A transaction is written, and is about to be made durable: who dies now has not stored it."""
COMMITTED: Final = "committed"
"""It is durable; nobody has been told, and the storage call may have other transactions before it."""
ASKED: Final = "asked"
"""A person is about to ask a master something."""
TOLD: Final = "told"
"""The person has the answer."""
PHASES: Final = (LEAVES, LEFT, COMES, CAME, COMMITS, COMMITTED, ASKED, TOLD)


@dataclass(frozen=True, slots=True)
class Moment:
    """One point of a run."""

    at: float
    """Seconds since the world began."""
    node: str
    """Whose code runs."""
    kind: str
    """The message's type, the method that writes into a store, or the verb."""
    phase: str
    """One of PHASES."""
    peer: str
    """Who is at the other end of the link; "" where there is none."""
    count: int
    """The number of moments of this kind and phase since somebody began to listen, this one included."""
    what: Any
    """The frame that leaves, the message that came, or what was asked and answered."""


Listener = Callable[[Moment], None]


class Now(Protocol):
    """The clock that moments are read from."""

    now: float


class Moments:
    """The moments of one world, and those who listen to them."""

    def __init__(self, clock: Now) -> None:
        self.listeners: list[Listener] = []
        self._clock = clock
        self._counts: dict[tuple[str, str], int] = {}

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Calls the listener at each moment from now on, after those that listen already. Returns what ends that."""
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def happen(self, node: str, kind: str, phase: str, peer: str = "", what: Any = None) -> None:
        """Tells all who listen of one moment."""
        if not self.listeners:
            return
        count = self._counts[kind, phase] = self._counts.get((kind, phase), 0) + 1
        moment = Moment(self._clock.now, node, kind, phase, peer, count, what)
        for listener in tuple(self.listeners):
            listener(moment)
