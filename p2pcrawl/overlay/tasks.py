"""Tasks that belong to one object: begun whenever there is something to do, and ended with the object.

``asyncio.TaskGroup`` is for something else. It is a block that waits for all of its tasks, one that fails ends the
others, and nobody outside the block can end them; here each task stands for itself, says itself what went wrong, and
ends when its owner closes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


class Tasks:
    """The tasks of one object that are not done yet. A task that nobody else holds might be collected while it runs."""

    def __init__(self) -> None:
        self._running: dict[asyncio.Task[Any], None] = {}

    def __len__(self) -> int:
        return len(self._running)

    def __iter__(self) -> Iterator[asyncio.Task[Any]]:
        return iter(list(self._running))

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begins a task, which is kept until it is done."""
        task = asyncio.create_task(work)
        self._running[task] = None
        task.add_done_callback(self._running.pop)
        return task

    async def close(self) -> None:
        """Ends those that are not done, and returns when they are."""
        await end(self._running)


async def end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancels tasks, and returns when all are done; how they ended is nobody's concern any more."""
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)


async def to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Returns what comes of this work. A cancellation waits until it is done: what it stores, and what memory has of
    that, are never one without the other.
    """
    doing = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not doing.done():
        try:
            await asyncio.wait([doing])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        # How it ended is nobody's concern any more.
        doing.cancelled() or doing.exception()
        raise cancelled
    return doing.result()
