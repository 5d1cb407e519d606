"""The rate at which a table takes items, beside a bare loop of the driver's executemany.

Both run in turns, in one process, into tables of one server with the same columns, as many rows in a transaction. The
bare loop has the very rows ready, while the sink gets items as JSON.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiosqlite
import asyncmy
import asyncpg

from benchmarks.kit.measure import Claims
from benchmarks.sinks.books import book
from benchmarks.sinks.sql_servers import PASSWORD, USER, MariadbServer, NoServer, PostgresqlServer, SqlServer
from p2pcrawl.stores.address import PASSWORD_VARIABLE
from p2pcrawl.stores.kinds import SinkPlace, address_of, make_sink, read_sink
from p2pcrawl.stores.sink import SinkPage

BATCH = 1000
RATE_MIN = 0.6
"""Of the bare rate, at servers. SQLite is no other process: its bare loop costs less than to read the items' JSON."""
JOB = "ab" * 16
FETCHED_AT = 1_700_000_000
LATER_SHARE = 5
"""Later visits are measured with one row in so many."""
COLUMNS = "name:text,cover:text,price:float,author:text,description:text,available:integer"
NAMES = ("_key", "_visit", "name", "cover", "price", "author", "description", "available", "url", "job", "fetched_at")

Insert = Callable[[Sequence[tuple[Any, ...]]], Awaitable[None]]


@dataclass(frozen=True)
class Took:
    """The time that a number of rows took."""

    wall_s: float
    cpu_s: float
    """Of this process: the driver's and ours, not the server's."""


@dataclass(frozen=True)
class BenchPlace:
    """A database to measure, empty."""

    title: str
    url: str
    server: SqlServer | None = None


def batches_of_pages(count: int, visit: int = 0) -> list[list[SinkPage]]:
    """Makes pages of one item each, in batches."""
    pages = [
        SinkPage(JOB, f"{n:032x}", f"http://books.example/{n}/", visit, FETCHED_AT, [json.dumps(book(n)).encode()])
        for n in range(count)
    ]
    return [pages[start : start + BATCH] for start in range(0, count, BATCH)]


def batches_of_rows(count: int, moment: Any) -> list[list[tuple[Any, ...]]]:
    """Makes the same items as rows, ready for the driver."""
    rows = [
        (f"{JOB}-{n:032x}-0", 0, *book(n).values(), f"http://books.example/{n}/", JOB, moment) for n in range(count)
    ]
    return [rows[start : start + BATCH] for start in range(0, count, BATCH)]


async def timed(work: Callable[[], Awaitable[None]]) -> Took:
    """Measures one run. The collector does not look at what lies ready for it: no master has all its items at once."""
    gc.collect()
    gc.freeze()
    began_s, cpu_s = time.perf_counter(), time.process_time()
    await work()
    took = Took(time.perf_counter() - began_s, time.process_time() - cpu_s)
    gc.unfreeze()
    return took


async def brought_by_sink(place: BenchPlace, table: str, count: int, visits: int = 1) -> Took:
    """Measures a sink; with more visits than one, the last of them. With no items at all it only makes the table."""
    sink = make_sink(address_of(read_sink(f"{place.url}?table={table}&columns={COLUMNS}")), SinkPlace("books"))
    await sink.open(None)
    took = Took(0, 0)
    for visit in range(visits):
        batches = batches_of_pages(count, visit)

        async def bring(batches: list[list[SinkPage]] = batches) -> None:
            for batch in batches:
                assert not (await sink.write(batch)).refused

        took = await timed(bring)
    await sink.close()
    return took


@asynccontextmanager
async def bare_insert(place: BenchPlace, table: str) -> AsyncIterator[Insert]:
    """Connects as one does without us, and makes the function that inserts a batch in a transaction."""
    names = ", ".join(NAMES)
    if isinstance(place.server, PostgresqlServer):
        marks = ", ".join(f"${n}" for n in range(1, len(NAMES) + 1))
        login = {"user": USER, "password": PASSWORD, "database": "bench"}
        connection = await asyncpg.connect(host="127.0.0.1", port=place.server.port, **login)

        async def insert(rows: Sequence[tuple[Any, ...]]) -> None:
            async with connection.transaction():
                await connection.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)

        yield insert
        await connection.close()
    elif place.server is not None:
        marks = ", ".join(["%s"] * len(NAMES))
        login = {"user": USER, "password": PASSWORD, "db": "bench"}
        mysql = await asyncmy.connect(host="127.0.0.1", port=place.server.port, **login)

        async def insert(rows: Sequence[tuple[Any, ...]]) -> None:
            async with mysql.cursor() as cursor:
                await cursor.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)
            await mysql.commit()

        yield insert
        await mysql.ensure_closed()
    else:
        marks = ", ".join(["?"] * len(NAMES))
        async with aiosqlite.connect(place.url.removeprefix("sqlite:///")) as file:

            async def insert(rows: Sequence[tuple[Any, ...]]) -> None:
                await file.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)
                await file.commit()

            yield insert


