"""Real servers that tests share, and the ways by which they look into them."""

from __future__ import annotations

import gc
import json
import os
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from pymongo import MongoClient

from benchmarks.sinks.mongod import (
    PASSWORD,
    USER,
    NoMongod,
    ReplicaSet,
    direct_client,
    find_mongod,
    guarded_mongod,
    replica_set,
)
from p2pcrawl.stores.kinds import SinkPlace, address_of, make_sink, read_sink
from p2pcrawl.stores.sink import Sink, SinkPage

MONGODB_VARIABLE = "P2PCRAWL_TEST_MONGODB"
"""``host:port`` of a server whose user USER has PASSWORD and all rights, where no mongod can be started."""

JOB = "ab" * 16


@dataclass(frozen=True)
class Shop:
    """A database of its own on a shared server, as its administrator sees it."""

    host: str
    name: str
    client: MongoClient[dict[str, Any]]

    @property
    def collection(self) -> Any:
        return self.client[self.name]["books"]

    def documents(self, **query: Any) -> list[dict[str, Any]]:
        return list(self.collection.find(query).sort("_id"))

    def url(self, options: str = "", user: str = USER) -> str:
        """The address of the collection; the administrator is known in the database "admin"."""
        source = "authSource=admin&" if user == USER else ""
        return f"mongodb://{user}@{self.host}/{self.name}.books?{source}{options}"

    def sink(self, options: str = "", *, user: str = USER, password: str = PASSWORD, replace: bool = False) -> Sink:
        return mongo_sink(self.url(options, user), password, replace=replace)


def mongo_sink(url: str, password: str = "", *, replace: bool = False) -> Sink:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("P2PCRAWL_SINK_PASSWORD", password)
        address = address_of(read_sink(url))
    return make_sink(address, SinkPlace("books", replace=replace))


@asynccontextmanager
async def opened(*sinks: Sink) -> AsyncIterator[None]:
    """Opens sinks, and closes them in the end."""
    try:
        for sink in sinks:
            await sink.open(None)
        yield
    finally:
        for sink in sinks:
            await sink.close()


def page(number: int, *items: Any, visit: int = 0, job: str = JOB) -> SinkPage:
    raw = [item if isinstance(item, bytes) else json.dumps(item).encode() for item in items]
    return SinkPage(job, f"{number:032x}", f"http://books.example/{number}", visit, 1_700_000_000, raw)


@pytest.fixture
def forgotten_sockets() -> Iterator[None]:
    """Lets go, within the test, of what PyMongo's own asyncio forgets: a socket whose connecting was cut short."""
    yield
    gc.collect()


@pytest.fixture(scope="session")
def can_start_mongod() -> None:
    """Skips what needs a server that can be killed, where there is no program of one."""
    try:
        find_mongod()
    except NoMongod as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def guarded_host(request: pytest.FixtureRequest) -> Iterator[str]:
    """A MongoDB server that asks for passwords."""
    if host := os.environ.get(MONGODB_VARIABLE):
        yield host
        return
    request.getfixturevalue("can_start_mongod")
    with guarded_mongod() as server:
        yield server.host


@pytest.fixture
def shop(guarded_host: str) -> Iterator[Shop]:
    name = f"shop-{uuid.uuid4().hex[:12]}"
    with direct_client(guarded_host, username=USER, password=PASSWORD) as client:
        yield Shop(guarded_host, name, client)
        client[name].command("dropAllUsersFromDatabase")
        client.drop_database(name)


@pytest.fixture(scope="session")
def three_servers(can_start_mongod: None) -> Iterator[ReplicaSet]:
    """A replica set of three."""
    with replica_set(3) as servers:
        yield servers
