"""A member that others have declared dead hears of it, in whichever way it is back, and once."""

from __future__ import annotations

import pytest

from p2pcrawl.core.membership.output import EventKind
from p2pcrawl.model.cluster.gossip import Dead, Gossip, Ping
from tests.unit.core.membership.membership_world import Node, World, deaths, member

FIRST = member(1, World(0).rng).address


def condemned(nodes: list[Node]) -> list[int]:
    """How often each of them heard that it was held dead."""
    return [len(node.happened(EventKind.CONDEMNED)) for node in nodes]


def test_member_that_was_cut_off_for_so_long_that_it_alone_was_declared_dead_hears_of_it() -> None:
    world = World(3)
    nodes = world.cluster(6)

    world.partition(nodes[:1], nodes[1:])
    world.run(12.0)
    world.heal()
    world.run(60.0)

    assert {event.member.id for _, event in deaths(nodes)} == {nodes[0].machine.me.id}
    assert condemned(nodes) == [1, 0, 0, 0, 0, 0]


def test_suspect_that_has_refuted_that_was_not_held_dead() -> None:
    world = World(3)
    nodes = world.cluster(6)

    world.partition(nodes[:1], nodes[1:])
    world.run(4.0)
    world.heal()
    world.run(60.0)

    assert any(node.happened(EventKind.SUSPECTED) for node in nodes[1:])
    assert condemned(nodes) == [0] * 6


def test_member_whose_refutations_got_lost_hears_that_it_was_held_dead() -> None:
    world = World(1)
    nodes = world.cluster(6)

    for node in nodes[1:]:
        world.cut(nodes[0], node)
    world.run(20.0)
    world.heal()
    world.run(60.0)

    assert nodes[0].happened(EventKind.REFUTED)
    assert condemned(nodes) == [1, 0, 0, 0, 0, 0]


def test_who_is_back_under_a_higher_incarnation_is_told_that_it_was_held_dead() -> None:
    world = World(1)
    nodes = world.cluster(3)
    gone, other = nodes[0].machine.me, nodes[1]
    nodes[0].kill()
    world.run(30.0)

    again = Ping(7, other.machine.me.id, gone.id, gone.boot, gone.incarnation + 1)
    out = other.machine.receive(world.now, gone.address, again)

    told = [update for _, message in out.datagrams if isinstance(message, Gossip) for update in message.updates]
    assert Dead(gone.id, gone.incarnation, other.machine.me.id) in told


@pytest.mark.parametrize("seed", range(3))
def test_member_that_restarts_and_takes_all_for_dead_that_it_knew_condemns_nobody(seed: int) -> None:
    world = World(seed)
    nodes = world.cluster(6)
    known = nodes[5].machine.acquaintances(world.now)
    nodes[5].kill()
    world.run(30.0)

    again = world.spawn(member(6, world.rng))
    again.machine.remember(known, world.now)
    again.do(lambda: again.machine.join(world.now, [FIRST]))
    world.run(60.0)

    assert len(again.machine.alive()) == 6
    assert condemned([*nodes[:5], again]) == [0] * 6
