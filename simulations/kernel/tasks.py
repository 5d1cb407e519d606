"""Tasks and futures whose order in a set is the same in every process, and words for what they wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from contextvars import Context
from typing import Any, Protocol, TypeVar
from weakref import ref

from .life import LIFE, Life

T = TypeVar("T")


class TaskLoop(Protocol):
    """A loop that knows its tasks."""

    tasks: list[ref[SimTask[Any]]]
    """Those that may be unfinished, oldest first."""


class SimFuture(asyncio.Future[T]):
    """A future that hashes by its number, not by where it lies in memory."""

    def __init__(self, loop: asyncio.AbstractEventLoop, serial: int) -> None:
        self.serial = serial
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self.serial


class SimTask(asyncio.Task[T]):
    """A task that hashes by its number and knows its life."""

    def __init__(
        self,
        coro: Coroutine[Any, Any, T],
        *,
        loop: asyncio.AbstractEventLoop | None = None,
        name: str | None = None,
        context: Context | None = None,
        **options: Any,
    ) -> None:
        # Before the base class, which puts the task into a set. Code that makes tasks without the loop's
        # create_task comes here too, on whatever loop.
        loop = loop or asyncio.get_running_loop()
        next_serial = getattr(loop, "next_serial", None)
        self.serial: int = id(self) if next_serial is None else next_serial()
        self.life: Life | None = LIFE.get() if context is None else context.get(LIFE)
        super().__init__(coro, loop=loop, name=name or f"task-{self.serial}", context=context, **options)
        if (tasks := getattr(loop, "tasks", None)) is not None:
            tasks.append(ref(self))

    def __hash__(self) -> int:
        return self.serial


def pending(loop: TaskLoop) -> list[SimTask[Any]]:
    """Returns all unfinished tasks of a loop, oldest first."""
    found = [task for each in loop.tasks if (task := each()) is not None and not task.done()]
    loop.tasks[:] = map(ref, found)
    return found


def describe(tasks: Iterable[SimTask[Any]], limit: int = 50) -> str:
    """Writes one line for each task of a living node: who waits, and where in its code."""
    lines = []
    for task in tasks:
        life = task.life
        if life is not None and life.dead:
            continue
        who = "scenario" if life is None else life.node.name
        paused = " (paused)" if life is not None and life.halted else ""
        lines.append(f"  {who}{paused}: {task.get_name()} {_place(task)}")
    if len(lines) > limit:
        lines[limit:] = [f"  ... and {len(lines) - limit} more"]
    return "\n".join(lines) or "  (none)"


def _place(task: SimTask[Any]) -> str:
    """Returns the chain of awaits, outermost first, and the line at its end."""
    names: list[str] = []
    where = "not started"
    step: Any = task.get_coro()
    while step is not None:
        frame = getattr(step, "cr_frame", None) or getattr(step, "gi_frame", None) or getattr(step, "ag_frame", None)
        if frame is None:
            break
        names.append(getattr(step, "__qualname__", type(step).__name__))
        where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        step = getattr(step, "cr_await", None) or getattr(step, "gi_yieldfrom", None) or getattr(step, "ag_await", None)
    return f"in {' > '.join(names)} at {where}"
