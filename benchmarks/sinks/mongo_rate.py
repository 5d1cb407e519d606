"""The rate at which a collection takes items, beside a bare loop of the driver's bulk inserts.

Both run in turns, in one process, into collections of one server with the same indexes and the same write concern, as
many documents at once. The bare loop has the very documents ready, while the sink gets items as JSON.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from motor.motor_asyncio import AsyncIOMotorClient
from pymongo import IndexModel, WriteConcern

from benchmarks.kit.measure import Claims
from benchmarks.sinks.books import book
from benchmarks.sinks.mongod import replica_set
from p2pcrawl.stores.address import parse_sink
from p2pcrawl.stores.kinds import SinkPlace, make_sink
from p2pcrawl.stores.mongo.mongo_documents import drafts_of
from p2pcrawl.stores.mongo.mongo_trial import INDEXED
from p2pcrawl.stores.sink import SinkPage

BULK = 1000
"""Documents in one insert of the bare loop; the sink cuts its batches into such, too."""
RATE_MIN = 0.8
JOB = "ab" * 16
LATER_SHARE = 5
"""Later visits are measured with one document in so many."""


@dataclass(frozen=True)
class Took:
    """The time that a number of documents took."""

    wall_s: float
    cpu_s: float
    """Of this process: the driver's and ours, not the server's."""


def batches(count: int, size: int, visit: int = 0) -> Iterator[list[SinkPage]]:
    """Makes pages of one item each, a batch at a time."""
    for start in range(0, count, size):
        yield [
            SinkPage(
                JOB,
                f"{n:032x}",
                f"http://books.example/catalogue/{n}/index.html",
                visit,
                1_700_000_000,
                [json.dumps(book(n)).encode()],
            )
            for n in range(start, min(count, start + size))
        ]


class Watch:
    """A watch that runs only while something is waited for."""

    def __init__(self) -> None:
        self.took = Took(0.0, 0.0)

    async def time(self, work: Awaitable[Any]) -> Any:
        """Waits for it, and adds what that took."""
        began_s, cpu_s = time.perf_counter(), time.process_time()
        done = await work
        self.took = Took(
            self.took.wall_s + time.perf_counter() - began_s, self.took.cpu_s + time.process_time() - cpu_s
        )
        return done


async def bare(hosts: str, name: str, count: int, *, indexes: bool) -> Took:
    """Measures the bare loop: documents that are ready, with and without our indexes."""
    client: Any = AsyncIOMotorClient(f"mongodb://{hosts}/")
    collection = client["bench"].get_collection(name, write_concern=WriteConcern("majority", j=True))
    if indexes:
        await collection.create_indexes([IndexModel([(field, 1)]) for field in INDEXED])
    watch = Watch()
    for pages in batches(count, BULK):
        documents = [one.document for one in drafts_of(pages, "books", history=False)[0]]
        await watch.time(collection.insert_many(documents, ordered=False))
    await client["bench"].drop_collection(name)
    client.close()
    return watch.took


async def sink(hosts: str, name: str, count: int, driver: str, *, visits: int = 1) -> Took:
    """Measures a sink; with more visits than one, the last of them."""
    brought = make_sink(parse_sink(f"mongodb://{hosts}/bench.{name}?driver={driver}"), SinkPlace("books"))
    await brought.open(None)
    watch = Watch()
    for visit in range(visits):
        watch = Watch()
        for pages in batches(count, brought.limits.items, visit):
            written = await watch.time(brought.write(pages))
            assert not written.refused
    await brought.close()
    client: Any = AsyncIOMotorClient(f"mongodb://{hosts}/")
    assert await client["bench"][name].count_documents({}) == count
    await client["bench"].drop_collection(name)
    client.close()
    return watch.took


def measure_mongo(count: int, rounds: int) -> Claims:
    """Measures both in turns against a replica set of one."""
    claims = Claims(
        f"MongoDB: {count} documents, {BULK} in an insert, to a majority and its journal; medians of {rounds}"
    )
    ways: dict[str, Callable[[str, str], Awaitable[Took]]] = {
        "bare motor": lambda hosts, name: bare(hosts, name, count, indexes=True),
        "bare motor, no indexes": lambda hosts, name: bare(hosts, name, count, indexes=False),
        "sink, motor": lambda hosts, name: sink(hosts, name, count, "motor"),
        "sink, pymongo": lambda hosts, name: sink(hosts, name, count, "pymongo"),
        "sink, second visits": lambda hosts, name: sink(hosts, name, count // LATER_SHARE, "motor", visits=2),
    }
    rates: dict[str, list[float]] = {name: [] for name in ways}
    cpus: dict[str, list[float]] = {name: [] for name in ways}
    with replica_set(1) as servers:
        for number in range(rounds + 1):
            for way, run in ways.items():
                took = asyncio.run(_run(run, servers.hosts, f"books{number}"))
                done = count // LATER_SHARE if "second" in way else count
                if number:  # The first round only warms up.
                    rates[way].append(done / took.wall_s)
                    cpus[way].append(1e6 * took.cpu_s / done)
    for way in ways:
        claims.note(f"{way}: documents/s", f"{statistics.median(rates[way]):,.0f}")
        claims.note(f"{way}: client CPU us/document", f"{statistics.median(cpus[way]):.1f}")
    # Neighbours in time are compared, and the median of what comes out: the machine may be busy with something else.
    of_bare = {
        way: statistics.median(ours / theirs for ours, theirs in zip(rates[way], rates["bare motor"], strict=True))
        for way in ("sink, motor", "sink, pymongo")
    }
    claims.note("sink, pymongo, of the bare loop's rate", f"{of_bare['sink, pymongo']:.2f}")
    ratio = of_bare["sink, motor"]
    claims.claim("sink, motor, of the bare loop's rate", f"{ratio:.2f}", ratio >= RATE_MIN, f"{RATE_MIN} or more")
    return claims


async def _run(run: Callable[[str, str], Awaitable[Took]], hosts: str, name: str) -> Took:
    return await run(hosts, name)
