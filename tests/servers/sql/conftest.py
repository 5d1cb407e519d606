"""Databases that tests share, and the ways by which they look into them."""

from __future__ import annotations

import json
import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.sinks.sql_servers import PASSWORD, MariadbServer, NoServer, PostgresqlServer, SqlServer
from p2pcrawl.stores.kinds import SinkPlace, address_of, make_sink, read_sink
from p2pcrawl.stores.sink import Sink, SinkPage

JOB = "ab" * 16
NEEDED = "P2PCRAWL_TEST_SERVERS"
"""Set, it makes a failure of what is otherwise skipped: a server that is not installed."""


@dataclass(frozen=True)
class Database:
    """A database of its own, as its administrator sees it."""

    family: str
    server: SqlServer | None
    name: str

    def url(self, options: str = "", *, table: str = "books") -> str:
        if self.server is None:
            return f"sqlite:///{self.name}?table={table}{'&' + options if options else ''}"
        return self.server.url(self.name, table, options=options)

    def sink(self, options: str = "", *, table: str = "books", replace: bool = False) -> Sink:
        return sql_sink(self.url(options, table=table), replace=replace)

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        if self.server is not None:
            return self.server.ask(statement, self.name)
        with closing(sqlite3.connect(self.name, isolation_level=None)) as connection:
            return connection.execute(statement).fetchall()

    def rows(self, columns: str = "name", order: str = "_key") -> list[Any]:
        """The values of some columns, by key; of one column without the tuples."""
        found = self.ask(f"SELECT {columns} FROM books ORDER BY {order}")
        return [row[0] if len(row) == 1 else row for row in found]


def sql_sink(url: str, password: str = PASSWORD, *, replace: bool = False) -> Sink:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("P2PCRAWL_SINK_PASSWORD", password)
        spec = read_sink(url, replace=replace)
    return make_sink(address_of(spec), SinkPlace("the spider", replace=replace))


async def brought(sink: Sink, *pages: SinkPage) -> list[tuple[int, str]]:
    """Brings pages; returns the places of refused items with the reasons."""
    written = await sink.write(pages)
    return [(each.place, each.reason) for each in written.refused]


def page(number: int, *items: Any, visit: int = 0, job: str = JOB) -> SinkPage:
    raw = [item if isinstance(item, bytes) else json.dumps(item).encode() for item in items]
    return SinkPage(job, f"{number:032x}", f"http://books.example/{number}", visit, 1_700_000_000, raw)


def key(number: int, place: int, visit: int | None = None) -> str:
    return f"{JOB}-{number:032x}-{place}{'' if visit is None else f'-{visit}'}"


def started(server: type[SqlServer]) -> Iterator[SqlServer]:
    try:
        with server() as one:
            yield one
    except NoServer as error:
        if os.environ.get(NEEDED):
            raise
        pytest.skip(f"NOT TRIED: {error}")


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[SqlServer]:
    yield from started(PostgresqlServer)


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[SqlServer]:
    yield from started(MariadbServer)


def on_server(server: SqlServer) -> Iterator[Database]:
    name = f"shop_{uuid.uuid4().hex[:12]}"
    server.ask(f"CREATE DATABASE {name}")
    yield Database(server.scheme, server, name)
    server.ask(f"DROP DATABASE {name}{' WITH (FORCE)' if server.scheme == 'postgresql' else ''}")


@pytest.fixture
def postgresql(postgresql_server: SqlServer) -> Iterator[Database]:
    yield from on_server(postgresql_server)


@pytest.fixture
def mariadb(mariadb_server: SqlServer) -> Iterator[Database]:
    yield from on_server(mariadb_server)


@pytest.fixture
def sqlite(tmp_path: Path) -> Database:
    return Database("sqlite", None, str(tmp_path / "shop.db"))


SERVED = [pytest.param(name, marks=pytest.mark.slow) for name in ("postgresql", "mariadb")]
"""Each worker starts servers of its own, which `make check` need not wait for."""


@pytest.fixture(params=["sqlite", *SERVED])
def database(request: pytest.FixtureRequest) -> Database:
    """A database of each kind, one after another."""
    found: Database = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=SERVED)
def served(request: pytest.FixtureRequest) -> Database:
    """A database of each kind of server."""
    found: Database = request.getfixturevalue(request.param)
    return found
