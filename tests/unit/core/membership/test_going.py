"""Ways to go: in order, with everything handed over; and all others, after which a member is missing."""

from __future__ import annotations

from random import Random

import pytest

from p2pcrawl.core.membership.swim import EventKind, Membership, MembershipConfig
from p2pcrawl.model.cluster.gossip import Ack, Dead, Entry, Gossip, Left, Message, Ping
from p2pcrawl.model.cluster.node import Address, NodeId, Status
from tests.unit.core.membership.membership_world import Node, World, member


def missing(node: Node) -> set[NodeId]:
    return {m.id for m in node.machine.missing()}


def go(node: Node, world: World, *, handed_over: bool) -> None:
    node.do(lambda: node.machine.leave(world.now, handed_over=handed_over))


def test_who_handed_everything_over_is_not_missing() -> None:
    world = World(1)
    nodes = world.cluster(4)

    go(nodes[3], world, handed_over=True)
    world.run(3.0)
    nodes[3].kill()
    world.run(60.0)

    assert [missing(node) for node in nodes[:3]] == [set()] * 3


def test_who_goes_without_having_handed_over_is_missing_at_once_for_all() -> None:
    world = World(1)
    nodes = world.cluster(4)

    go(nodes[3], world, handed_over=False)
    world.run_until(lambda: nodes[3].machine.quiet, 3.0)
    nodes[3].kill()
    world.run(1.0)

    assert [missing(node) for node in nodes[:3]] == [{nodes[3].machine.me.id}] * 3
    assert all(len(node.happened(EventKind.DIED)) == 1 for node in nodes[:3])
    assert all(len(node.machine.alive()) == 3 for node in nodes[:3])


def test_who_is_killed_while_it_leaves_is_missing() -> None:
    world = World(1)
    nodes = world.cluster(4)
    nodes[3].do(lambda: nodes[3].machine.update_me(world.now, leaving=True))
    world.run(3.0)

    nodes[3].kill()
    world.run(60.0)

    assert [missing(node) for node in nodes[:3]] == [{nodes[3].machine.me.id}] * 3


def test_nothing_refutes_the_good_bye_of_one_that_goes_without_having_handed_over() -> None:
    world = World(1)
    nodes = world.cluster(3)

    go(nodes[2], world, handed_over=False)
    world.run(20.0)  # It is still there, hears that it is dead, and answers.

    assert nodes[2].machine.me.status is Status.DEAD
    assert [missing(node) for node in nodes[:2]] == [{nodes[2].machine.me.id}] * 2


@pytest.mark.parametrize("handed_over", [True, False])
def test_who_comes_back_is_missing_no_more(handed_over: bool) -> None:
    world = World(1)
    nodes = world.cluster(3)
    go(nodes[2], world, handed_over=handed_over)
    world.run(3.0)
    nodes[2].kill()

    world.spawn(member(3, world.rng), [nodes[0].address])
    world.run(20.0)

    assert [missing(node) for node in nodes[:2]] == [set(), set()]
    assert [len(node.machine.alive()) for node in nodes[:2]] == [3, 3]


def test_newcomers_are_told_who_is_missing() -> None:
    world = World(1)
    nodes = world.cluster(3)
    go(nodes[2], world, handed_over=False)
    world.run(3.0)
    nodes[2].kill()

    newcomer = world.spawn(member(9, world.rng), [nodes[0].address])
    world.run(5.0)

    assert missing(newcomer) == {nodes[2].machine.me.id}


def test_who_stood_still_meanwhile_misses_the_last_one_that_went_alone() -> None:
    world = World(1)
    one, two = world.cluster(2)
    two.pause()
    world.run(22.0)
    assert missing(one) == {two.machine.me.id}

    go(one, world, handed_over=False)
    world.run(3.0)
    one.kill()
    two.resume()
    world.run(40.0)

    assert missing(two) == {one.machine.me.id}


def test_who_was_away_misses_nobody_when_it_has_met_those_that_took_over() -> None:
    world = World(1)
    nodes = world.cluster(3)
    nodes[2].pause()
    world.run(30.0)

    go(nodes[1], world, handed_over=True)
    world.run(3.0)
    nodes[1].kill()
    nodes[2].resume()
    world.run(60.0)

    assert [missing(node) for node in (nodes[0], nodes[2])] == [set(), set()]


@pytest.mark.parametrize("seed", range(5))
def test_who_was_away_misses_one_that_handed_over_to_a_stranger_who_died_since(seed: int) -> None:
    world = World(seed)
    one, two = world.cluster(2)
    two.pause()
    world.run(20.0)
    stranger = world.spawn(member(9, world.rng), [one.address])
    world.run(3.0)
    # Nothing that the newcomer said of itself came through, so the other does not know that there is one.
    two.waiting.clear()

    go(one, world, handed_over=True)
    world.run(3.0)
    one.kill()
    stranger.kill()
    two.resume()
    world.run(60.0)

    assert missing(two) & {one.machine.me.id, stranger.machine.me.id}


