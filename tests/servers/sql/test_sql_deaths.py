"""Servers that are killed, stopped, paused and cut off while items are brought: each item is there once."""

from __future__ import annotations

import asyncio
import threading

import pytest

from p2pcrawl.stores.sink import SinkAway
from p2pcrawl.stores.sql import sql_sink as module

from ..conftest import opened
from .conftest import brought, page, sql_sink

BATCHES = [[page(number, {"n": number}) for number in range(start, start + 20)] for start in range(0, 2000, 20)]
WAIT_S = 60.0


async def bring_all(sink, batches, brought, refused):
    """Brings batches as a master does: what could not be brought is brought again after a new opening."""
    aways = 0
    is_open = False
    for batch in batches:
        while True:
            try:
                if not is_open:
                    await sink.open({})
                    is_open = True
                written = await sink.write(batch)
                break
            except SinkAway:
                is_open = False
                aways += 1
                await asyncio.sleep(0.05)
        refused.extend(written.refused)
        brought.append(batch)
    await sink.close()
    return aways


async def test_server_killed_and_stopped_while_two_masters_bring_items(served):
    def upset():
        for end, at in ((served.server.kill, 20), (served.server.stop, 70), (served.server.kill, 130)):
            while len(done) < at:
                if over.wait(0.002):
                    return
            end()
            served.server.start()

    done, refused, over = [], [], threading.Event()
    sinks = [served.sink("columns=n:integer") for _ in range(2)]
    thread = threading.Thread(target=upset)
    thread.start()

    async with asyncio.timeout(WAIT_S):
        # Both bring a part of the same pages: what the one brought before it died, its heir brings again.
        aways = await asyncio.gather(
            bring_all(sinks[0], BATCHES[:70], done, refused), bring_all(sinks[1], BATCHES[30:][::-1], done, refused)
        )
    over.set()
    await asyncio.to_thread(thread.join)

    assert sum(aways) > 0
    assert refused == []
    assert sorted(n for (n,) in served.ask("SELECT n FROM books")) == list(range(2000))


async def test_sink_of_a_killed_server_is_closed_without_a_traceback(served, caplog):
    async with opened(served.sink("columns=n:integer")):
        served.server.kill()
    served.server.start()

    assert [line.name for line in caplog.records if line.exc_info] == []


async def test_server_that_keeps_its_connections_and_says_nothing_is_away(served, monkeypatch):
    monkeypatch.setattr(module, "WRITE_S", 0.5)
    monkeypatch.setattr(module, "OPEN_S", 0.5)
    sink = served.sink("columns=n:integer")
    async with opened(sink):
        await brought(sink, *BATCHES[0])
        served.server.pause()
        try:
            with pytest.raises(SinkAway, match="no answer in time"):
                await sink.write(BATCHES[1])
            with pytest.raises(SinkAway):
                await sink.open({})
        finally:
            served.server.go_on()
        monkeypatch.undo()
        await sink.open({})
        await brought(sink, *BATCHES[1], *BATCHES[2])

    assert sorted(n for (n,) in served.ask("SELECT n FROM books")) == list(range(60))


async def test_sink_is_cut_off_by_the_administrator_and_goes_on_after_it_was_opened_again(served):
    sink = served.sink("columns=n:integer")
    async with opened(sink):
        await brought(sink, *BATCHES[0])
        if served.family == "postgresql":
            served.server.ask(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{served.name}'")
        else:
            for (number,) in served.server.ask(
                f"SELECT id FROM information_schema.processlist WHERE db = '{served.name}'"
            ):
                served.server.ask(f"KILL {number}")

        with pytest.raises(SinkAway):
            await sink.write(BATCHES[1])
        await sink.open({})
        await brought(sink, *BATCHES[1])

    assert len(served.ask("SELECT n FROM books")) == 40


async def test_database_that_only_reads_for_a_while_is_away(served):
    user = f"ada_{served.name[-8:]}"
    if served.family == "postgresql":
        served.ask(f"CREATE ROLE {user} LOGIN PASSWORD 'secret'")
        served.ask(f"ALTER DATABASE {served.name} OWNER TO {user}")
        read_only, again = (f"ALTER ROLE {user} SET default_transaction_read_only = {each}" for each in ("on", "off"))
    else:
        served.ask(f"CREATE USER {user} IDENTIFIED BY 'secret'")
        served.ask(f"GRANT ALL ON {served.name}.* TO {user}")
        read_only, again = (f"SET GLOBAL read_only = {each}" for each in (1, 0))
    sink = sql_sink(served.server.url(served.name, user=user, options="columns=n:integer"), "secret")
    async with opened(sink):
        await brought(sink, *BATCHES[0])
        served.ask(read_only)
        try:
            with pytest.raises(SinkAway, match="read-only"):
                await sink.open({})
        finally:
            served.ask(again)
        await sink.open({})
        await brought(sink, *BATCHES[1])

    assert len(served.ask("SELECT n FROM books")) == 40


async def test_masters_who_write_the_same_pages_at_once_do_not_lose_or_double_any(database):
    async def master(number):
        sink = database.sink("columns=n:integer,by:integer")
        aways = 0
        for visit in range(3):
            batch = [page(n, *[{"n": n, "by": number}] * (3 - visit), visit=visit) for n in range(40)]
            while True:
                try:
                    await sink.open({})
                    assert not (await sink.write(batch[::-1] if number % 2 else batch)).refused
                    break
                except SinkAway:
                    aways += 1
                    await asyncio.sleep(0.01 * number)
        await sink.close()

    async with asyncio.timeout(WAIT_S):
        await asyncio.gather(*map(master, range(4)))

    assert database.rows("n, _visit", "n") == [(n, 2) for n in range(40)]
