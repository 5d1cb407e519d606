"""A life: one run of one process on a node, from its start to its end.

Code belongs to a life through a context variable, which tasks, timers and callbacks inherit. Ending a
life is therefore one flag: the loop skips whatever belongs to it, at once, in the middle of anything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from math import inf, nextafter
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .connections import End
    from .node import Node


class Closing(Protocol):
    """A thing that ends with the process that opened it, as the system sees to it: files, locks, connections."""

    def close(self) -> object: ...


class NodeDown(Exception):
    """The node that should have run this is down, or went down while it ran."""


class Clock:
    """A node's own clocks. The monotonic one may run fast or slow; the wall clock may also be wrong."""

    def __init__(self) -> None:
        self._rate = 1.0
        self._since = 0.0
        self._read = 0.0
        self.wall_error_s = 0.0
        self.slow = False
        """The monotonic one counts fewer seconds than there are, and the one on the wall is right all the same."""

    @property
    def rate(self) -> float:
        """Seconds that this clock counts in one second of the world."""
        return self._rate

    def run_at(self, rate: float, now: float) -> None:
        """Runs faster or slower from now on, without a jump. Timers that are already set keep their moment."""
        if rate <= 0:
            raise ValueError("a clock's rate must be above 0")
        self._read = self.local(now)
        self._since = now
        self._rate = rate

    def local(self, now: float) -> float:
        """Returns what this clock shows at a moment of the world."""
        if self._rate == 1.0 and self._read == self._since:
            return now
        return self._read + (now - self._since) * self._rate

    def wall(self, now: float) -> float:
        """Returns what the clock on the wall shows, in seconds since the world began."""
        return (now if self.slow else self.local(now)) + self.wall_error_s

    def world(self, local: float) -> float:
        """Returns the first moment of the world at which this clock shows ``local``, or more by a rounding."""
        if self._rate == 1.0 and self._read == self._since:
            return local
        moment = self._since + (local - self._read) / self._rate
        while self.local(moment) < local:
            # A timer that comes too early by a rounding would be set again, and again, without time going on.
            moment = nextafter(moment, inf)
        return moment


class Life:
    """One run of one process on a node, with all that ends with it."""

    __slots__ = ("context", "dead", "ends", "halted", "held", "node", "number", "opened", "queue", "random", "waiting")

    def __init__(self, node: Node, number: int, random: Random) -> None:
        self.node = node
        self.number = number
        """Unique in its world, in order of birth."""
        self.random = random
        self.dead = False
        self.halted = False
        """Dead or paused: the loop looks at nothing else before it runs a callback."""
        self.queue: list[asyncio.Handle] = []
        """Callbacks that came due during a pause."""
        self.held: list[Any] = []
        """What a dead life had in hand. Letting go of a coroutine would run its ``finally`` blocks."""
        self.ends: list[End] = []
        """The connections that it had when it died."""
        self.opened: list[Closing] = []
        """What closes when it dies; a database without its open transaction."""
        self.waiting: dict[int, asyncio.Future[Any]] = {}
        """Futures of the scenario that wait for something in this life."""
        self.context = Context()
        self.context.run(LIFE.set, self)

    def __repr__(self) -> str:
        return f"<Life {self.number} of {self.node.name}>"

    def hold(self, handle: asyncio.Handle) -> None:
        """Keeps a callback that may not run now: for later if paused, for good if dead."""
        (self.held if self.dead else self.queue).append(handle)

    def silence(self) -> None:
        """Lets its transports count as closed, so that nobody warns of them."""
        for end in self.ends:
            if end.reader is not None:
                end.reader.silence()


LIFE: ContextVar[Life | None] = ContextVar("life", default=None)
"""The life that the running code belongs to; None for the scenario and the world itself."""


def current_life() -> Life:
    """Returns the life of the calling code. Raises RuntimeError in code that belongs to no node."""
    life = LIFE.get()
    if life is None:
        raise RuntimeError("only code of a node has a network: run this with node.start(...) or node.call(...)")
    return life


@contextmanager
def outside() -> Iterator[None]:
    """Acts as the world itself for the block, whichever node is running."""
    token = LIFE.set(None)
    try:
        yield
    finally:
        LIFE.reset(token)
