"""Nodes: lives that end in the middle of anything, and clocks and dice of their own."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import secrets
import socket
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import pytest

from simulations.kernel.life import NodeDown
from simulations.world.world import World


def test_crash_stops_code_where_it_is_and_runs_no_finally() -> None:
    seen: list[str] = []

    async def main() -> None:
        try:
            for number in range(10):
                seen.append(f"step {number}")
                await asyncio.sleep(1)
        finally:
            seen.append("finally")

    async def scenario() -> None:
        node = world.node("a")
        running = node.start(main)
        await asyncio.sleep(2.5)
        node.crash()
        with pytest.raises(NodeDown):
            await running
        await asyncio.sleep(100)
        assert seen == ["step 0", "step 1", "step 2"]
        assert not node.up

    with World() as world:
        world.run(scenario())


def test_code_of_a_crashed_node_can_do_nothing_at_the_end_of_the_world() -> None:
    async def main() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            asyncio.get_running_loop().call_soon(print)
            await asyncio.sleep(1)

    async def scenario() -> None:
        node = world.node("a")
        node.start(main)
        await asyncio.sleep(1)
        node.crash()

    with World() as world:
        world.run(scenario())


def test_result_and_error_of_a_node_reach_the_scenario() -> None:
    async def well() -> int:
        await asyncio.sleep(1)
        return 7

    async def badly() -> None:
        raise ValueError("broken")

    async def scenario() -> None:
        node = world.node("a")
        assert await node.start(well) == 7
        with pytest.raises(ValueError, match="broken"):
            await node.call(badly)
        node.crash()
        with pytest.raises(NodeDown):
            await node.call(well)

    with World() as world:
        world.run(scenario())


def test_paused_node_does_nothing_and_catches_up_afterwards() -> None:
    ticks: list[float] = []

    async def main() -> None:
        while True:
            await asyncio.sleep(1)
            ticks.append(world.now)

    async def scenario() -> None:
        node = world.node("a")
        node.start(main)
        await asyncio.sleep(2.5)
        node.pause()
        await asyncio.sleep(10)
        assert ticks == [1, 2]
        node.resume()
        await asyncio.sleep(1.6)

    with World() as world:
        world.run(scenario())

    assert ticks == [1, 2, 12.5, 13.5]


def test_restart_begins_a_new_life_at_the_same_address() -> None:
    begun: list[int] = []

    async def main() -> None:
        begun.append(len(begun))
        await asyncio.sleep(1000)

    async def scenario() -> None:
        node = world.node("a")
        first = node.start(main)
        await asyncio.sleep(1)
        address = node.address
        node.restart(main)
        await asyncio.sleep(1)
        assert first.done()
        assert node.address == address

    with World() as world:
        world.run(scenario())

    assert begun == [0, 1]


def test_clocks_are_virtual_also_under_names_imported_before() -> None:
    async def scenario() -> None:
        assert (time.monotonic(), monotonic(), time.perf_counter()) == (0, 0, 0)
        wall = time.time()
        await asyncio.sleep(3600)
        assert monotonic() == 3600
        assert time.time() - wall == 3600
        assert time.gmtime()[:4] == (2023, 11, 14, 23)

    with World() as world:
        world.run(scenario())

    assert monotonic() != 3600
    assert time.time() > 1_700_100_000


def test_drifting_node_counts_its_own_seconds() -> None:
    async def main() -> float:
        begun = time.monotonic()
        await asyncio.sleep(100)
        return time.monotonic() - begun

    async def scenario() -> None:
        node = world.node("a")
        node.drift(1.25)
        node.step_wall_clock(-3600)
        begun = world.now
        assert await node.start(main) == pytest.approx(100)
        assert world.now - begun == pytest.approx(80)
        assert await node.call(wall_clock) == pytest.approx(time.time() + 0.25 * 80 - 3600)

    async def wall_clock() -> float:
        return time.time()

    with World() as world:
        world.run(scenario())


async def throw_dice() -> tuple[object, ...]:
    return (
        random.random(), random.choice(range(1000)), random.Random().random(), os.urandom(8), uuid.uuid4(),
        uuid.uuid1(), secrets.token_hex(4),
    )  # fmt: skip


def test_dice_come_from_the_seed_and_each_life_has_its_own() -> None:
    def play(seed: int, other_first: bool) -> tuple[object, object]:
        async def scenario() -> tuple[object, object]:
            if other_first:
                await world.node("b").start(throw_dice)
            node = world.node("a")
            first = await node.start(throw_dice)
            return first, await node.restart(throw_dice)

        with World(seed) as world:
            return world.run(scenario())

    assert play(1, False) == play(1, True)
    assert play(1, False) != play(2, False)
    first, second = play(1, False)
    assert first != second


def test_thread_that_a_node_starts_and_forgets_runs_inline_and_finds_simulated_names() -> None:
    async def main() -> list[str]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[str]] = loop.create_future()

        def work() -> None:
            found = socket.getaddrinfo("b", 80, type=socket.SOCK_STREAM)
            loop.call_soon_threadsafe(answer.set_result, [str(each[4][0]) for each in found])

        threading.Thread(target=work).start()
        return await answer

    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        assert await a.start(main) == [b.address]

    with World() as world:
        world.run(scenario())


def test_thread_pool_of_a_node_is_refused() -> None:
    async def main() -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(print)

    async def scenario() -> None:
        with pytest.raises(RuntimeError, match="run_in_executor"):
            await world.node("a").start(main)

    with World() as world:
        world.run(scenario())


def test_tasks_made_without_the_loop_belong_to_their_node_too() -> None:
    seen: list[str] = []

    async def child() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            seen.append("finally")

    async def main() -> None:
        task = asyncio.Task(child())
        del task
        await asyncio.sleep(10)

    async def scenario() -> None:
        node = world.node("a")
        node.start(main)
        await asyncio.sleep(1)
        node.crash()
        await asyncio.sleep(100)
        assert seen == []

    with World() as world:
        world.run(scenario())


def test_pins_are_taken_out_again() -> None:
    before = (time.time, time.sleep, random.random, random.Random, os.urandom, uuid.uuid1, asyncio.Task)

    with World():
        assert random.random is not before[2]

    assert before == (time.time, time.sleep, random.random, random.Random, os.urandom, uuid.uuid1, asyncio.Task)


def test_two_worlds_at_once_are_refused() -> None:
    with World(), pytest.raises(RuntimeError, match="another world"), World():
        pass


def test_log_handler_of_a_crashed_node_hears_no_other_world() -> None:
    heard: list[logging.LogRecord] = []
    ours = logging.getLogger("p2pcrawl")

    async def main() -> None:
        handler = logging.Handler()
        handler.emit = heard.append  # type: ignore[method-assign]
        ours.addHandler(handler)
        ours.warning("from within")
        await asyncio.sleep(1000)

    async def scenario() -> None:
        node = world.node("a")
        node.start(main)
        await asyncio.sleep(1)
        node.crash()

    with World() as world:
        world.run(scenario())
    ours.warning("from another world")

    assert [record.getMessage() for record in heard] == ["from within"]
