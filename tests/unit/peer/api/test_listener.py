"""Connections to the API and to the link port that say nothing, or too slowly, or come in crowds."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from p2pcrawl.model.cluster.node import parse_address
from p2pcrawl.overlay.antechamber import Antechamber, descriptors_max, waiting_max_of
from p2pcrawl.overlay.calls import Caller
from p2pcrawl.peer.api import listener
from p2pcrawl.peer.api.routes import Api
from tests.unit.overlay.nodes import credentials, node, until
from tests.unit.overlay.test_calls import answering_after
from tests.unit.peer.api.test_api import TOKEN, Desk


@asynccontextmanager
async def api(desk: Desk | None = None):
    made = Api(desk or Desk(), TOKEN, Path("/where/it/is"))
    await made.open("127.0.0.1", [0])
    try:
        yield made
    finally:
        await made.close()


async def connect(stack: AsyncExitStack, address: str, count: int) -> list[asyncio.StreamReader]:
    readers = []
    for _ in range(count):
        reader, writer = await asyncio.open_connection(*parse_address(address))
        stack.callback(writer.close)
        readers.append(reader)
    return readers


async def answers(address: str) -> bool:
    async with aiohttp.ClientSession() as session, session.get(f"http://{address}/v1/status") as answer:
        return answer.status == 200


async def test_crowd_of_silent_connections_shuts_nobody_out() -> None:
    async with api() as made, AsyncExitStack() as stack:
        await connect(stack, made.address, 300)

        assert await answers(made.address)
        await until(lambda: made.counters()["turned_out"] >= 300 - listener.WAITING_MAX)
        assert made.counters()["waiting"] <= listener.WAITING_MAX


@pytest.mark.parametrize(
    "said", [b"", b"GET /sta", b"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ", b"POST /v1/jobs HTTP/1.1\r\n"]
)
async def test_head_that_does_not_come_is_not_waited_for(said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "HEAD_S", 0.2)
    async with api() as made, asyncio.timeout(10):
        reader, writer = await asyncio.open_connection(*parse_address(made.address))
        writer.write(said)

        assert await read_to_the_end(reader) in (b"",)
        writer.close()
        assert made.counters()["open"] == 0


async def test_head_that_drips_is_not_waited_for_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "HEAD_S", 0.3)
    async with api() as made, asyncio.timeout(10):
        reader, writer = await asyncio.open_connection(*parse_address(made.address))
        writer.write(b"GET /v1/status HTTP/1.1\r\n")

        async def drip() -> None:
            while not reader.at_eof():
                writer.write(b"X: y\r\n")
                await asyncio.sleep(0.02)

        dripping = asyncio.create_task(drip())
        assert await read_to_the_end(reader) == b""
        dripping.cancel()
        writer.close()


@pytest.mark.slow
async def test_body_that_does_not_come_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("p2pcrawl.peer.api.gate.BODY_S", 0.2)
    async with api() as made, asyncio.timeout(20):
        reader, writer = await asyncio.open_connection(*parse_address(made.address))
        head = (
            f"POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 9\r\n\r\n"
        )
        writer.write(head.encode())

        assert b" 408 " in await reader.readline()
        writer.close()
        await until(lambda: made.counters()["open"] == 0)  # Else aiohttp waits long for the rest of the body.


async def test_long_answer_is_not_cut_short_and_an_idle_connection_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "HEAD_S", 0.2)
    going_on = asyncio.Event()

    class Slow(Desk):
        async def ask(self, what, arguments):
            await going_on.wait()
            return {}

    async with api(Slow()) as made, asyncio.timeout(10):
        reader, writer = await asyncio.open_connection(*parse_address(made.address))
        writer.write(b"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        await until(lambda: made.counters()["answered"] == 1)
        other, other_writer = await asyncio.open_connection(*parse_address(made.address))
        assert await read_to_the_end(other) == b""  # its time is up, and so is that of the first head
        going_on.set()

        assert b" 200 " in await reader.readline()
        await read_to_the_end(reader)
        writer.close()
        other_writer.close()


async def test_more_calls_than_people_make_are_refused_until_some_are_answered() -> None:
    going_on = asyncio.Event()

    class Slow(Desk):
        async def ask(self, what, arguments):
            await going_on.wait()
            return {}

    async with api(Slow()) as made, AsyncExitStack() as stack, asyncio.timeout(20):
        for _ in range(listener.busy_max()):
            _, writer = await asyncio.open_connection(*parse_address(made.address))
            stack.callback(writer.close)
            writer.write(b"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        await until(lambda: made.counters()["answered"] == listener.busy_max())

        [refused] = await connect(stack, made.address, 1)
        assert await read_to_the_end(refused) == b""

        going_on.set()
        await until(lambda: made.counters()["answered"] == 0)
        assert await answers(made.address)


class Plenty(Desk):
    """Has so many pieces of items as is asked for."""

    async def stream(self, what, arguments):
        for _ in range(int(arguments["job"])):
            yield bytes(1 << 18)


async def test_crowd_that_does_not_read_its_answers_shuts_nobody_out() -> None:
    async with api(Plenty()) as made, AsyncExitStack() as stack, asyncio.timeout(30):
        for _ in range(listener.busy_max()):
            crowd = stack.enter_context(socket.create_connection(parse_address(made.address)))
            crowd.sendall(b"GET /v1/jobs/1000/items HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            await asyncio.sleep(0)
        await until(lambda: made.counters()["unread"] == listener.busy_max())

        for _ in range(3):
            assert await answers(made.address)

        assert made.counters()["cut_off"] == 1  # From then on there is a place for whoever reads.


async def test_answer_that_is_read_late_comes_whole_when_nobody_waits() -> None:
    async with api(Plenty()) as made, asyncio.timeout(30):
        reader, writer = await asyncio.open_connection(*parse_address(made.address), limit=1024)
        writer.transport.pause_reading()
        writer.write(b"GET /v1/jobs/100/items HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        await until(lambda: made.counters()["unread"] == 1)

        writer.transport.resume_reading()

        assert (await reader.read()).endswith(b"0\r\n\r\n")
        await until(lambda: made.counters()["unread"] == made.counters()["answered"] == 0)
        writer.close()


async def test_crowd_at_the_link_port_shuts_nobody_out_and_open_links_live_on() -> None:
    going_on = asyncio.Event()
    seen = answering_after(going_on)
    async with node(seen=seen) as one, AsyncExitStack() as stack, asyncio.timeout(30):
        caller = Caller(credentials().client)
        stack.callback(caller.close)
        asked = asyncio.create_task(caller.query(one.address, "ask:anything", timeout_s=30))
        await until(lambda: len(seen.requests) == 1)

        crowd = waiting_max_of(descriptors_max()) + 100
        await connect(stack, one.address, crowd)
        await until(lambda: one.counters()["links"]["turned_out"] >= 100)
        other = Caller(credentials().client)
        stack.callback(other.close)
        asked_later = asyncio.create_task(other.query(one.address, "ask:anything", timeout_s=30))
        await until(lambda: len(seen.requests) == 2)
        going_on.set()

        # A link that had been lost would have failed what was asked on it.
        assert await asked == await asked_later == b"late"


def test_those_from_one_address_push_out_each_other_alone() -> None:
    chamber: Antechamber[str] = Antechamber(10)
    for number in range(3):
        assert chamber.enter(f"friend {number}", "10.0.0.2") is None

    turned_out = [chamber.enter(f"crowd {number}", "10.0.0.9") for number in range(1000)]

    assert turned_out[:7] == [None] * 7
    assert turned_out[7:] == [f"crowd {number}" for number in range(993)]
    assert len(chamber) == 10
    for number in range(3):
        chamber.leave(f"friend {number}")
        chamber.leave(f"friend {number}")
    assert len(chamber) == 7


def test_all_addresses_of_one_network_of_ipv6_push_out_each_other_alone() -> None:
    chamber: Antechamber[str] = Antechamber(10)
    chamber.enter("friend", "2001:db8:2::1")
    chamber.enter("other friend", "::ffff:10.0.0.2")
    chamber.enter("friend of the link", "fe80::1%eth0")

    turned_out = [chamber.enter(f"crowd {number}", f"2001:db8:1:1::{number:x}") for number in range(100)]

    assert turned_out[:7] == [None] * 7
    assert turned_out[7:] == [f"crowd {number}" for number in range(93)]


def test_those_that_wait_never_take_most_of_the_descriptors() -> None:
    assert [waiting_max_of(number) for number in (64, 256, 1024, 1 << 20)] == [16, 64, 256, 256]


ONE_PEER = """
import asyncio, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
from p2pcrawl.model.cluster.node import parse_address
from p2pcrawl.overlay.calls import Caller
from p2pcrawl.overlay.node import Credentials
from p2pcrawl.peer.config import key_ring
from p2pcrawl.peer.peer import Peer
from p2pcrawl.wire.sealed.identity import Identity

