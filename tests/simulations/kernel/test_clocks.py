"""Clocks that drift: nothing comes before its time, by the clock of the one who waits for it."""

from __future__ import annotations

import asyncio

import pytest

from simulations.world.world import World


@pytest.mark.parametrize("rate", [0.98, 0.9937, 1.0000001, 1.0137, 1.02, 3.0])
def test_a_timer_never_fires_before_its_time_by_its_own_clock(rate: float) -> None:
    early: list[float] = []

    async def wait() -> None:
        loop = asyncio.get_running_loop()
        for number in range(300):
            due = loop.time() + 0.1 / (number + 1) ** 3
            fired: asyncio.Future[None] = loop.create_future()
            loop.call_at(due, fired.set_result, None)
            await fired
            early.append(due - loop.time())

    with World(1) as world:
        node = world.node("n")
        node.drift(rate)

        async def scenario() -> None:
            await node.start(wait)

        world.run(scenario())

    assert len(early) == 300
    assert max(early) <= 0.0
