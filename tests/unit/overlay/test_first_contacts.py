"""What an outsider can do with datagrams that he recorded when peers met."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager

import pytest

from p2pcrawl.model.cluster.node import parse_address
from p2pcrawl.overlay.node import OverlayNode
from p2pcrawl.overlay.port import Port
from tests.unit.overlay.nodes import node, until

pytestmark = pytest.mark.usefixtures("impatient")


class Tap:
    """Between a port and its socket: keeps what goes out."""

    def __init__(self, transport: asyncio.DatagramTransport, sent: list[bytes]) -> None:
        self.transport = transport
        self.sent = sent

    def sendto(self, data: bytes, to: object) -> None:
        self.sent.append(data)
        self.transport.sendto(data, to)

    def __getattr__(self, name: str) -> object:
        return getattr(self.transport, name)


@contextmanager
def tapped() -> Iterator[list[bytes]]:
    """All datagrams of the ports that are opened in the block."""
    sent: list[bytes] = []

    def made(self: Port, transport: asyncio.DatagramTransport) -> None:
        connection_made(self, Tap(transport, sent))

    connection_made = Port.connection_made
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Port, "connection_made", made)
        yield sent


async def play(datagrams: list[bytes], to: OverlayNode) -> None:
    """Sends them from an address of nobody, and waits until they were read."""
    before = to.port.counters["received"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for number, data in enumerate(datagrams, 1):
            sock.sendto(data, parse_address(to.address))
            await until(lambda number=number: to.port.counters["received"] >= before + number)


async def recorded_meeting() -> tuple[list[bytes], str]:
    """A peer that meets another one, is heard of, and goes: what it sent, and its id."""
    async with node() as seed, AsyncExitStack() as stack:
        with tapped() as sent:
            ghost = await stack.enter_async_context(node(join=None))
        ghost.join((seed.address,))
        await until(lambda: len(seed.members()) == len(ghost.members()) == 2)
        await until(lambda: ghost.directory.contacts == 1)
        await ghost.leave(handed_over=True)
        return list(sent), ghost.me


@pytest.mark.slow
async def test_replayed_first_contacts_bring_no_ghost_into_a_cluster_that_knows_nothing_of_it() -> None:
    datagrams, ghost = await recorded_meeting()
    async with node() as one, node(join=(one.address,)) as two:
        await until(lambda: len(one.members()) == len(two.members()) == 2)
        view, contacts = one.membership.view_digest, one.directory.contacts

        await play(datagrams, one)

        assert ghost not in one.membership.members
        told = one.membership.push_pull_message(asyncio.get_running_loop().time())
        assert ghost not in [entry.member.id for entry in told.entries]
        assert one.membership.view_digest == view
        assert one.directory.contacts <= max(contacts, 1)
        assert one.gossip.exchanges_failed == 0


@pytest.mark.slow
async def test_first_contacts_carry_nothing_but_a_knock() -> None:
    datagrams, _ = await recorded_meeting()

    open_to_all = [data for data in datagrams if data[34:42] == bytes(8)]
    assert open_to_all
    assert {data[1] for data in open_to_all} == {0}
