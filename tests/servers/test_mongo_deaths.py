"""Servers that are killed, paused and deposed while items are brought: each document is there once."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from benchmarks.sinks.mongod import Mongod, direct_client
from p2pcrawl.stores.sink import SinkAway

from .conftest import mongo_sink, page

BATCHES = [[page(number, {"n": number}) for number in range(start, start + 50)] for start in range(0, 3000, 50)]
WAIT_S = 60.0


pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.usefixtures("forgotten_sockets"),
]


@pytest.fixture
def server(can_start_mongod):
    with Mongod() as server:
        yield server


async def bring_all(sink, batches, brought, aways):
    """Brings batches as a master does: what could not be brought is brought again after a new opening."""
    is_open = False
    for batch in batches:
        while True:
            try:
                if not is_open:
                    await sink.open({})
                    is_open = True
                await sink.write(batch)
                break
            except SinkAway as error:
                is_open = False
                aways.put_nowait(str(error))
                await asyncio.sleep(0.05)
        brought.put_nowait(batch)
    await sink.close()


def numbers_in(server, database="shop"):
    with direct_client(server.host) as client:
        return sorted(found["n"] for found in client[database]["books"].find({}, {"n": 1}))


@dataclass
class Bringing:
    """A delivery in the background: what was brought, and when it had to wait."""

    brought: asyncio.Queue[object]
    aways: asyncio.Queue[str]
    task: asyncio.Task[None]

    async def some(self, batches=10):
        for _ in range(batches):
            await self.brought.get()


@asynccontextmanager
async def bringing(sink):
    brought, aways = asyncio.Queue(), asyncio.Queue()
    async with asyncio.timeout(WAIT_S):
        task = asyncio.create_task(bring_all(sink, BATCHES, brought, aways))
        yield Bringing(brought, aways, task)
        await task


@pytest.mark.slow
@pytest.mark.parametrize("driver", ["motor", "pymongo"])
async def test_server_killed_and_started_again_has_each_document_once(server, driver):
    sink = mongo_sink(f"mongodb://{server.host}/shop.books?driver={driver}&serverSelectionTimeoutMS=300")

    async with bringing(sink) as delivery:
        for _ in range(2):
            await delivery.some()
            server.kill()
            said = await delivery.aways.get()
            assert server.host in said
            server.start()

    assert numbers_in(server) == list(range(3000))


async def test_server_that_answers_nothing_is_away_and_takes_all_when_it_goes_on(server):
    sink = mongo_sink(f"mongodb://{server.host}/shop.books?socketTimeoutMS=200&serverSelectionTimeoutMS=300")
    await sink.open(None)
    await sink.write(BATCHES[0])

    server.pause()
    try:
        for _ in range(2):
            with pytest.raises(SinkAway):
                await sink.write(BATCHES[1])
    finally:
        server.go_on()
    async with asyncio.timeout(WAIT_S):
        await bring_all(sink, BATCHES[:3], asyncio.Queue(), asyncio.Queue())

    assert numbers_in(server) == list(range(150))


@pytest.mark.slow
@pytest.mark.parametrize("driver", ["motor", "pymongo"])
async def test_killed_primary_takes_nothing_along_and_nothing_is_there_twice(three_servers, driver):
    sink = mongo_sink(f"mongodb://{three_servers.hosts}/{driver}.books?replicaSet=p2pcrawl&driver={driver}")
    killed = three_servers.wait_for_primary()

    async with bringing(sink) as delivery:
        await delivery.some()
        killed.kill()

    assert numbers_in(three_servers.wait_for_primary(), driver) == list(range(3000))
    killed.start()
    three_servers.wait_until_whole()


@pytest.mark.slow
async def test_primary_that_steps_down_is_waited_for(three_servers):
    sink = mongo_sink(f"mongodb://{three_servers.hosts}/steps.books?replicaSet=p2pcrawl")
    primary = three_servers.wait_for_primary()

    async with bringing(sink) as delivery:
        await delivery.some()
        with direct_client(primary.host) as client:
            await asyncio.to_thread(client.admin.command, "replSetStepDown", 5, secondaryCatchUpPeriodSecs=3)

    assert numbers_in(three_servers.wait_for_primary(), "steps") == list(range(3000))
