"""One port for datagrams and links, and what arrives there from strangers."""

from __future__ import annotations

import asyncio
import socket
from random import Random

import pytest
import umsgpack

from p2pcrawl.model.cluster.node import parse_address
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.overlay.link import PeerLink
from p2pcrawl.overlay.port import DIRECTORY, GOSSIP, Port
from p2pcrawl.wire.sealed.keys import generate_key
from tests.unit.overlay.nodes import credentials, node, seal_of, until


async def test_hostile_datagrams_change_nothing_and_are_counted() -> None:
    """Random, truncated, repeated and forged ones, on both channels and channels that there are not."""
    dice = Random(3)
    async with node() as one, node(join=(one.address,)) as two:
        await until(lambda: len(one.members()) == len(two.members()) == 2)
        member = seal_of(credentials())
        stranger = seal_of(credentials(key=generate_key()))
        view, records = one.membership.view_digest, one.directory.counters["records"]
        deep = b"\x91" * 1300
        good = [
            member.seal(channel, payload)
            for channel in (GOSSIP, DIRECTORY, 0, 7, 255)
            for payload in (b"", b"\xc1", deep, dice.randbytes(1000), umsgpack.packb(["ping", [b"x" * 20]]))
        ]
        crowd = [
            *(dice.randbytes(dice.randrange(1500)) for _ in range(500)),
            *(d[: dice.randrange(len(d))] for d in good for _ in range(5)),
            *(bytes(_flipped(d, dice)) for d in good for _ in range(20)),
            *(d for d in good for _ in range(3)),
            *(stranger.seal(GOSSIP, dice.randbytes(50)) for _ in range(50)),
        ]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)
            for number, data in enumerate(crowd):
                sock.sendto(data, parse_address(one.address))
                if number % 50 == 0:
                    await asyncio.sleep(0.001)
        await asyncio.sleep(0.1)

        assert one.membership.view_digest == view
        assert one.directory.counters["records"] == records
        assert sum(one.counters()["datagrams"].values()) > 0
        await until(lambda: len(one.members()) == len(two.members()) == 2)


def _flipped(data: bytes, dice: Random) -> bytearray:
    changed = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    return changed


async def test_port_in_use_is_told_in_one_line() -> None:
    def unused() -> PeerLink:
        raise AssertionError("nobody gets in")

    async with node(join=None) as one:
        host, port = parse_address(one.address)
        with pytest.raises(ConfigurationError, match="in use"):
            await Port(seal_of(credentials())).open(host, port, unused)
