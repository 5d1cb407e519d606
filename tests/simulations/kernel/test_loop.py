"""Virtual time: asyncio as it is, without waiting."""

from __future__ import annotations

import asyncio
import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from simulations.kernel.clockwork import Deadlock, Livelock, OutOfTime
from simulations.kernel.node import Node
from simulations.kernel.paths import Hesitation
from simulations.world.world import World


def test_a_year_of_sleep_passes_at_once() -> None:
    async def scenario() -> float:
        await asyncio.sleep(365 * 86_400)
        return asyncio.get_running_loop().time()

    with World() as world:
        assert world.run(scenario()) == 365 * 86_400


def test_timers_of_the_same_moment_run_in_the_order_they_were_set() -> None:
    seen: list[int] = []

    async def scenario() -> None:
        for number in range(100):
            asyncio.get_running_loop().call_at(5.0, seen.append, number)
        await asyncio.sleep(6)

    with World() as world:
        world.run(scenario())

    assert seen == list(range(100))


def test_timeouts_task_groups_locks_queues_and_gather_work() -> None:
    order: list[str] = []

    async def producer(queue: asyncio.Queue[int]) -> None:
        for number in range(5):
            await asyncio.sleep(1)
            await queue.put(number)

    async def consumer(queue: asyncio.Queue[int], lock: asyncio.Lock) -> None:
        for _ in range(5):
            async with lock:
                order.append(f"got {await queue.get()} at {asyncio.get_running_loop().time():.0f}")

    async def scenario() -> None:
        queue: asyncio.Queue[int] = asyncio.Queue(1)
        async with asyncio.TaskGroup() as group:
            group.create_task(producer(queue))
            group.create_task(consumer(queue, asyncio.Lock()))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2):
                await asyncio.Event().wait()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.sleep(10), 3)
        assert list(await asyncio.gather(asyncio.sleep(2, "a"), asyncio.sleep(1, "b"))) == ["a", "b"]

    with World() as world:
        world.run(scenario())
        assert world.now == 5 + 2 + 3 + 2

    assert order == [f"got {number} at {number + 1}" for number in range(5)]


def test_failing_task_group_cancels_its_children_in_the_same_order_each_time() -> None:
    def play() -> list[int]:
        cancelled: list[int] = []

        async def child(number: int) -> None:
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                cancelled.append(number)
                raise

        async def failing() -> None:
            await asyncio.sleep(1)
            raise ValueError("enough")

        async def scenario() -> None:
            with pytest.raises(ExceptionGroup):
                async with asyncio.TaskGroup() as group:
                    for number in range(20):
                        group.create_task(child(number))
                    group.create_task(failing())

        with World() as world:
            world.run(scenario())
        return cancelled

    first = play()

    assert len(first) == 20
    assert play() == first


def test_deadlock_names_the_waiting_tasks_and_their_lines() -> None:
    async def waits_for_godot() -> None:
        await asyncio.Event().wait()

    async def scenario() -> None:
        await world.node("estragon").start(waits_for_godot)

    with World() as world, pytest.raises(Deadlock) as caught:
        world.run(scenario())

    text = str(caught.value)
    assert "estragon" in text
    assert "waits_for_godot > Event.wait" in text
    assert "scenario" in text


def test_run_ends_at_its_time_limit_with_the_waiting_tasks() -> None:
    async def forever() -> None:
        for _ in itertools.count():
            await asyncio.sleep(1)

    with World() as world:
        with pytest.raises(OutOfTime, match="forever"):
            world.run(forever(), limit_s=60)
        assert world.now == 60


def test_callbacks_that_never_let_time_pass_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simulations.kernel.clockwork.SAME_MOMENT_MAX", 10_000)

    async def spin() -> None:
        for _ in itertools.count():
            await asyncio.sleep(0)

    with World() as world, pytest.raises(Livelock):
        world.run(spin())


def test_executor_calls_run_inline_and_in_order() -> None:
    done: list[int] = []

    def fail() -> None:
        raise ValueError("no")

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1) as thread:
            waiting: list[asyncio.Future[Any]] = [loop.run_in_executor(thread, done.append, n) for n in range(10)]
            assert done == []
            await asyncio.gather(*waiting)
            with pytest.raises(ValueError, match="no"):
                await loop.run_in_executor(thread, fail)
        assert await asyncio.to_thread(len, "four") == 4

    with World() as world:
        world.run(scenario())

    assert done == list(range(10))


def test_exception_that_nobody_caught_is_remembered() -> None:
    async def fail() -> None:
        raise ValueError("lost")

    async def scenario() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        task = asyncio.ensure_future(fail())
        await asyncio.sleep(1)
        del task

    with World() as world:
        world.run(scenario())
        assert [type(each.exception) for each in world.mishaps] == [ZeroDivisionError, ValueError]


def test_call_that_is_held_up_is_answered_later_and_what_is_behind_it_waits() -> None:
    done: list[tuple[str, float]] = []
    answered: dict[str, float] = {}

    def act(name: str) -> None:
        done.append((name, world.now))
        if name == "held":
            assert world.loop.hold_up(3.0)

    async def call(thread: ThreadPoolExecutor, name: str) -> None:
        await asyncio.get_running_loop().run_in_executor(thread, act, name)
        answered[name] = world.now

    async def scenario() -> None:
        with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
            calls = [call(one, "before"), call(one, "held"), call(one, "behind"), call(other, "elsewhere")]
            tasks = [asyncio.create_task(each) for each in calls]
            await asyncio.sleep(1.0)
            await asyncio.gather(*tasks, call(one, "later"))
        assert not world.loop.hold_up(1.0)

    with World() as world:
        world.run(scenario())

    assert [name for name, _ in done] == ["before", "held", "elsewhere", "behind", "later"]
    assert max(answered["before"], answered["elsewhere"], dict(done)["held"]) < 0.01
    assert min(answered["held"], dict(done)["behind"]) >= 3.0
    assert max(answered.values()) < 3.1


def test_node_that_hesitates_takes_long_for_some_calls() -> None:
    async def took(node: Node) -> list[float]:
        spans: list[float] = []
        with ThreadPoolExecutor(1) as thread:
            for _ in range(400):
                began = world.now
                await asyncio.get_running_loop().run_in_executor(thread, len, "four")
                spans.append(world.now - began)
        return spans

    async def scenario() -> None:
        node, steady = world.nodes("a", "b")
        node.hesitation = Hesitation(world.seed, node.name, 0.05, 2.0)
        spans = await node.start(took, node)
        assert 5 < sum(span > 0.03 for span in spans) < 50
        assert max(spans) <= 2.01
        assert max(await steady.start(took, steady)) < 0.01

    with World() as world:
        world.run(scenario())
