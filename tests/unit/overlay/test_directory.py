"""The directory among members of whom one lies."""

from __future__ import annotations

import asyncio
import os

import pytest
import umsgpack

from p2pcrawl.core.hosts.politeness import HostNote
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.overlay import kademlia_node
from p2pcrawl.overlay import node as node_module
from p2pcrawl.overlay.port import DIRECTORY
from p2pcrawl.wire.sealed.datagrams import Opened
from tests.unit.overlay.nodes import node, until

RESPONSE = b"\x01"

pytestmark = pytest.mark.usefixtures("impatient")


@pytest.mark.slow
async def test_member_that_lies_in_the_directory_is_survived(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Wrong types, contacts that are no addresses, values for other keys, deep nesting: look-ups end, and rightly."""
    lies = [
        None, 5, "text", b"x", [], {}, {"value": 5}, {"value": b"junk"}, {"value": [b"x"]}, {"value": b"x", "age": -1},
        [[1, 2, 3]], [[b"x" * 20]],
        [[b"x" * 20, "not-an-address", 7]], [[b"x" * 20, "::1", 7]], [[b"x" * 20, "127.0.0.1", 0]],
        [[b"x" * 20, "127.0.0.1", 1 << 40]], [[b"x" * 19, "127.0.0.1", 9]], [[b"y" * 20, "255.255.255.255", 9]],
        [[b"y" * 20, "fe80::1%lo", 9]], [[os.urandom(20), "127.0.0.1", 9] for _ in range(25)], True, -1, 1.5,
    ]  # fmt: skip
    monkeypatch.setattr(kademlia_node, "ANSWER_S", 0.02)
    async with node() as one, node(join=(one.address,)) as liar:
        await until(lambda: one.directory.contacts == 1 and liar.directory.contacts == 1)
        await until(lambda: all(n.directory.counters["records"] for n in (one, liar)))
        told, honest = None, liar.port.receivers[DIRECTORY]

        def answer(opened: Opened, address: tuple[str, int]) -> None:
            kind, number = opened.payload[:1], opened.payload[1:21]
            if kind == RESPONSE:
                honest(opened, address)
            else:
                liar.port.sender.send(DIRECTORY, RESPONSE + number + umsgpack.packb(told), address)

        liar.port.receivers[DIRECTORY] = answer
        for lie in lies:
            told = lie
            async with asyncio.timeout(8):
                assert await one.directory.owner(17) is None
                assert await one.directory.host("a.example") is None
                assert await one.directory.publish_owner(18, 1, one.address) >= 0
                # What it asks is as it should be, so that it is a contact again.
                await liar.directory.join([one.address])

        assert one.directory.counters["awaited"] == 0
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_upkeep_outlives_a_failure_of_the_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_module, "LOOK_S", 0.01)
    async with node(join=None) as one:
        calls_ = 0

        async def broken(addresses: object) -> int:
            nonlocal calls_
            calls_ += 1
            raise ConfigurationError("no address")

        one.directory.join = broken
        one.join(())
        async with node(join=(one.address,)):
            await until(lambda: calls_ >= 3)


async def test_owner_and_host_that_one_says_are_found_by_another() -> None:
    async with node() as one, node(join=(one.address,)) as two:
        await until(lambda: one.directory.contacts == 1 and two.directory.contacts == 1)

        async with asyncio.timeout(8):
            assert await one.directory.publish_owner(17, 3, one.address) == 2
            assert await one.directory.publish_host("a.example", HostNote(5.0, 2.0, 300.0)) == 2
            owner, host = await two.directory.owner(17), await two.directory.host("a.example")

        assert (owner.owner, owner.counter, owner.address) == (one.me, 3, one.address)
        assert 0 <= owner.age_s < 8
        assert (host.delay_s, host.penalty_s) == (5.0, 2.0)
        assert 290 < host.pause_s <= 300


async def test_later_word_on_a_host_replaces_that_of_another_master() -> None:
    async with node() as one, node(join=(one.address,)) as two:
        await until(lambda: one.directory.contacts == 1 and two.directory.contacts == 1)
        async with asyncio.timeout(8):
            await one.directory.publish_host("a.example", HostNote(delay_s=5.0))
            await one.directory.publish_host("a.example", HostNote(delay_s=6.0))

            await two.directory.publish_host("a.example", HostNote(delay_s=7.0))

            assert await one.directory.host("a.example") == HostNote(delay_s=7.0)


async def test_lower_epoch_is_published_to_nobody() -> None:
    async with node() as one, node(join=(one.address,)) as two:
        await until(lambda: one.directory.contacts == 1 and two.directory.contacts == 1)
        await until(lambda: len(one.members()) == len(two.members()) == 2)
        async with asyncio.timeout(8):
            await one.directory.publish_owner(17, 3, one.address)

            assert await two.directory.publish_owner(17, 2, two.address) == 0

            assert (await two.directory.owner(17)).owner == one.me


async def test_call_to_a_peer_that_was_not_heard_of_is_answered_after_a_knock() -> None:
    async with node(join=None) as one, node(join=None) as two:
        async with asyncio.timeout(5):
            assert await one.directory.join([two.address]) == 1

        assert one.port.knocks.counters["knocks"] == 1
        assert two.directory.counters["served"] >= 1
