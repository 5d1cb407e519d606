"""The directory among members of whom one lies."""

from __future__ import annotations

import asyncio
import os

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.node import parse_address
from tests.unit.overlay.nodes import node, until


async def test_member_that_lies_in_the_directory_is_survived() -> None:
    """Wrong types, contacts that are no addresses, values for other keys, deep nesting: look-ups end, and rightly."""
    lies = [
        None, 5, "text", b"x", [], {}, {"value": 5}, {"value": b"junk"}, {"value": [b"x"]}, [[1, 2, 3]], [[b"x" * 20]],
        [[b"x" * 20, "not-an-address", 7]], [[b"x" * 20, "::1", 7]], [[b"x" * 20, "127.0.0.1", 0]],
        [[b"x" * 20, "127.0.0.1", 1 << 40]], [[b"x" * 19, "127.0.0.1", 9]], [[b"y" * 20, "255.255.255.255", 9]],
        [[b"y" * 20, "fe80::1%lo", 9]], [[os.urandom(20), "127.0.0.1", 9] for _ in range(25)], True, -1, 1.5,
    ]  # fmt: skip
    async with node() as one, node(join=(one.address,)) as liar:
        await until(lambda: one.directory.contacts == 1 and liar.directory.contacts == 1)
        await until(lambda: liar.directory.records >= 1 and one.directory.records >= 1)
        protocol = liar.directory._server.protocol
        one.directory._server.protocol._wait_timeout = 0.02
        for lie in lies:
            for name in ("ping", "store", "find_node", "find_value"):
                monkey = lambda *a, lie=lie: lie  # noqa: E731
                setattr(protocol, f"rpc_{name}", monkey)
            async with asyncio.timeout(8):
                assert await one.directory.look_up("owner", "17") is None
                assert await one.directory.publish("owner", "18", b"x") >= 0
            protocol.welcome_if_new(one.directory._server.node)
            one.directory._server.protocol.welcome_if_new(liar.directory._server.node.__class__(
                liar.directory._server.node.id, *parse_address(liar.address)))  # fmt: skip

        assert not one._upkeep.done()
        assert not one.directory._server.protocol._outstanding


async def test_upkeep_outlives_a_failure_of_the_directory() -> None:
    async with node(join=None) as one:
        calls_ = 0

        async def broken(addresses: object) -> int:
            nonlocal calls_
            calls_ += 1
            raise ConfigurationError("no address")

        one.directory.join = broken
        one.join(())
        async with node(join=(one.address,)):
            await until(lambda: calls_ >= 1)
            await asyncio.sleep(0.05)
            assert not one._upkeep.done()
