"""The overlay's promises on the simulated network: gossip, directory and links together, unmodified."""

from __future__ import annotations

import asyncio

import pytest

from p2pcrawl.core.hosts.politeness import HostNote
from p2pcrawl.core.membership.output import EventKind
from p2pcrawl.model.cluster.node import Address
from simulations.kernel.clockwork import Deadlock
from simulations.world.world import World
from tests.simulations.overlay_nodes import Peer, agree, one_directory, peers_of, until


async def gathered(peers: list[Peer]) -> None:
    """All joined through the first."""
    peers[0].start()
    await asyncio.sleep(0.5)
    for peer in peers[1:]:
        peer.start([peers[0].address])
    await until(lambda: agree(peers), 60)


def test_twenty_nodes_that_join_through_one_share_one_view_and_one_directory() -> None:
    with World(seed=1) as world:
        peers = peers_of(world, 20)

        async def scenario() -> None:
            await gathered(peers)
            await until(lambda: one_directory(peers), 60)

        world.run(scenario(), 200)

        assert not world.mishaps


def story_of(seed: int) -> str:
    with World(seed=seed) as world:
        peers = peers_of(world, 10)

        async def scenario() -> None:
            await gathered(peers)
            peers[3].node.crash()
            await asyncio.sleep(20)

        world.run(scenario(), 200)
        return world.trace


@pytest.mark.slow
def test_same_seed_gives_the_same_trace() -> None:
    assert story_of(5) == story_of(5)
    assert story_of(5) != story_of(6)


@pytest.mark.slow
def test_thirty_percent_loss_hinders_neither_joining_nor_the_living() -> None:
    with World(seed=2) as world:
        world.network.change_law(loss=0.3)
        peers = peers_of(world, 10)

        async def scenario() -> None:
            await gathered(peers)
            await asyncio.sleep(120)
            await until(lambda: agree(peers), 30)

        world.run(scenario(), 400)

        assert not world.mishaps
        assert not any(p.saw(EventKind.DIED) for p in peers)


def test_crash_is_detected_by_all_and_nobody_else_is_declared_dead() -> None:
    with World(seed=3) as world:
        peers = peers_of(world, 12)
        victim, rest = peers[4], [p for p in peers if p is not peers[4]]

        async def scenario() -> float:
            await gathered(peers)
            await asyncio.sleep(5)
            victim.node.lose_power()
            took = await until(lambda: agree(rest), 30)
            await asyncio.sleep(10)
            return took

        took = world.run(scenario(), 300)

        assert took <= 20
        assert all(set(p.saw(EventKind.DIED)) == {victim.identity.node_id} for p in rest)
        assert one_directory(rest) and {p.overlay.directory.contacts for p in rest} == {len(rest) - 1}
        assert not world.mishaps


def test_partition_of_two_minutes_heals_into_one_view_and_one_directory_within_a_minute() -> None:
    with World(seed=4) as world:
        peers = peers_of(world, 10)
        left, right = peers[:4], peers[4:]

        async def scenario() -> float:
            await gathered(peers)
            world.network.partition([p.node for p in left], [p.node for p in right])
            await asyncio.sleep(120)
            assert agree(left) and agree(right)
            world.network.heal()
            return await until(lambda: agree(peers) and one_directory(peers), 60)

        took = world.run(scenario(), 400)

        assert took <= 60
        assert not world.mishaps


@pytest.mark.parametrize("seed", [11, 12])
def test_pauses_of_up_to_five_seconds_cause_no_false_deaths(seed: int) -> None:
    with World(seed=seed) as world:
        peers = peers_of(world, 10)

        async def stall(peer: Peer) -> None:
            for _ in range(8):
                await asyncio.sleep(world.random.uniform(0, 10))
                peer.node.pause()
                await asyncio.sleep(world.random.uniform(0, 5))
                peer.node.resume()

        async def scenario() -> None:
            await gathered(peers)
            await asyncio.gather(*(stall(p) for p in peers[:4]))
            await until(lambda: agree(peers), 30)

        world.run(scenario(), 500)

        assert not any(p.saw(EventKind.DIED) for p in peers)
        assert not world.mishaps


def test_node_whose_contacts_all_moved_finds_the_cluster_through_any_living_one() -> None:
    with World(seed=6) as world:
        peers = peers_of(world, 8)
        away, rest = peers[7], peers[:7]
        moved = [Peer(world, world.node(f"elsewhere{n}")) for n in range(7)]
        for old, new in zip(rest, moved, strict=True):
            new.identity = old.identity

        async def scenario() -> None:
            await gathered(peers)
            away.node.lose_power()
            for n, (old, new) in enumerate(zip(rest, moved, strict=True)):
                old.node.lose_power()
                new.start([moved[n - 1].address if n else rest[1].address])
                await asyncio.sleep(3)
            await until(lambda: agree(moved), 60)
            # Of all the addresses it was told of, one is right.
            away.start([*(p.address for p in rest), moved[5].address])
            await until(lambda: agree([*moved, away]), 60)
            await until(lambda: one_directory([*moved, away]), 60)
            found = await away.node.call(away.overlay.directory.look_up, "peer", moved[0].identity.node_id)
            assert found is not None and moved[0].address.encode() in found.body

        world.run(scenario(), 500)

        assert not world.mishaps


