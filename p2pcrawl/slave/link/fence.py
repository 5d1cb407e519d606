"""The fence: after it, nothing of a session reaches a host any more.

A session goes on for so long from the *sending* of the last Beat that its master answered. The master counts from its
answer, which is later, and longer by twice the drift of clocks; so when it takes a session for over, here it has been
over for some time, whoever of the two stood still. What is over stays over, even if an answer comes after all.

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
from math import inf
from time import monotonic
from types import coroutine
from typing import Any, TypeVar

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
        self._length_s = length_s
        self._on_passed = on_passed
        self._until = begun_at + length_s if length_s else inf
        self._lock = threading.Lock()
        """No renewal between a look at the end and the closing: what is over stays over."""
        self._sent: dict[int, float] = {}
        self._open: dict[asyncio.Task[Any], bool] = {}
        """Tasks with something guarded, and whether they were told to give it up."""
        self._timer = self._loop.call_later(self._until - monotonic(), self._look) if length_s else None

    @property
    def passed(self) -> bool:
        # Not the loop's time, which stands still while a callback runs.
        return monotonic() >= self._until

    def sent(self, beat: int) -> None:
        """Notes that this Beat is about to be sent."""
        self._sent[beat] = monotonic()

    def renewed(self, beat: int) -> None:
        """Puts the fence off: the master has answered this Beat."""
        sent_at = self._sent.get(beat)
        if sent_at is None:
            return
        self._sent = {number: at for number, at in self._sent.items() if number > beat}
        with self._lock:
            if not self.passed:
                self._until = max(self._until, sent_at + self._length_s)

    def close(self) -> None:
        """Ends the session. What is guarded ends with SessionExpired."""
        with self._lock:
            self._until = -inf
        if self._timer is not None:
            self._timer.cancel()
        for task in self._open:
            self._open[task] = True
            task.cancel()

    def guard(self, work: Coroutine[Any, Any, T]) -> Awaitable[T]:
        """Runs work as far as it gets. Raises SessionExpired when the session is over, and leaves nothing open then."""
        return self._steps(work) if self._length_s else work

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
            self._timer = self._loop.call_later(self._until - monotonic(), self._look)