async def brought_bare(place: BenchPlace, table: str, count: int) -> Took:
    """Measures the bare loop, into a table that the sink has made."""
    await brought_by_sink(place, table, 0)
    moment: Any = datetime.fromtimestamp(FETCHED_AT, UTC)
    batches = batches_of_rows(count, moment if place.title == "PostgreSQL" else f"{moment:%Y-%m-%d %H:%M:%S}")
    async with bare_insert(place, table) as insert:

        async def run() -> None:
            for batch in batches:
                await insert(batch)

        return await timed(run)


def rows_in(place: BenchPlace, table: str) -> int:
    """Counts the rows of a table, and drops it."""
    if place.server is not None:
        found = place.server.ask(f"SELECT COUNT(*) FROM {table}", "bench")[0][0]
        place.server.ask(f"DROP TABLE {table}", "bench")
        return int(found)
    with closing(sqlite3.connect(place.url.removeprefix("sqlite:///"))) as connection:
        found = connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
        connection.execute(f"DROP TABLE {table}")
    return int(found)


def places(stack: ExitStack, claims: Claims) -> Iterator[BenchPlace]:
    """Yields a database of each kind that can be had."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    yield BenchPlace("SQLite", f"sqlite:///{folder / 'bench.db'}")
    for title, kind in (("PostgreSQL", PostgresqlServer), ("MariaDB", MariadbServer)):
        try:
            server = stack.enter_context(kind())
        except NoServer as error:
            claims.note(title, f"not measured: {error}")
            continue
        server.ask("CREATE DATABASE bench")
        yield BenchPlace(title, f"{server.scheme}://{USER}@{server.host}/bench", server)


def measure_sql(count: int, rounds: int) -> Claims:
    """Measures the sink and the bare loop in turns, against each database."""
    claims = Claims(f"SQL: {count} rows, {BATCH} in a transaction; medians of {rounds}")
    os.environ[PASSWORD_VARIABLE] = PASSWORD
    with ExitStack() as stack:
        for place in places(stack, claims):
            _measure(place, count, rounds, claims)
    return claims


def _measure(place: BenchPlace, count: int, rounds: int, claims: Claims) -> None:
    ways: dict[str, Callable[[str], Awaitable[Took]]] = {
        "bare executemany": lambda table: brought_bare(place, table, count),
        "sink": lambda table: brought_by_sink(place, table, count),
        "sink, second visits": lambda table: brought_by_sink(place, table, count // LATER_SHARE, 2),
    }
    rates: dict[str, list[float]] = {name: [] for name in ways}
    cpus: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for way, run in ways.items():
            took = asyncio.run(_run(run, f"t{number}"))
            done = rows_in(place, f"t{number}")
            assert done == (count // LATER_SHARE if "second" in way else count)
            if number:  # The first round only warms up.
                rates[way].append(done / took.wall_s)
                cpus[way].append(1e6 * took.cpu_s / done)
    for way in ways:
        claims.note(f"{place.title}, {way}: rows/s", f"{statistics.median(rates[way]):,.0f}")
        claims.note(f"{place.title}, {way}: client CPU us/row", f"{statistics.median(cpus[way]):.1f}")
    # Neighbours in time are compared, and the median of what comes out: the machine may be busy with something else.
    ratio = statistics.median(o / b for o, b in zip(rates["sink"], rates["bare executemany"], strict=True))
    name = f"{place.title}, sink, of the bare rate"
    if place.server is None:
        claims.note(name, f"{ratio:.2f}")
    else:
        claims.claim(name, f"{ratio:.2f}", ratio >= RATE_MIN, f"{RATE_MIN} or more")


async def _run(run: Callable[[str], Awaitable[Took]], table: str) -> Took:
    return await run(table)
