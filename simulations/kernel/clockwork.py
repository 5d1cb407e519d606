"""An asyncio loop on virtual time, the same in every run.

Nothing is waited for: when no callback is ready, time jumps to the next timer. Callbacks run in the
order (moment, number), and every number is given in order, so the run is a function of its seed.
``trace`` sums up all that ran; two runs with the same trace did the same.
"""

from __future__ import annotations

import asyncio
import gc
import threading
from asyncio import Handle, TimerHandle, format_helpers
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from contextvars import Context, copy_context
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple, TypeVar, TypeVarTuple
from weakref import ref
from zlib import crc32

from .life import LIFE
from .tasks import SimFuture, SimTask, describe, pending

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

SAME_MOMENT_MAX = 2_000_000
_COLLECT_EVERY = 1_000_000
_CANCELLED_MIN = 200


class Deadlock(RuntimeError):
    """Raised when nothing is scheduled any more, and somebody still waits."""


class Livelock(RuntimeError):
    """Raised when so much happens in one moment that time seems to stand still."""


class OutOfTime(RuntimeError):
    """The virtual time that a run was given is over."""


class Mishap(NamedTuple):
    """An exception that nobody caught."""

    moment: float
    node: str
    message: str
    exception: BaseException | None


class SimHandle(Handle):
    """A handle as asyncio makes it, without what is for debugging: there are hundreds of thousands in a run."""

    __slots__ = ()

    def __init__(
        self, callback: Callable[..., object], args: tuple[Any, ...], loop: Clockwork, context: Context | None
    ) -> None:
        self._context = copy_context() if context is None else context
        self._loop = loop
        self._callback, self._args = callback, args
        self._cancelled = False
        self._repr = self._source_traceback = None


class SimTimerHandle(TimerHandle):
    """A handle of a timer, likewise."""

    __slots__ = ()

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: Clockwork,
        context: Context | None,
    ) -> None:
        self._context = copy_context() if context is None else context
        self._loop = loop
        self._callback, self._args = callback, args
        self._cancelled = False
        self._repr = self._source_traceback = None
        self._when = when
        self._scheduled = False


