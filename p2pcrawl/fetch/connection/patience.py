"""Limits of time that a fetch is not blamed for when it was the loop that stood still.

A callback that blocks holds up all that its slave has open: answers lie there and are not read. When the loop goes on,
every limit that is over by then is given as much longer as the loop has stood still since it was set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import Self

TICK_S = 0.25
LATE_S = 0.1
"""Loops that are merely busy are late by less."""


class Standstill:
    """Measures how long its loop has stood still altogether. :meth:`start` it on that loop."""

    def __init__(self) -> None:
        self._total_s = 0.0
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._due = monotonic() + TICK_S
        self._timer = asyncio.get_running_loop().call_later(TICK_S, self._tick)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def total_s(self) -> float:
        """Rather too much than too little. Counts what ended just now, too, whichever timer is looked at first."""
        if self._timer is None:
            return self._total_s
        late_s = monotonic() - self._due
        return self._total_s + TICK_S + late_s if late_s > LATE_S else self._total_s

    def _tick(self) -> None:
        self._total_s = self.total_s
        self.start()


class Limit:
    """Calls ``give_up`` after so many seconds in which the loop did not stand still, unless cancelled before."""

    def __init__(self, clock: Standstill, seconds: float, give_up: Callable[[], object]) -> None:
        self._clock = clock
        self._stood_s = clock.total_s
        self._give_up = give_up
        self._begin(seconds)

    def cancel(self) -> None:
        self._timer.cancel()

    def _begin(self, seconds: float) -> None:
        self._over_at = monotonic() + seconds
        self._timer = asyncio.get_running_loop().call_later(seconds, self._due)

    def _due(self) -> None:
        before_s, self._stood_s = self._stood_s, self._clock.total_s
        # A short standstill may have fallen between two ticks.
        owed_s = max(self._stood_s - before_s, monotonic() - self._over_at)
        if owed_s > LATE_S:
            self._begin(owed_s)
        else:
            self._give_up()


class Patience:
    """A block that raises TimeoutError when it takes longer than that, not counting standstills."""

    __slots__ = ("_cancelling", "_clock", "_limit", "_over", "_seconds", "_task")

    def __init__(self, clock: Standstill, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._over = False

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()
        self._limit = Limit(self._clock, self._seconds, self._expire)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._limit.cancel()
        if self._over and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def _expire(self) -> None:
        self._over = True
        self._task.cancel()
