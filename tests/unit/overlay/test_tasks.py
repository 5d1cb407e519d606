"""Tasks that belong to one object."""

from __future__ import annotations

import asyncio

import pytest

from p2pcrawl.overlay.tasks import Tasks, end


async def for_ever() -> None:
    await asyncio.Event().wait()


async def fail() -> None:
    raise ValueError("by itself")


async def test_task_is_kept_until_it_is_done() -> None:
    tasks, go_on = Tasks(), asyncio.Event()

    task = tasks.start(go_on.wait())
    running = len(tasks)
    go_on.set()
    result = await task
    await asyncio.sleep(0)

    assert (running, len(tasks), result) == (1, 0, True)


async def test_task_that_fails_ends_no_other() -> None:
    tasks = Tasks()
    other = tasks.start(for_ever())

    with pytest.raises(ValueError, match="by itself"):
        await tasks.start(fail())

    assert not other.done()
    await tasks.close()


async def test_closing_returns_when_all_have_ended() -> None:
    tasks, undone = Tasks(), []

    async def work() -> None:
        try:
            await for_ever()
        finally:
            await asyncio.sleep(0)
            undone.append(True)

    for _ in range(3):
        tasks.start(work())
    await asyncio.sleep(0)

    await tasks.close()

    assert undone == [True] * 3
    assert not list(tasks)


async def test_how_tasks_end_is_not_told_to_whoever_ends_them() -> None:
    failed = asyncio.create_task(fail())
    await asyncio.sleep(0)

    await end([failed, asyncio.create_task(for_ever())])

    assert failed.done()
