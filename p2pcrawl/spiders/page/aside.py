"""Computing on a large answer in a thread, so that the rest of the slave has its turns meanwhile.

It keeps the limit of :mod:`p2pcrawl.spiders.page.limit`: whoever waits looks at what the thread has computed, and lets
TooSlow be raised in it.
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from p2pcrawl.model.errors import TooSlow
from p2pcrawl.spiders.page.limit import TICK_S

T = TypeVar("T")


async def aside(call: Callable[[], T], limit_s: float) -> T:
    """Returns what ``call`` returns, computed in a thread. Raises TooSlow when that takes more than ``limit_s`` of the
    processor; 0: any.
    """
    piece = _Piece(call)
    running: asyncio.Future[T] = asyncio.ensure_future(asyncio.to_thread(piece.run))
    try:
        while not (await asyncio.wait((running,), timeout=TICK_S))[0]:
            if limit_s and piece.used_s() > limit_s:
                piece.interrupt()
        return running.result()
    except TooSlow:
        raise TooSlow(f"more than {limit_s:g} s of computing on one answer") from None
    finally:
        piece.interrupt()


class _Piece(Generic[T]):
    """One call in a thread."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._lock = threading.Lock()
        self._thread = 0
        self._clock = self._began_s = 0.0

    def run(self) -> T:
        with self._lock:
            self._thread, self._began_s = threading.get_ident(), time.thread_time()
        try:
            return self._call()
        finally:
            with self._lock:
                self._thread = 0

    def used_s(self) -> float:
        """Returns how much of the processor it has used so far."""
        with self._lock:
            if not self._thread:
                return 0.0
            return time.clock_gettime(time.pthread_getcpuclockid(self._thread)) - self._began_s

    def interrupt(self) -> None:
        """Lets TooSlow be raised in the thread, if it is still at it."""
        with self._lock:
            if self._thread:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread), ctypes.py_object(TooSlow))