def test_two_that_disagree_on_how_one_went_agree_that_it_handed_over() -> None:
    world = World(1)
    nodes = world.cluster(4)
    world.partition(nodes[:2], nodes[2:])
    world.run(60.0)
    go(nodes[0], world, handed_over=True)
    world.run(3.0)
    nodes[0].kill()
    assert nodes[0].machine.me.id in missing(nodes[2])

    world.heal()
    world.run(90.0)

    assert [missing(node) for node in nodes[1:]] == [set()] * 3


# -- who is told ---------------------------------------------------------------------------------------------------


def departed(handed_over: bool, *, counts: bool) -> tuple[Membership, NodeId, Address]:
    """Makes a member that has said good-bye, and another that counts with it or is dead to it."""
    rng = Random(1)
    me, other, third = member(1, rng), member(2, rng), member(3, rng)
    machine = Membership(me, MembershipConfig(), Random(1))
    machine.start(0.0)
    machine.join(0.0, [])
    machine.receive(0.0, third.address, Gossip(third.id, ()))
    machine.remember([Entry(other, 1, Status.DEAD)], 0.0)
    if counts:
        machine.receive(0.1, other.address, Ping(1, me.id, other.id, other.boot, 2))
    machine.leave(0.2, handed_over=handed_over)
    return machine, other.id, other.address


def said(messages: list[tuple[Address, Message]]) -> set[type]:
    return {type(u) for _, m in messages if isinstance(m, Ack | Gossip) for u in m.updates if u.id.endswith("01")}


@pytest.mark.parametrize(
    ("handed_over", "counts", "told"),
    [(True, True, Left), (True, False, Dead), (False, True, Dead), (False, False, Dead)],
)
def test_that_all_was_handed_over_is_said_only_to_those_that_know_to_whom(
    handed_over: bool, counts: bool, told: type
) -> None:
    machine, other, address = departed(handed_over, counts=counts)

    out = machine.receive(0.3, address, Ping(7, machine.me.id, other, bytes(8), 1))

    assert said(out.datagrams) == {told}


# -- what outlives a restart ---------------------------------------------------------------------------------------


def restarted(entries: list[Entry], at: float = 0.0) -> Membership:
    machine = Membership(member(1, Random(1)), MembershipConfig(), Random(1))
    machine.remember(entries, at)
    return machine


def test_an_earlier_run_tells_who_is_missing_and_who_had_left() -> None:
    rng = Random(2)
    alive, dead, left = (member(n, rng) for n in (2, 3, 4))

    machine = restarted([
        Entry(alive, 1, Status.ALIVE), Entry(dead, 4, Status.DEAD, 60.0), Entry(left, 5, Status.LEFT, 60.0),
    ])  # fmt: skip

    assert {m.id for m in machine.missing()} == {alive.id, dead.id}
    assert machine.members[left.id].status is Status.LEFT
    again = restarted(list(machine.acquaintances(10.0)))
    assert {m.id for m in again.missing()} == {alive.id, dead.id}
    assert again.members[left.id].incarnation == 5


def test_who_has_been_away_for_long_enough_over_several_runs_is_forgotten() -> None:
    gone, forget_s = member(2, Random(2)), MembershipConfig().dead_forget_s

    machine = restarted([Entry(gone, 1, Status.DEAD, forget_s / 2)])
    assert [m.id for m in machine.missing()] == [gone.id]
    [entry] = machine.acquaintances(forget_s / 2 + 1.0)

    assert restarted([entry]).missing() == []


def test_that_one_left_is_told_to_who_was_away_and_only_remembers_it() -> None:
    """Also when all that saw it leave have been restarted since."""
    world = World(1)
    nodes = world.cluster(2)
    left = member(7, world.rng)
    nodes[0].machine.remember([Entry(left, 3, Status.LEFT, 100.0)], world.now)
    nodes[1].machine.remember([Entry(left, 2, Status.ALIVE)], world.now)
    assert missing(nodes[1]) == {left.id}

    world.run(90.0)

    assert [missing(node) for node in nodes] == [set(), set()]


def test_a_disk_that_comes_back_under_another_name_is_missed_no_more() -> None:
    world = World(1)
    nodes = world.cluster(2)
    lost = nodes[1].machine.me
    nodes[1].kill()
    world.run_until(lambda: missing(nodes[0]) == {lost.id}, 60.0)

    world.spawn(member(9, world.rng, store=lost.store), [nodes[0].address])
    world.run(10.0)

    assert missing(nodes[0]) == set()


def test_whatever_changes_in_what_is_known_gives_another_revision() -> None:
    """Also where nothing happens: a member that was dead before anybody here had heard of it."""
    machine, other = restarted([]), member(2, Random(2))
    before = machine.revision

    machine.remember([Entry(other, 1, Status.DEAD)], 0.0)

    assert machine.revision != before
