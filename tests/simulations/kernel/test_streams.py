"""TCP in a simulated network, used through asyncio's own streams."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from simulations.kernel.node import Node
from simulations.kernel.paths import Law
from simulations.world.world import World

PORT = 80
Handler = Callable[[StreamReader, StreamWriter], Awaitable[None]]

STEADY = Law(latency_s=0.05, jitter_s=0)


async def echo(reader: StreamReader, writer: StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    writer.close()


async def serve(node: Node, handler: Handler) -> None:
    async def main() -> asyncio.AbstractServer:
        return await asyncio.start_server(handler, "0.0.0.0", PORT)

    await node.start(main)


async def dial(node: Node, to: Node) -> tuple[StreamReader, StreamWriter]:
    return await node.start(asyncio.open_connection, to.address, PORT)


def test_request_and_answer_take_two_round_trips() -> None:
    async def client() -> bytes:
        reader, writer = await asyncio.open_connection("b", PORT)
        writer.write(b"hello\n")
        line = await reader.readline()
        writer.close()
        await writer.wait_closed()
        return line

    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        await serve(b, echo)
        begun = world.now
        assert await a.start(client) == b"hello\n"
        assert world.now - begun == pytest.approx(0.2, abs=0.01)

    with World(law=STEADY) as world:
        world.run(scenario())


def test_half_closed_stream_still_reads() -> None:
    async def count(reader: StreamReader, writer: StreamWriter) -> None:
        writer.write(b"%d bytes" % len(await reader.read()))
        writer.close()

    async def client() -> bytes:
        reader, writer = await asyncio.open_connection("b", PORT)
        writer.write(bytes(1000))
        writer.write_eof()
        answer = await reader.read()
        writer.close()
        return answer

    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        await serve(b, count)
        assert await a.start(client) == b"1000 bytes"

    with World() as world:
        world.run(scenario())


def test_megabytes_pass_a_lossy_path_whole_and_in_order() -> None:
    blob = bytes(range(256)) * 8192

    async def client() -> bytes:
        reader, writer = await asyncio.open_connection("b", PORT)

        async def send() -> None:
            for at in range(0, len(blob), 10_000):
                writer.write(blob[at : at + 10_000])
                await writer.drain()
            writer.write_eof()

        async with asyncio.TaskGroup() as group:
            group.create_task(send())
            answer = await reader.read()
        writer.close()
        return answer

    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        await serve(b, echo)
        assert await a.start(client) == blob

    with World(law=Law(loss=0.1)) as world:
        world.run(scenario())
        assert world.network.traffic.retransmitted > 10


def test_writer_waits_for_a_reader_that_does_not_read() -> None:
    sent: list[float] = []

    async def slow(reader: StreamReader, writer: StreamWriter) -> None:
        await asyncio.sleep(60)
        await reader.read(-1)

    async def client() -> None:
        _, writer = await asyncio.open_connection("b", PORT)
        for _ in range(100):
            writer.write(bytes(10_000))
            await writer.drain()
            sent.append(world.now)
        writer.close()
        await writer.wait_closed()

    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        await serve(b, slow)
        await a.start(client)

    with World() as world:
        world.run(scenario())

    before = sum(when < 60 for when in sent)
    assert 20 < before < 70
    assert len(sent) == 100


def test_crash_of_the_peer_resets_the_connection() -> None:
    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        await serve(b, echo)
        reader, _ = await dial(a, b)
        await asyncio.sleep(1)
        b.crash()
        begun = world.now
        with pytest.raises(ConnectionResetError):
            await a.call(reader.read)
        assert world.now - begun == pytest.approx(0.05)
        with pytest.raises(ConnectionRefusedError):
            await dial(a, b)

    with World(law=STEADY) as world:
        world.run(scenario())


def test_loss_of_power_is_silent_until_the_machine_is_back() -> None:
    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        await serve(b, echo)
        reader, writer = await dial(a, b)
        b.lose_power()
        writer.write(b"anybody?")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(a.call(reader.read), 60)
        await serve(b, echo)
        with pytest.raises(ConnectionResetError):
            await asyncio.wait_for(a.call(reader.read), 200)

    with World(law=STEADY) as world:
        world.run(scenario())


def test_short_cut_delays_and_long_cut_breaks() -> None:
    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        await serve(b, echo)
        reader, writer = await dial(a, b)
        world.network.cut(a, b)
        writer.write(b"patience")
        await asyncio.sleep(20)
        world.network.heal()
        assert await a.call(reader.readexactly, 8) == b"patience"
        assert 20 < world.now < 60

        world.network.cut(a, b)
        begun = world.now
        writer.write(b"too long")
        with pytest.raises(TimeoutError):
            await a.call(reader.read)
        assert world.now - begun == pytest.approx(world.network.stream_patience_s, rel=0.01)

    with World(law=STEADY) as world:
        world.run(scenario())


def test_sender_that_hears_no_acknowledgement_gives_up() -> None:
    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        await serve(b, echo)
        reader, writer = await dial(a, b)
        world.network.cut(b, a)
        writer.write(b"hello")
        with pytest.raises(TimeoutError):
            await a.call(reader.read)

    with World(law=STEADY) as world:
        world.run(scenario())


def test_connecting_to_nothing_is_refused_and_through_a_cut_times_out() -> None:
    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        with pytest.raises(ConnectionRefusedError):
            await dial(a, b)
        world.network.cut(b, a)
        begun = world.now
        with pytest.raises(TimeoutError):
            await dial(a, b)
        assert world.now - begun == pytest.approx(127, abs=1)
        with pytest.raises(OSError, match="not known"):
            await a.start(asyncio.open_connection, "nowhere.example", PORT)

    with World() as world:
        world.run(scenario())


def test_connecting_goes_through_as_soon_as_the_cut_is_healed() -> None:
    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        await serve(b, echo)
        world.network.cut(a, b)
        dialing = asyncio.ensure_future(dial(a, b))
        await asyncio.sleep(5)
        world.network.heal()
        reader, writer = await dialing
        writer.write(b"x")
        assert await a.call(reader.readexactly, 1) == b"x"
        writer.close()

    with World() as world:
        world.run(scenario())


def test_cancelled_connection_leaves_nothing_behind() -> None:
    async def client() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.07):
                await asyncio.open_connection("b", PORT)

    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        await serve(b, echo)
        await a.start(client)
        await asyncio.sleep(10)
        assert a.ends == {}
        assert b.ends == {}

    with World(law=STEADY) as world:
        world.run(scenario())


def test_slow_link_sets_the_pace() -> None:
    async def client() -> float:
        reader, writer = await asyncio.open_connection("b", PORT)
        begun = world.now
        writer.write(bytes(1_000_000))
        await reader.readexactly(1_000_000)
        writer.close()
        return world.now - begun

    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        await serve(b, echo)
        world.network.change_law(bytes_per_s=100_000, source=a)
        assert await a.start(client) == pytest.approx(10, rel=0.1)

    with World(law=STEADY) as world:
        world.run(scenario())


def test_paused_peer_is_connected_to_and_answers_when_resumed() -> None:
    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        await serve(b, echo)
        b.pause()
        reader, writer = await dial(a, b)
        writer.write(b"hello")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(a.call(reader.read, 5), 30)
        b.resume()
        assert await a.call(reader.read, 5) == b"hello"
        writer.close()

    with World() as world:
        world.run(scenario())


def test_closed_server_refuses_and_its_port_can_be_taken_again() -> None:
    async def reopen() -> None:
        for _ in range(3):
            async with await asyncio.start_server(echo, "0.0.0.0", PORT) as server:
                assert server.sockets[0].getsockname() == ("0.0.0.0", PORT)
                with pytest.raises(OSError, match="in use"):
                    await asyncio.start_server(echo, "0.0.0.0", PORT)
            await server.wait_closed()
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", PORT)

    with World() as world:
        node = world.node("a")

        async def scenario() -> None:
            await node.start(reopen)

        world.run(scenario())


def test_pair_of_sockets_joins_two_nodes() -> None:
    async def idle() -> None:
        pass

    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        await a.start(idle)
        await b.start(idle)
        ours, theirs = world.socketpair(a, b)
        _, writer = await a.call(asyncio.open_connection, sock=ours)
        reader, answerer = await b.call(asyncio.open_connection, sock=theirs)
        writer.write(b"hello")
        writer.close()
        assert await b.call(reader.read) == b"hello"
        answerer.close()

    with World() as world:
        world.run(scenario())


def test_what_is_held_up_comes_later_and_in_order_and_nothing_else_waits() -> None:
    async def scenario() -> None:
        a, b, c = world.nodes("a", "b", "c")
        came: list[tuple[str, float]] = []

        async def hear(reader: StreamReader, writer: StreamWriter) -> None:
            while line := await reader.readline():
                came.append((line.decode().strip(), world.now))
                writer.write(line)
            writer.close()

        await serve(b, hear)
        (held, writer), (_, other) = await dial(a, b), await dial(c, b)
        (end,) = [end for end in a.ends.values() if end.remote[1] == PORT]
        began = world.now
        writer.write(b"before\n")
        await asyncio.sleep(0.2)
        writer.write(b"under way\n")
        await asyncio.sleep(0.01)
        end.out.hold_up(began + 4.0)
        writer.write(b"behind\n")
        other.write(b"of another\n")
        await asyncio.sleep(2.0)
        assert [line for line, _ in came] == ["before", "of another"]
        assert await asyncio.wait_for(held.readline(), 0.1) == b"before\n"
        await asyncio.sleep(2.5)
        assert [line for line, _ in came] == ["before", "of another", "under way", "behind"]
        assert [at - began for line, at in came[2:]] == pytest.approx([4.0, 4.0], abs=0.01)
        writer.close()
        other.close()
        await asyncio.sleep(1.0)

    with World(law=STEADY) as world:
        world.run(scenario())


def test_what_is_held_up_is_gone_with_the_machine_that_sent_it() -> None:
    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        came: list[bytes] = []

        async def hear(reader: StreamReader, writer: StreamWriter) -> None:
            with suppress(TimeoutError):
                came.append(await asyncio.wait_for(reader.readline(), 8.0))
            writer.close()

        await serve(b, hear)
        _, writer = await dial(a, b)
        (end,) = [end for end in a.ends.values() if end.remote[1] == PORT]
        end.out.hold_up(world.now + 3.0)
        writer.write(b"last words\n")
        await asyncio.sleep(1.0)
        a.lose_power()
        await asyncio.sleep(9.0)
        assert came == []
        writer.close()

    with World(law=STEADY) as world:
        world.run(scenario())
