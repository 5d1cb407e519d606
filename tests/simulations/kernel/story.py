"""A little of everything, for the claim that a seed fixes all: prints what happened as one line of JSON.

Run as a script by the tests, with a seed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import sys

import aiohttp
from aiohttp import web
from kademlia.network import Server

from simulations.kernel.node import Node
from simulations.kernel.paths import Law
from simulations.world.world import World

SERVERS = 20


async def boot(servers: dict[str, Server], node: Node, first: Node) -> None:
    server = servers[node.name] = Server()
    await server.listen(8468)
    if node is not first:
        await server.bootstrap([(first.address, 8468)])


async def directory(world: World) -> int:
    """Kademlia servers meet, store and find while some crash. Returns how many finds were right."""
    nodes = [world.node(f"peer{number}") for number in range(SERVERS)]
    servers: dict[str, Server] = {}
    for node in nodes:
        await node.start(boot, servers, node, nodes[0])
    nodes[3].crash()
    nodes[4].pause()
    right = 0
    for number in range(10):
        setter, getter = servers[f"peer{5 + number}"], servers[f"peer{19 - number}"]
        await nodes[5 + number].call(setter.set, f"key {number}", number)
        right += await nodes[19 - number].call(getter.get, f"key {number}") == number
    nodes[4].resume()
    return right


async def site(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(random.random())
    return web.json_response({"path": request.path, "dice": random.random()})


async def serve() -> None:
    app = web.Application()
    app.router.add_get("/{page:.*}", site)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "0.0.0.0", 80).start()
    await asyncio.sleep(100_000)


async def crawl() -> list[int]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(60)) as session:

        async def get(number: int) -> int:
            async with session.get(f"http://web.example/{number}") as answer:
                assert (await answer.json())["path"] == f"/{number}"
                return answer.status

        return await asyncio.gather(*(get(number) for number in range(30)))


async def pages(world: World) -> list[int]:
    """aiohttp's own server and client. Returns the statuses."""
    server, client = world.nodes("web", "crawler")
    world.network.assign(server, "203.0.113.7")
    world.network.name("web.example", "203.0.113.7")
    server.start(serve)
    await asyncio.sleep(0.1)
    return await client.start(crawl)


def play(seed: int) -> dict[str, object]:
    with World(seed, law=Law(loss=0.02, duplicate=0.01, reorder=0.05)) as world:

        async def scenario() -> dict[str, object]:
            statuses = await pages(world)
            return {"right": await directory(world), "pages": statuses.count(200)}

        told = world.run(scenario())
        return {**told, "now": world.now, "executed": world.loop.executed, "trace": world.trace}


if __name__ == "__main__":
    logging.disable()
    print(json.dumps(play(int(sys.argv[1]))))
