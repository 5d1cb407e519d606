"""What one that has the cluster key says of others under incarnations that nobody has: it does not stand for long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from p2pcrawl.core.membership.leaps import FIRST_MAX, LEAP, STEP, reached
from p2pcrawl.core.membership.swim import Membership, MembershipConfig
from p2pcrawl.model.cluster.gossip import Ack, Alive, Dead, Entry, Gossip, Left, Message, Ping, PushPull, Suspect
from p2pcrawl.model.cluster.node import INCARNATION_MAX, Member, NodeId, Status
from p2pcrawl.model.timings import TIMINGS
from tests.unit.core.membership.membership_world import Node, World, member

INSIDER = NodeId("e" * 40)


def said(victim: Member, incarnation: int, kind: int, by: NodeId = INSIDER) -> Message:
    """Makes one of all the messages by which an incarnation can be said of a member in a datagram."""
    forged = replace(victim, incarnation=incarnation)
    ways: tuple[Callable[[], Message], ...] = (
        lambda: Gossip(by, (Alive(forged),)),
        lambda: Gossip(by, (Suspect(victim.id, incarnation, by),)),
        lambda: Gossip(by, (Dead(victim.id, incarnation, by),)),
        lambda: Gossip(by, (Left(victim.id, incarnation),)),
        lambda: Ping(1, victim.id, victim.id, victim.boot, incarnation),
        lambda: Ack(1, victim.id, victim.boot, incarnation, 0),
        lambda: Gossip(by, (Alive(replace(forged, boot=b"another.")),)),
    )
    return ways[kind % len(ways)]()


def tell(world: World, node: Node, message: Message) -> None:
    node.do(lambda: node.machine.receive(world.now, node.address, message))


def all_count(nodes: list[Node], victim: Member) -> bool:
    return all(node.machine.members[victim.id].status is Status.ALIVE for node in nodes)


@pytest.mark.parametrize("incarnation", [INCARNATION_MAX, INCARNATION_MAX - 1, FIRST_MAX + 1, LEAP, STEP + 2, 7])
@pytest.mark.parametrize("kind", range(7))
def test_no_rumour_about_a_member_that_lives_stands_for_a_minute(kind: int, incarnation: int) -> None:
    world = World(1)
    nodes = world.cluster(5)
    victim = nodes[2].machine.me

    for node in nodes:
        tell(world, node, said(victim, incarnation, kind))
        tell(world, node, said(victim, incarnation, 2))
    world.run(60.0)

    assert all_count(nodes, victim)
    assert {node.machine.view_digest for node in nodes} == {nodes[0].machine.view_digest}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_storm_of_absurd_rumours_is_over_when_it_ends(seed: int) -> None:
    world, dice = World(seed), Random(seed)
    nodes = world.cluster(6)
    victims = [node.machine.me for node in nodes]

    for _ in range(3000):
        victim = dice.choice(victims)
        known = dice.choice(nodes).machine.members[victim.id].incarnation
        ahead = dice.choice((0, 1, STEP, STEP + 1, LEAP, LEAP + 1, dice.randrange(1, 1 << 62)))
        target = dice.choice(nodes)
        tell(world, target, said(victim, min(known + ahead, INCARNATION_MAX), dice.randrange(7)))
        world.run(dice.expovariate(10.0))
    world.run(90.0)

    assert all(all_count(nodes, victim) for victim in victims)
    assert max(node.machine.me.incarnation for node in nodes) < 60 * LEAP


def test_newcomer_that_is_told_an_absurd_past_of_itself_is_heard_by_all_others() -> None:
    """The member through which it joins lies; the others never knew such an incarnation."""
    world = World(3)
    nodes = world.cluster(4)
    me = member(9, world.rng)
    newcomer = world.spawn(me)
    newcomer.do(lambda: newcomer.machine.join(world.now, [nodes[0].address]))
    lie = Entry(replace(me, incarnation=INCARNATION_MAX - 1, boot=b"earlier."), INCARNATION_MAX - 1, Status.DEAD, 1.0)
    others = tuple(Entry(node.machine.me, node.machine.me.incarnation, Status.ALIVE) for node in nodes)

    view = PushPull(nodes[0].machine.me.id, nodes[0].machine.me.boot, False, (lie, *others))
    newcomer.do(lambda: newcomer.machine.receive_push_pull(world.now, nodes[0].address, view))
    world.run(60.0)

    assert all_count([*nodes, newcomer], me)


def test_newcomer_does_not_take_in_members_that_cannot_be() -> None:
    rng = Random(1)
    machine = Membership(member(1, rng), MembershipConfig(), Random(1))
    other = member(2, rng)

    for incarnation in (FIRST_MAX + 1, INCARNATION_MAX):
        machine.receive(0.0, other.address, Gossip(other.id, (Alive(replace(other, incarnation=incarnation)),)))
        assert other.id not in machine.members

    machine.receive(0.0, other.address, Gossip(other.id, (Alive(other),)))
    assert other.id in machine.members


def test_one_leap_in_a_while_is_in_reach_and_no_longer_one() -> None:
    dead, alive = Status.DEAD, Status.ALIVE

    assert reached(5, 5 + STEP, dead, 0.0, 0.0) == 5 + STEP
    assert reached(5, 5 + LEAP, dead, 0.0, TIMINGS.leap_every_s) == 5 + LEAP
    assert reached(5, 5 + LEAP, dead, 0.1, TIMINGS.leap_every_s) is None
    assert reached(5, 6 + LEAP, dead, 0.0, 1e9) is None
    assert reached(5, 9 * LEAP, alive, 0.0, 1e9) == 5 + LEAP
    assert reached(5, 9 * LEAP, alive, 0.1, TIMINGS.leap_every_s) is None
