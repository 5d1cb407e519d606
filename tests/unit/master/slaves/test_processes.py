"""Slaves started, watched, replaced."""

from __future__ import annotations

import asyncio
import socket

from p2pcrawl.master.slaves import processes as group_module
from p2pcrawl.master.slaves.processes import STILLBORN_MAX, Group
from p2pcrawl.model.errors import P2PCrawlError


async def connect(stream: socket.socket, pid: int) -> None:
    stream.close()


def group_of(run_here) -> Group:
    return Group(0, connect, run_here)


async def test_slaves_that_die_before_they_say_hello_end_the_crawl(monkeypatch) -> None:
    monkeypatch.setattr(group_module, "RESPAWN_MAX_S", 0.0)
    monkeypatch.setattr(group_module, "RESPAWN_FIRST_S", 0.0)
    births = 0

    async def stillborn(stream: socket.socket) -> None:
        nonlocal births
        births += 1
        stream.close()

    group = group_of(stillborn)
    group.start()
    async with asyncio.timeout(5):
        await asyncio.wait([group.failed])

    assert isinstance(group.failed.exception(), P2PCrawlError)
    assert births == STILLBORN_MAX
    await group.stop(1.0)


async def test_slaves_that_said_hello_are_replaced_however_often_they_die(monkeypatch) -> None:
    monkeypatch.setattr(group_module, "RESPAWN_MAX_S", 0.0)
    monkeypatch.setattr(group_module, "RESPAWN_FIRST_S", 0.0)
    births, enough = 0, asyncio.Event()

    async def short_lived(stream: socket.socket) -> None:
        nonlocal births
        births += 1
        group.greeted(births)
        stream.close()
        if births > 3 * STILLBORN_MAX:
            enough.set()

    group = group_of(short_lived)
    group.start()
    async with asyncio.timeout(5):
        await enough.wait()

    assert not group.failed.done()
    await group.stop(1.0)


async def test_system_without_processes_to_spare_ends_the_crawl_instead_of_waiting(monkeypatch) -> None:
    monkeypatch.setattr(group_module, "RESPAWN_MAX_S", 0.0)
    monkeypatch.setattr(group_module, "RESPAWN_FIRST_S", 0.0)

    async def fails(*arguments: object, **options: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(group_module.asyncio, "create_subprocess_exec", fails)
    group = Group(2, connect, connect)
    group.start()
    async with asyncio.timeout(5):
        await asyncio.wait([group.failed])

    assert isinstance(group.failed.exception(), P2PCrawlError)
    await group.stop(1.0)


async def test_stop_does_not_wait_for_the_pause_before_the_next_birth(monkeypatch) -> None:
    monkeypatch.setattr(group_module, "RESPAWN_MAX_S", 1000.0)
    monkeypatch.setattr(group_module, "RESPAWN_FIRST_S", 1000.0)
    born = asyncio.Event()

    async def short_lived(stream: socket.socket) -> None:
        stream.close()
        born.set()

    group = group_of(short_lived)
    group.start()
    await born.wait()
    async with asyncio.timeout(5):
        await group.stop(1000.0)
