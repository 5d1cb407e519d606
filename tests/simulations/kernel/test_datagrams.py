"""UDP in a simulated network: lossy, late, doubled, cut."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from simulations.kernel.node import Node
from simulations.kernel.paths import Law
from simulations.world.world import World

PORT = 7117


class Mailbox(asyncio.DatagramProtocol):
    """Keeps what arrives, and when."""

    def __init__(self) -> None:
        self.mail: list[tuple[float, bytes, tuple[str, int]]] = []
        self.errors: list[Exception] = []
        self.transport: asyncio.DatagramTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.mail.append((asyncio.get_running_loop().time(), data, addr))

    def error_received(self, exc: Exception) -> None:
        self.errors.append(exc)

    @property
    def words(self) -> list[bytes]:
        return [data for _, data, _ in self.mail]


async def mailbox(node: Node, remote: tuple[str, int] | None = None) -> Mailbox:
    async def bind() -> Mailbox:
        local = None if remote else ("0.0.0.0", PORT)
        loop = asyncio.get_running_loop()
        return (await loop.create_datagram_endpoint(Mailbox, local_addr=local, remote_addr=remote))[1]

    return await node.start(bind)


def number(n: int) -> bytes:
    return n.to_bytes(4, "big")


def test_datagram_arrives_after_the_latency_from_the_senders_address() -> None:
    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        left, right = await mailbox(a), await mailbox(b)
        left.transport.sendto(b"hello", (b.address, PORT))
        await asyncio.sleep(1)
        assert right.mail == [(0.5, b"hello", (a.address, PORT))]

    with World(law=Law(latency_s=0.5, jitter_s=0)) as world:
        world.run(scenario())


@pytest.mark.parametrize("loss", [0.05, 0.3])
def test_share_of_lost_datagrams_is_the_laws(loss: float) -> None:
    async def scenario() -> int:
        a, b = world.nodes("a", "b")
        left, right = await mailbox(a), await mailbox(b)
        for n in range(10_000):
            left.transport.sendto(number(n), (b.address, PORT))
        await asyncio.sleep(10)
        return len(right.mail)

    with World(law=Law(loss=loss)) as world:
        assert world.run(scenario()) / 10_000 == pytest.approx(1 - loss, abs=0.02)


def test_datagrams_are_doubled_and_reordered() -> None:
    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        left, right = await mailbox(a), await mailbox(b)
        for n in range(1000):
            left.transport.sendto(number(n), (b.address, PORT))
            await asyncio.sleep(0.01)
        await asyncio.sleep(10)
        assert set(right.words) == {number(n) for n in range(1000)}
        assert 1050 < len(right.words) < 1150
        late = sum(second < first for first, second in zip(right.words, right.words[1:], strict=False))
        assert late > 50

    with World(law=Law(jitter_s=0, duplicate=0.1, reorder=0.1)) as world:
        world.run(scenario())


def test_cut_stops_one_direction_and_what_is_on_its_way() -> None:
    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        left, right = await mailbox(a), await mailbox(b)
        left.transport.sendto(b"on its way", (b.address, PORT))
        world.network.cut(a, b)
        left.transport.sendto(b"cut", (b.address, PORT))
        right.transport.sendto(b"other way", (a.address, PORT))
        await asyncio.sleep(1)
        world.network.heal(a, b)
        left.transport.sendto(b"healed", (b.address, PORT))
        await asyncio.sleep(1)
        assert right.words == [b"healed"]
        assert left.words == [b"other way"]

    with World() as world:
        world.run(scenario())


def test_partition_separates_groups_and_spares_the_bridge() -> None:
    async def scenario() -> set[tuple[str, str]]:
        nodes = world.nodes("a", "b", "c", "bridge")
        boxes = {node.name: await mailbox(node) for node in nodes}
        world.network.partition(nodes[:2], nodes[2:3])
        for sender in nodes:
            for receiver in nodes:
                boxes[sender.name].transport.sendto(sender.name.encode(), (receiver.address, PORT))
        await asyncio.sleep(1)
        return {(word.decode(), name) for name, box in boxes.items() for word in box.words}

    with World() as world:
        heard = world.run(scenario())

    everyone = ("a", "b", "c", "bridge")
    apart = {("a", "c"), ("b", "c"), ("c", "a"), ("c", "b")}
    assert heard == {(one, other) for one in everyone for other in everyone} - apart


def test_narrow_path_delays_and_then_drops() -> None:
    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        left, right = await mailbox(a), await mailbox(b)
        for _ in range(100):
            left.transport.sendto(bytes(1000), (b.address, PORT))
        await asyncio.sleep(100)
        assert 20 <= len(right.mail) <= 22
        assert right.mail[-1][0] == pytest.approx(0.1 * len(right.mail))

    with World(law=Law(latency_s=0, jitter_s=0, bytes_per_s=10_000, queue_s=2)) as world:
        world.run(scenario())


def test_paused_node_finds_a_bounded_number_of_datagrams_waiting() -> None:
    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        left, right = await mailbox(a), await mailbox(b)
        b.pause()
        for n in range(1000):
            left.transport.sendto(number(n), (b.address, PORT))
        await asyncio.sleep(10)
        assert right.mail == []
        b.resume()
        await asyncio.sleep(0.001)
        assert 200 < len(right.mail) < 300

    with World() as world:
        world.run(scenario())


def test_crashed_node_hears_nothing_and_its_port_is_free_for_the_next_life() -> None:
    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        left, right = await mailbox(a), await mailbox(b)
        b.crash()
        left.transport.sendto(b"to the dead", (b.address, PORT))
        await asyncio.sleep(1)
        again = await mailbox(b)
        left.transport.sendto(b"to the living", (b.address, PORT))
        await asyncio.sleep(1)
        assert right.words == []
        assert again.words == [b"to the living"]

    with World() as world:
        world.run(scenario())


def test_connected_endpoint_learns_that_nobody_listens() -> None:
    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        left = await mailbox(a, remote=(b.address, PORT))
        left.transport.sendto(b"anybody?")
        await asyncio.sleep(1)
        assert [type(error) for error in left.errors] == [ConnectionRefusedError]

    with World() as world:
        world.run(scenario())


def test_port_in_use_and_foreign_address_are_refused() -> None:
    async def foreign() -> None:
        await asyncio.get_running_loop().create_datagram_endpoint(Mailbox, local_addr=("10.9.9.9", PORT))

    async def scenario() -> None:
        node = world.node("a")
        await mailbox(node)
        with pytest.raises(OSError, match="in use"):
            await mailbox(node)
        with pytest.raises(OSError, match="not an address"):
            await node.start(foreign)

    with World() as world:
        world.run(scenario())


def test_more_traffic_elsewhere_changes_nothing_between_two_nodes() -> None:
    def play(noise: int) -> list[float]:
        async def scenario() -> list[float]:
            a, b, c = world.nodes("a", "b", "c")
            left, right = await mailbox(a), await mailbox(b)
            await mailbox(c)
            for n in range(100):
                left.transport.sendto(number(n), (b.address, PORT))
                for _ in range(noise):
                    left.transport.sendto(b"noise", (c.address, PORT))
            await asyncio.sleep(1)
            return [when for when, _, _ in right.mail]

        with World(3, law=Law(loss=0.2)) as world:
            return world.run(scenario())

    assert play(noise=0) == play(noise=3)


def test_filter_drops_by_content_and_injection_forges_a_sender() -> None:
    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        left, right = await mailbox(a), await mailbox(b)
        world.network.filters.append(lambda source, target, data: not data.startswith(b"bad"))
        left.transport.sendto(b"bad word", (b.address, PORT))
        left.transport.sendto(b"good word", (b.address, PORT))
        await asyncio.sleep(1)
        world.network.inject((a.address, 9), (b.address, PORT), b"forged")
        await asyncio.sleep(1)
        assert [(data, address) for _, data, address in right.mail] == [
            (b"good word", (a.address, PORT)),
            (b"forged", (a.address, 9)),
        ]

    with World() as world:
        world.run(scenario())


def test_event_log_tells_moment_node_and_what() -> None:
    async def scenario() -> None:
        a, b = world.nodes("a", "b")
        left = await mailbox(a)
        await asyncio.sleep(1.5)
        left.transport.sendto(b"hello", (b.address, PORT))
        world.network.cut(a, b)
        world.note("done")

    with World() as world:
        world.log.keep(packets=True)
        world.run(scenario())

    assert world.log.lines == [
        "      0.000000  a            starts (life 1)",
        "      1.500000  a            datagram 10.0.0.1:7117 -> 10.0.0.2:7117 5 bytes",
        "      1.500000  network      cut a -> b",
        "      1.500000  scenario     done",
    ]
