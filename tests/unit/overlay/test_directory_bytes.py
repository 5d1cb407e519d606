"""What members may say to the directory's node when they mean harm: sealed rightly, and wrong inside."""

from __future__ import annotations

import asyncio
import os
import random
import sys

import pytest
import umsgpack

from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.overlay.port import DIRECTORY
from p2pcrawl.wire.sealed.datagrams import Opened
from tests.unit.conftest import Count
from tests.unit.hostile_bytes import damaged
from tests.unit.overlay.nodes import node

MEMBER = bytes(range(20))
NOBODY = ("127.0.0.1", 9)
REQUEST, RESPONSE = b"\x00", b"\x01"


async def check_hostile_rounds(rounds: int, seed: int, count: Count = range) -> None:
    """Checks that nothing escapes, each datagram is counted once, nothing is stored or awaited, and a sound request is
    served.
    """
    dice = random.Random(seed)
    sound = [
        umsgpack.packb([name, [MEMBER, *arguments]])
        for name, arguments in {
            "ping": [], "find_node": [MEMBER], "find_value": [MEMBER], "store": [MEMBER, b"\x97\xc4\x20" + bytes(300)]
        }.items()
    ]  # fmt: skip
    sound += [umsgpack.packb(answer) for answer in (True, {"value": b"x"}, [[MEMBER, "127.0.0.1", 9]])]
    async with node(join=None) as one:
        receive, directory = one.port.receivers[DIRECTORY], one.directory

        def hear(payload: bytes) -> None:
            receive(Opened(DIRECTORY, NodeId(MEMBER.hex()), bytes(8), payload, True), NOBODY)

        def heard() -> int:
            return sum(n for name, n in directory.counters.items() if name not in ("refused", "records", "awaited"))

        for number in count(rounds):
            if number % 1000 == 0:
                assert heard() == number + -(-number // 1000), f"seed {seed}, before round {number}"
                served = directory.counters["served"]
                hear(REQUEST + os.urandom(20) + sound[0])
                assert directory.counters["served"] == served + 1, f"seed {seed}, round {number}"
                assert directory.counters["records"] == directory.counters["awaited"] == 0
                await asyncio.sleep(0)
            head = dice.choice((REQUEST, REQUEST, REQUEST, RESPONSE)) + dice.randbytes(20)
            body = damaged(dice, dice.choice(sound), 1400)
            hear(head + body if dice.random() < 0.9 else damaged(dice, head + body, 1400))


async def test_hostile_requests_change_nothing_in_the_directory() -> None:
    await check_hostile_rounds(10_000, seed=1)


@pytest.mark.soak
async def test_ten_million_hostile_requests_change_nothing_in_the_directory(aloud: Count) -> None:
    await check_hostile_rounds(10_000_000, random.randrange(sys.maxsize), aloud)
