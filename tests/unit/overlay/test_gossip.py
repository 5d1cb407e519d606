"""Gossip between real nodes."""

from __future__ import annotations

import asyncio

import pytest

from p2pcrawl.model.cluster.node import Address
from p2pcrawl.model.errors import LinkError
from p2pcrawl.overlay.calls import Caller
from p2pcrawl.overlay.gossip import EXCHANGES_MAX, GossipDriver
from p2pcrawl.wire.messages.gossip import encode_push_pull
from p2pcrawl.wire.messages.peer_messages import Sync
from tests.unit.overlay.nodes import credentials, node, until


async def test_view_sent_in_the_name_of_another_is_refused() -> None:
    async with node() as one, node(join=(one.address,)) as two:
        await until(lambda: len(one.members()) == len(two.members()) == 2)
        liar = Caller(credentials().client)
        view = encode_push_pull(two.membership.push_pull_message(asyncio.get_running_loop().time()))

        with pytest.raises(LinkError, match="refused Sync"):
            await liar.call(one.address, Sync(0, view))

        liar.close()


async def test_whoever_joins_through_many_asks_the_last_of_them_too_while_the_first_do_not_answer() -> None:
    """They were left out, each time anew: a master that came back among many dead did not find the living one."""
    asked: list[Address] = []
    silent = asyncio.Event()
    addresses = [Address(f"127.0.0.1:{port}") for port in range(9_001, 9_001 + 2 * EXCHANGES_MAX + 1)]

    async def exchange(address: Address, view: bytes) -> bytes:
        asked.append(address)
        await silent.wait()
        raise LinkError("nobody is there")

    async with node() as one:
        driver = GossipDriver(one.membership, one.port, exchange, lambda event: None)
        driver.start(addresses)
        await until(lambda: len(asked) == EXCHANGES_MAX)
        before = not one.membership.unasked
        silent.set()
        await until(lambda: len(asked) == len(addresses))
        await until(lambda: not one.membership.unasked)
        await driver.close()

    assert not before
    assert asked == addresses
