"""A limit on what the library itself computes on one answer: decoding, parsing, selecting, looking for links.

Known ways to make a parser take for ever are met where they are known; this is for the others. In a slave process every
piece of such work is marked while it lasts. A clock that counts what the process computes, not what time it is, looks
at the mark four times a second of it; when it has found the same piece often enough, the piece raises TooSlow where it
is, and only that page fails. Where code in C does not come back to be interrupted, the parent of the process sees the
mark (``wire.desk``), ends the process, and names the page, so that nothing else is blamed.

What a callback computes is its own affair: only calls into the library count, each by itself.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from threading import get_ident
from types import FrameType, TracebackType
from typing import ParamSpec, TypeVar

from p2pcrawl.model.errors import TooSlow
from p2pcrawl.wire.messages.desk import Desk

TICK_S = 0.25
HARD_FACTOR = 1.5
"""How much longer the parent waits than the process itself."""

P = ParamSpec("P")
T = TypeVar("T")

_lease: ContextVar[int] = ContextVar("lease", default=0)


class Work:
    """The mark of a process. It does nothing before :meth:`watch`."""

    def __init__(self) -> None:
        self.thread = 0
        """The only one whose work is watched."""
        self._desk: Desk | None = None
        self._limit_s = 0.0
        self._depth = self._piece = 0
        self._seen, self._ticks = 0, 0

    def watch(self, desk: Desk | None) -> None:
        """Watches the work from now on, in this thread, which has to be the main one."""
        self.thread, self._desk = get_ident(), desk
        signal.signal(signal.SIGPROF, self._tick)
        signal.siginterrupt(signal.SIGPROF, False)
        signal.setitimer(signal.ITIMER_PROF, TICK_S, TICK_S)

    def allow(self, limit_s: float) -> None:
        """Allows a piece of work so much, or what was allowed before if that is more."""
        self._limit_s = max(self._limit_s, limit_s)
        if self._desk is not None:
            self._desk.allow(self._limit_s * HARD_FACTOR)

    @property
    def limit_s(self) -> float:
        """The seconds that a piece of work may compute; 0: any."""
        return self._limit_s

    def begin(self, lease: int) -> None:
        """Counts what this task does from now on for the answer of this lease."""
        _lease.set(lease)
        self._depth = 0

    def __enter__(self) -> None:
        if not self._depth:
            self._piece += 1
            if self._desk is not None:
                self._desk.begin(self._piece, _lease.get())
        self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if not self._depth and self._desk is not None:
            self._desk.end()

    def _tick(self, number: int, frame: FrameType | None) -> None:
        if not self._depth or not self._limit_s:
            self._seen = 0
        elif self._piece != self._seen:
            self._seen, self._ticks = self._piece, 0
        else:
            self._ticks += 1
            if self._ticks * TICK_S >= self._limit_s:
                raise TooSlow(f"more than {self._limit_s:g} s of computing on one answer")


work = Work()


def limited(call: Callable[P, T]) -> Callable[P, T]:
    """Marks what a call does as the library's own work. Raises TooSlow when it takes too long."""

    @wraps(call)
    def limited_call(*arguments: P.args, **named: P.kwargs) -> T:
        if get_ident() != work.thread:
            return call(*arguments, **named)
        with work:
            return call(*arguments, **named)

    return limited_call