class Clockwork(asyncio.BaseEventLoop):
    """The loop without a network: sockets, names and threads are added by :class:`SimLoop`."""

    _closed = True
    """Until it is made: one whose making a signal cuts short has nothing to close."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        """Seconds since the world began, by no node's clock."""
        self.executed = 0
        self.mishaps: list[Mishap] = []
        self.ended = False
        """After the end, whatever is still called does nothing."""
        self.deadline: float | None = None
        self.tasks: list[ref[SimTask[Any]]] = []
        """Those that may be unfinished, oldest first."""
        self._ready: deque[Handle] = deque()
        self._timers: list[tuple[float, int, Handle]] = []
        self._cancelled = 0
        self._serial = 0
        self._trace = 0
        self._same_moment = 0
        self._collect_at = _COLLECT_EVERY
        self._thread = threading.get_ident()
        self._root = Context()

    @property
    def trace(self) -> str:
        """A hash over every callback, its moment and life, and every packet so far."""
        return f"{self._trace & 0xFFFF_FFFF_FFFF_FFFF:016x}"

    def witness(self, *facts: int | float) -> None:
        """Lets the trace depend on these numbers too."""
        self._trace = hash((self._trace, facts))

    def witness_bytes(self, data: bytes) -> None:
        """Lets the trace depend on these bytes."""
        self._trace = hash((self._trace, len(data), crc32(data)))

    def next_serial(self) -> int:
        self._serial += 1
        return self._serial

    # -- time

    def time(self) -> float:
        """Reads the monotonic clock of the running node; the world's for the scenario."""
        life = LIFE.get()
        return self.now if life is None else life.node.clock.local(self.now)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> TimerHandle:
        life = LIFE.get() if context is None else context.get(LIFE)
        timer = SimTimerHandle(when, callback, args, self, context)
        self._push(when if life is None else life.node.clock.world(when), timer)
        return timer

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> Handle:
        if threading.get_ident() != self._thread:
            raise RuntimeError(f"a thread called into the simulation: {callback!r}. Threads cannot be simulated")
        return self.call_soon(callback, *args, context=context)

    def call_soon(self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None) -> Handle:
        handle = SimHandle(callback, args, self, context)
        if not self.ended:
            self._ready.append(handle)
        return handle

    def soon_in(self, context: Context, callback: Callable[..., object], *args: Any) -> None:
        """Calls back in a node's context; queued while the node is paused, dropped when it is dead."""
        if not self.ended:
            self._ready.append(SimHandle(callback, args, self, context))

    def world_at(self, when: float, callback: Callable[..., object], *args: Any) -> Handle:
        """Calls back at a moment of the world, on behalf of no node: packets fly whoever sleeps."""
        handle = SimHandle(callback, args, self, self._root)
        self._push(when, handle)
        return handle

    def node_at(self, when: float, context: Context, callback: Callable[..., object], *args: Any) -> None:
        """Calls back in a node's context at a moment of the world."""
        self._push(when, SimHandle(callback, args, self, context))

    def requeue(self, handles: Iterable[Handle]) -> None:
        """Runs callbacks that were held back, in their order."""
        self._ready.extend(handles)

    def forget(self) -> None:
        """Drops all that was scheduled."""
        self._ready.clear()
        self._timers.clear()

    def _push(self, when: float, handle: Handle) -> None:
        if not self.ended:
            self._serial += 1
            heappush(self._timers, (when, self._serial, handle))

    # -- tasks

    def create_future(self) -> asyncio.Future[Any]:
        return SimFuture(self, self.next_serial())

    def create_task(
        self, coro: Any, *, name: object = None, context: Context | None = None, **options: Any
    ) -> asyncio.Task[Any]:
        if self.ended:
            coro.close()
            raise RuntimeError("the world has ended")
        return SimTask(coro, loop=self, name=None if name is None else str(name), context=context, **options)

    # -- running

    def run_for(self, main: Coroutine[Any, Any, T], limit_s: float | None = None) -> T:
        """Runs until ``main`` is done. Raises OutOfTime after ``limit_s`` virtual seconds."""
        self.deadline = None if limit_s is None else self.now + limit_s
        try:
            return self.run_until_complete(main)
        finally:
            self.deadline = None

    def _run_once(self) -> None:
        ready = self._ready
        if ready:
            self._same_moment += len(ready)
            if self._same_moment > SAME_MOMENT_MAX:
                raise Livelock(f"{self._same_moment} callbacks at {self.now:.6f} s; next is {ready[0]!r}")
        elif not self._stop_asked():
            self._advance()
        handle: Any
        now = self.now
        for _ in range(len(ready)):
            handle = ready.popleft()
            if handle._cancelled:
                continue
            life = handle._context.get(LIFE)
            self.executed += 1
            if life is None:
                self._trace = hash((self._trace, now, self._serial))
            elif life.halted:
                life.hold(handle)
                continue
            else:
                self._trace = hash((self._trace, now, self._serial, life.number))
            try:
                handle._context.run(handle._callback, *handle._args)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                self.call_exception_handler({"message": f"Exception in callback {_told(handle)}", "exception": error})
        handle = None  # A traceback may keep this frame, and the frame the task.
        if self.executed >= self._collect_at:
            self._collect()

    def _advance(self) -> None:
        """Jumps to the next moment at which something is due."""
        timers, ready = self._timers, self._ready
        if self._cancelled > _CANCELLED_MIN and self._cancelled * 2 > len(timers):
            timers[:] = [entry for entry in timers if not entry[2].cancelled()]
            heapify(timers)
            self._cancelled = 0
        while timers and timers[0][2]._cancelled:
            heappop(timers)
        if not timers:
            raise Deadlock(f"nothing is scheduled at {self.now:.6f} s, and these tasks wait:\n{self.waiting()}")
        when = timers[0][0]
        if self.deadline is not None and when > self.deadline:
            self.now = max(self.now, self.deadline)
            raise OutOfTime(f"the time limit of the run ended at {self.now:.6f} s; these tasks wait:\n{self.waiting()}")
        if when > self.now:
            self.now = when
            self._same_moment = 0
        while timers and timers[0][0] <= when:
            ready.append(heappop(timers)[2])

    def waiting(self) -> str:
        """Lists all waiting tasks of living nodes, one per line."""
        return describe(pending(self))

    def _stop_asked(self) -> bool:
        return bool(self._stopping)  # type: ignore[attr-defined]

    def _timer_handle_cancelled(self, handle: TimerHandle) -> None:
        self._cancelled += 1

    def _collect(self) -> None:
        """Collects garbage now and then, always after the same number of callbacks, and never a task."""
        self._collect_at = self.executed + _COLLECT_EVERY
        tasks = pending(self)
        gc.collect()
        del tasks

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Remembers what went wrong; a checker may want none of it."""
        life = LIFE.get()
        name = "scenario" if life is None else life.node.name
        exception = context.get("exception")
        self.mishaps.append(Mishap(self.now, name, str(context.get("message", "")), exception))

    # BaseEventLoop asks for these two.

    def _write_to_self(self) -> None:
        pass

    def _process_events(self, event_list: list[Any]) -> None:
        pass


def _told(handle: Any) -> str:
    """Writes a handle's callback."""
    return str(format_helpers._format_callback_source(handle._callback, handle._args))
