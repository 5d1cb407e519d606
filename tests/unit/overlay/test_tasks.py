"""Tasks that belong to one object."""

from __future__ import annotations

import asyncio

import pytest

from p2pcrawl.overlay.tasks import Tasks, end, to_its_end


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


async def test_work_that_is_done_to_its_end_is_not_cut_in_half_by_cancellations() -> None:
    go_on, done = asyncio.Event(), list[str]()

    async def work() -> None:
        await go_on.wait()
        done.append("stored")

    doing = asyncio.ensure_future(to_its_end(work()))
    for _ in range(2):
        await asyncio.sleep(0)
        doing.cancel()
    await asyncio.sleep(0)
    before = doing.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await doing

    assert (before, done) == (False, ["stored"])


async def test_what_comes_of_work_that_is_done_to_its_end_is_returned_and_raised() -> None:
    async def answer() -> int:
        return 3

    assert await to_its_end(answer()) == 3
    with pytest.raises(ValueError, match="by itself"):
        await to_its_end(fail())