async def main():
    async with Peer(bind="127.0.0.1:0", slaves=0, data=sys.argv[1]) as peer:
        keys = key_ring(peer.config, off_loopback=False)
        other = Credentials(Identity.generate(), keys, peer.config.realm, b"another1")
        link = Caller(other.client)
        await link.query(peer.address, "ask:members")
        print(peer.api, peer.address, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        await link.query(peer.address, "ask:members")
        fresh = Caller(other.client)
        await fresh.query(peer.address, "ask:members")
        print("still here", flush=True)
        link.close()
        fresh.close()

asyncio.run(main())
"""


async def test_peer_with_few_descriptors_outlives_crowds_at_both_of_its_ports(tmp_path: Path) -> None:
    """A real process: 300 silent connections to each port are more than it may have files open."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", ONE_PEER, str(tmp_path / "data"), stdin=-1, stdout=-1,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)},
    )  # fmt: skip
    try:
        async with asyncio.timeout(60), AsyncExitStack() as stack:
            told = (await process.stdout.readline()).decode().split()
            for address in told:
                await connect(stack, address, 300)
            assert await answers(told[0])
            process.stdin.write(b"\n")
            assert await process.stdout.readline() == b"still here\n"
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def read_to_the_end(reader: asyncio.StreamReader) -> bytes:
    """Reads what comes until the other end closes or aborts."""
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""
