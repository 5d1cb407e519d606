"""The interruption of a crawl: Ctrl-C and SIGTERM drain it, and a second time stop it at once."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol, Self

PATIENCE_S: Final = 60.0
"""How long pages in hand may take to end once the crawl was told to stop: as long as one may take to be fetched. What
is given up then is fetched again when the crawl goes on."""


class Stoppable(Protocol):
    """A crawl, as whoever interrupts it sees it."""

    @property
    def draining(self) -> bool: ...
    def stop(self) -> None: ...
    def abort(self) -> None: ...


class interruptible:
    """Ctrl-C and SIGTERM: once drains, twice stops at once, as does once after ``PATIENCE_S``: a callback that yields
    for ever must not keep a service from being stopped. ``told`` is called each time, with 1 or 2.
    """

    def __init__(self, crawler: Stoppable, told: Callable[[int], None] | None = None) -> None:
        self._crawler = crawler
        self._told = told
        self._times = 0
        self._loop = asyncio.get_running_loop()
        self._set: list[int] = []
        self._alarm: asyncio.TimerHandle | None = None
        self.by = signal.SIGINT
        """The first signal that came."""

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError, ValueError, RuntimeError):
                self._loop.add_signal_handler(number, self._interrupt, number)
                self._set.append(number)
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._set:
            self._loop.remove_signal_handler(number)
        if self._alarm is not None:
            self._alarm.cancel()

    def _interrupt(self, number: signal.Signals) -> None:
        self._times += 1
        self.by = number if self._times == 1 else self.by
        again = self._times > 1 or self._crawler.draining
        if self._told is not None:
            self._told(2 if again else 1)
        if again:
            self._crawler.abort()
        else:
            self._crawler.stop()
            self._alarm = self._loop.call_later(PATIENCE_S, self._interrupt, number)