def test_restart_under_a_new_identity_at_the_old_address_leaves_no_ghost_in_the_directory() -> None:
    with World(seed=7) as world:
        peers = peers_of(world, 8)
        old = peers[5]
        new = Peer(world, old.node)
        new.identity = Peer(world, world.node("another")).identity

        async def scenario() -> None:
            await gathered(peers)
            await until(lambda: one_directory(peers), 60)
            old.node.crash()
            new.start([peers[0].address])
            now = [*(p for p in peers if p is not old), new]
            await until(lambda: agree(now), 60)
            await asyncio.sleep(30)
            assert one_directory(now)
            assert {p.overlay.directory.contacts for p in now} == {len(now) - 1}

        world.run(scenario(), 300)

        assert not world.mishaps


def test_closed_node_falls_silent() -> None:
    with World(seed=8) as world:
        peers = peers_of(world, 4)

        async def scenario() -> None:
            await gathered(peers)
            await peers[1].node.call(_leave_and_close, peers[1])
            await asyncio.sleep(2)
            before = dict(peers[1].overlay.port.counters)
            await asyncio.sleep(30)
            assert peers[1].overlay.port.counters == before

        world.run(scenario(), 200)

        assert not world.mishaps
        assert all(not p.saw(EventKind.DIED) for p in peers)


def test_closed_nodes_have_no_timer_left_whatever_is_still_said_to_them() -> None:
    with World(seed=8) as world:
        peers = peers_of(world, 2)

        async def scenario() -> None:
            await gathered(peers)
            for peer in peers:
                await peer.node.call(_leave_and_close, peer)
                await peer.node.call(_join_again, peer, peers[0].address)
            await asyncio.Event().wait()

        # A timer would be something that can still happen.
        with pytest.raises(Deadlock):
            world.run(scenario(), 200)


def test_pause_of_a_host_is_told_without_the_time_that_has_passed_since() -> None:
    with World(seed=11) as world:
        peers = peers_of(world, 2)

        async def scenario() -> HostNote:
            await gathered(peers)
            await until(lambda: all(p.overlay.directory.contacts == 1 for p in peers), 60)
            await peers[0].node.call(_publish_pause, peers[0], 300.0)
            await asyncio.sleep(100)
            return await peers[1].node.call(_look_up_host, peers[1])

        note = world.run(scenario(), 400)

        assert 190 < note.pause_s <= 200


def test_idle_overlay_of_ten_stays_within_its_budget() -> None:
    with World(seed=9) as world:
        peers = peers_of(world, 10)

        async def scenario() -> list[tuple[float, float]]:
            await gathered(peers)
            await asyncio.sleep(60)
            before = [dict(p.overlay.port.counters) for p in peers]
            await asyncio.sleep(100)
            after = [p.overlay.port.counters for p in peers]
            return [((a["sent"] - b["sent"]) / 100, (a["sent_bytes"] - b["sent_bytes"]) / 100) for a, b in
                    zip(after, before, strict=True)]  # fmt: skip

        rates = world.run(scenario(), 400)

        assert max(messages for messages, _ in rates) <= 20
        assert max(size for _, size in rates) <= 10_000


@pytest.mark.slow
def test_overlay_of_forty_does_not_bootstrap_its_directory_for_ever() -> None:
    """A directory's node keeps some contacts, not all: fewer contacts than members is how it is meant to be."""
    with World(seed=10) as world:
        peers = peers_of(world, 40)

        async def scenario() -> float:
            await gathered(peers)
            await asyncio.sleep(60)
            before = sum(p.overlay.directory.counters["served"] for p in peers)
            await asyncio.sleep(60)
            return (sum(p.overlay.directory.counters["served"] for p in peers) - before) / 40 / 60

        assert world.run(scenario(), 400) <= 10


async def _join_again(peer: Peer, address: Address) -> None:
    peer.overlay.gossip.join([address])


async def _publish_pause(peer: Peer, pause_s: float) -> None:
    await peer.overlay.directory.publish_host("a.example", HostNote(pause_s=pause_s))


async def _look_up_host(peer: Peer) -> HostNote:
    return await peer.overlay.directory.host("a.example")


async def _leave_and_close(peer: Peer) -> None:
    await peer.overlay.leave(handed_over=True)
    await peer.overlay.close()
