"""Moments: named points of a run at which something is about to happen, or has just happened, to one node.

A message of some kind is about to leave, or has left; it has come, and what it is for has been begun; a storage call is
about to commit, or has committed; somebody asks a master something, and is answered. Whoever listens hears of each in
the order of the run, which is the same whenever the run is, and may act on the spot: crash who is concerned, for one.
While nobody listens nothing is made, and nothing counted.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection
from typing import Any, Final, NamedTuple, Protocol

LEAVES: Final = "leaves"
"""A message is about to be written to its link: who dies now has not sent it."""
LEFT: Final = "left"
"""It was written, and is on its way."""
COMES: Final = "comes"
"""It has arrived; nobody has looked at it."""
CAME: Final = "came"
"""Whoever it is for has it, and has begun with what it asks for."""
COMMITS: Final = "commits"
"""A transaction is written, and is about to be made durable: who is killed now has not stored it; who loses its power
may have."""
COMMITTED: Final = "committed"
"""It is durable; nobody has been told, and the storage call may have other transactions before it."""
ASKED: Final = "asked"
"""A person is about to ask a master something."""
TOLD: Final = "told"
"""The person has the answer."""
FAILED: Final = "failed"
"""The person has no answer, or was refused what he asked for."""
PHASES: Final = (LEAVES, LEFT, COMES, CAME, COMMITS, COMMITTED, ASKED, TOLD, FAILED)


class Moment(NamedTuple):
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
    number: int
    """The number of moments of this kind and phase since somebody began to listen, this one included."""
    what: Any
    """The frame that leaves, the message that came, what was asked and answered, or the error in place of an answer."""
    end: Any = None
    """The end of the connection that a message goes over."""


Listener = Callable[[Moment], None]
_Of = tuple[str, str]
"""A kind and a phase."""


class DiskWitness(Protocol):
    """A witness, who is told what each transaction has stored."""

    def tap(self, node: str, connection: sqlite3.Connection, changes: list[tuple[Any, ...]]) -> bool:
        """Begins to listen at a connection without an open transaction; tells whether there is anything to hear."""

    def committed(self, node: str, changes: list[tuple[Any, ...]]) -> None:
        """Takes in what was committed."""

    def lost(self, node: str) -> None:
        """Takes in that nothing of what the disk had is to be read any more."""


class Now(Protocol):
    """The clock that moments are read from."""

    now: float


class Moments:
    """The moments of one world, and those who listen to them."""

    def __init__(self, clock: Now) -> None:
        self.listeners: list[Listener] = []
        """Those that hear of all,"""
        self.recorders: dict[str, dict[str, list[Listener]]] = {}
        """and those that only write down what happens of one kind and phase: they hear of it before the others act."""
        self.disks: DiskWitness | None = None
        """Who is told what each transaction has stored."""
        self._clock = clock
        self._counts: dict[_Of, int] = {}

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Calls the listener at each moment from now on, after those that listen already. Returns what ends that."""
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def record(self, recorder: Listener, of: Collection[_Of]) -> None:
        """Calls the recorder at each moment of these kinds and phases from now on. It is not to act."""
        for kind, phase in of:
            self.recorders.setdefault(kind, {}).setdefault(phase, []).append(recorder)

    def matters(self, kind: str) -> bool:
        """Tells whether anybody hears of moments of this kind."""
        return bool(self.listeners) or kind in self.recorders

    def happen(self, node: str, kind: str, phase: str, peer: str = "", what: Any = None, end: Any = None) -> None:
        """Tells all who hear of it of one moment."""
        if (recorders := self.recorders.get(kind)) is not None and phase in recorders:
            told = Moment(self._clock.now, node, kind, phase, peer, 0, what)
            for recorder in recorders[phase]:
                recorder(told)
        if not self.listeners:
            return
        count = self._counts[kind, phase] = self._counts.get((kind, phase), 0) + 1
        moment = Moment(self._clock.now, node, kind, phase, peer, count, what, end)
        for listener in tuple(self.listeners):
            listener(moment)
