"""Streams under everything at once: whatever breaks, no byte is wrong, and the same seed breaks the same."""

from __future__ import annotations

import asyncio
import random
from asyncio import StreamReader, StreamWriter

import pytest

from simulations.kernel.node import Node
from simulations.kernel.paths import Law
from simulations.world.world import World

PORT = 80


async def echo(reader: StreamReader, writer: StreamWriter) -> None:
    try:
        while data := await reader.read(4096):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def talk(other: Node) -> int:
    """Send some blobs and compare what comes back. Returns how many did."""
    whole = 0
    try:
        async with asyncio.timeout(20):
            reader, writer = await asyncio.open_connection(other.address, PORT)
            try:
                for _ in range(random.randint(1, 20)):
                    blob = random.randbytes(random.randint(1, 100_000))
                    writer.write(blob)
                    await writer.drain()
                    assert await reader.readexactly(len(blob)) == blob
                    whole += 1
            finally:
                writer.close()
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        pass
    return whole


async def peer(others: list[Node], whole: list[int]) -> None:
    await asyncio.start_server(echo, "0.0.0.0", PORT)
    while True:
        whole.append(await talk(random.choice(others)))
        await asyncio.sleep(random.random())


async def storm(world: World, nodes: list[Node], whole: list[int]) -> None:
    for node in nodes:
        node.start(peer, nodes, whole)
    for _ in range(60):
        await asyncio.sleep(3)
        node = world.random.choice(nodes)
        match world.random.randrange(7):
            case 0:
                node.restart(peer, nodes, whole)
            case 1:
                node.pause()
            case 2:
                for each in nodes:
                    each.resume()
            case 3:
                world.network.cut(node, world.random.choice(nodes))
            case 4:
                world.network.heal()
            case 5:
                node.lose_power()
                await asyncio.sleep(1)
                node.start(peer, nodes, whole)
            case _:
                world.network.partition(nodes[:4], nodes[4:])


def play(seed: int) -> tuple[str, int]:
    whole: list[int] = []
    with World(seed, law=Law(loss=0.05)) as world:
        nodes = world.nodes(*(f"n{number}" for number in range(8)))
        world.run(storm(world, nodes, whole))
        assert world.mishaps == []
        return world.trace, sum(whole)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_no_byte_is_wrong_in_a_storm_and_its_seed_repeats_it(seed: int) -> None:
    trace, whole = play(seed)

    assert whole > 300
    assert play(seed) == (trace, whole)
