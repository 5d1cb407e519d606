"""The fence: after it, nothing of a session reaches a host any more.

When that is by the clock, :class:`~p2pcrawl.core.group.fence_term.FenceTerm` says.

Open requests are cancelled when the time comes. That alone is not enough: a loop that a callback held up for long has
requests which are ready to go on before any timer is looked at. So each step of what is guarded looks at the clock
first. A process that is suspended between that look and what the step sends is not covered.

Beats and their answers may be a thread's business (``slave.post``): ``sent`` and ``renewed`` belong to it, all else to
the loop. A renewal moves the end only, and only if the fence has neither passed nor been closed by then; so a loop that
was held up finds the session as its master has it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from time import monotonic
from types import coroutine
from typing import Any, TypeVar

from p2pcrawl.core.group.fence_term import FenceTerm

T = TypeVar("T")


class SessionExpired(Exception):
    """The session ended before what was guarded did."""


class _Passed(asyncio.CancelledError):
    """Ends what is guarded, and is known from cancellations of its own."""


class Fence:
    """Of one session. ``length_s`` 0: it never passes by itself, and does not guard anything."""

    def __init__(self, length_s: float, begun_at: float, on_passed: Callable[[], None]) -> None:
        """``begun_at``: when the Hello was sent that the master answered."""
        self._loop = asyncio.get_running_loop()
        self._on_passed = on_passed
        self._term = FenceTerm.begun(length_s, begun_at)
        self._lock = threading.Lock()
        """No renewal between a look at the end and the closing: what is over stays over."""
        self._open: dict[asyncio.Task[Any], bool] = {}
        """Tasks with something guarded, and whether they were told to give it up."""
        self._timer = self._loop.call_later(self._term.until - monotonic(), self._look) if length_s else None

    @property
    def passed(self) -> bool:
        # Not the loop's time, which stands still while a callback runs.
        return self._term.passed(monotonic())

    def sent(self, beat: int) -> None:
        """Notes that this Beat is about to be sent."""
        self._term.send(beat, monotonic())

    def renewed(self, beat: int) -> None:
        """Puts the fence off: the master has answered this Beat."""
        with self._lock:
            self._term.renew(beat, monotonic())

    def close(self) -> None:
        """Ends the session. What is guarded ends with SessionExpired."""
        with self._lock:
            self._term.close()
        if self._timer is not None:
            self._timer.cancel()
        for task in self._open:
            self._open[task] = True
            task.cancel()

    def guard(self, work: Coroutine[Any, Any, T]) -> Awaitable[T]:
        """Runs work as far as it gets. Raises SessionExpired when the session is over, and leaves nothing open then."""
        return self._steps(work) if self._term.length_s else work

    @coroutine
    def _steps(self, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = False
        given_up = False
        value: Any = None
        error: BaseException | None = None
        try:
            while True:
                if self.passed:
                    given_up, error = True, _Passed()
                awaited = work.throw(error) if error is not None else work.send(value)
                value = error = None
                try:
                    value = yield awaited
                except BaseException as raised:
                    error = raised
        except StopIteration as end:
            result: T = end.value
            return result
        except BaseException as raised:
            if given_up:
                raise SessionExpired from raised
            raise
        finally:
            if self._open.pop(task) and task.uncancel():
                # Whoever else cancelled it meant more than this work.
                raise asyncio.CancelledError

    def _look(self) -> None:
        if self.passed:
            self._on_passed()
        else:
            self._timer = self._loop.call_later(self._term.until - monotonic(), self._look)
