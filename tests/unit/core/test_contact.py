"""Who finds itself in the smaller part of a divided cluster, how soon, and who does so by mistake."""

from __future__ import annotations

import pytest

from p2pcrawl.core.membership import EventKind, MembershipConfig
from tests.unit.core.membership_world import Node, World, deaths, member, stall_at_random

ASKING = MembershipConfig(silence_s=4.0)


def apart(nodes: list[Node]) -> list[Node]:
    return [node for node in nodes if not node.machine.reaches_most]


def divide(world: World, nodes: list[Node], smaller: int) -> tuple[list[Node], list[Node]]:
    cut = world.rng.sample(nodes, smaller)
    rest = [node for node in nodes if node not in cut]
    world.partition(cut, rest)
    return cut, rest


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("size", "smaller"), [(3, 1), (5, 2), (10, 4)])
def test_smaller_part_finds_most_out_of_reach_before_the_larger_one_takes_over(
    size: int, smaller: int, seed: int
) -> None:
    world = World(seed, config=ASKING)
    cut, rest = divide(world, world.cluster(size), smaller)

    world.run_until(lambda: len(apart(cut)) == smaller, 8.0)

    assert not apart(rest)
    assert not deaths(rest)


@pytest.mark.parametrize("seed", range(3))
def test_larger_part_never_doubts_itself_and_the_smaller_one_until_it_is_healed(seed: int) -> None:
    world = World(seed, config=ASKING)
    cut, rest = divide(world, world.cluster(5), 2)
    world.run_until(lambda: len(apart(cut)) == 2, 8.0)

    for _ in range(240):
        world.run(0.25)
        assert len(apart(cut)) == 2
        assert not apart(rest)
    world.heal()

    world.run_until(lambda: not apart(cut), 30.0)


def test_partition_that_nobody_was_declared_dead_in_is_over_when_it_is_healed() -> None:
    world = World(1, config=ASKING)
    nodes = world.cluster(5)
    cut, _ = divide(world, nodes, 2)
    world.run_until(lambda: len(apart(cut)) == 2, 8.0)
    assert not deaths(cut)

    world.heal()

    world.run_until(lambda: not apart(cut), 1.0)
    assert all(node.happened(EventKind.SILENT) and node.happened(EventKind.HEARD) for node in cut)


def test_halves_are_both_out_of_reach_of_most() -> None:
    world = World(2, config=ASKING)
    nodes = world.cluster(4)

    divide(world, nodes, 2)

    world.run_until(lambda: len(apart(nodes)) == 4, 8.0)


@pytest.mark.parametrize("loss", [0.1, 0.3])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_loss_alone_leaves_most_in_reach(size: int, loss: float) -> None:
    world = World(3, loss=loss, config=ASKING)
    nodes = world.cluster(size)

    for _ in range(600):
        world.run(0.5)
        assert not apart(nodes)

    assert any(node.happened(EventKind.SUSPECTED) for node in nodes)


def test_stalls_of_a_minority_leave_most_in_reach() -> None:
    world = World(4, config=ASKING)
    nodes = world.cluster(5)
    stall_at_random(world, nodes[:2], world.now + 300.0)

    for _ in range(600):
        world.run(0.5)
        assert not apart(nodes)


def test_stopped_process_takes_nobody_for_silent_when_it_goes_on() -> None:
    world = World(5, config=ASKING)
    nodes = world.cluster(3)
    victim, stopped, other = nodes
    victim.kill()
    world.run_until(lambda: bool(stopped.happened(EventKind.SUSPECTED)), 8.0)

    stopped.pause()
    world.run(5.5)
    stopped.resume()
    assert not apart([stopped])
    world.run(3.0)

    silent = [event.member.id for _, event in stopped.happened(EventKind.SILENT)]
    assert other.machine.me.id not in silent
    assert not apart([stopped])


def test_crash_is_asked_about_only_until_it_is_declared() -> None:
    world = World(6, config=ASKING)
    nodes = world.cluster(5)
    world.run(60.0)
    before = sum(node.sent["datagrams"] for node in nodes)
    world.run(60.0)
    usual = sum(node.sent["datagrams"] for node in nodes) - before
    nodes[0].kill()
    world.run_until(lambda: len(deaths(nodes)) == 4, 60.0)
    world.run(40.0)
    before = sum(node.sent["datagrams"] for node in nodes)

    world.run(60.0)

    assert sum(node.sent["datagrams"] for node in nodes) - before <= usual


def test_nobody_is_asked_out_of_turn_unless_it_is_wanted() -> None:
    world = World(1)
    cut, _ = divide(world, world.cluster(5), 2)

    world.run(8.0)

    assert not apart(cut)
    assert not any(node.happened(EventKind.SILENT) for node in cut)
    world.run_until(lambda: len(apart(cut)) == 2, 60.0)
    assert all(len(node.happened(EventKind.DIED)) >= 3 for node in cut)


def test_who_left_in_order_is_not_missed() -> None:
    world = World(7, config=ASKING)
    nodes = world.cluster(5)
    for node in nodes[2:]:
        node.do(lambda node=node: node.machine.update_me(world.now, leaving=True))
    world.run(10.0)
    for node in nodes[3:]:
        node.do(lambda node=node: node.machine.leave(world.now, handed_over=True))
    world.run(5.0)

    nodes[2].kill()
    world.run(60.0)

    assert not apart(nodes[:2])


def test_alone_from_the_first_is_all_there_are() -> None:
    world = World(8, config=ASKING)

    alone = world.spawn(member(1, world.rng))

    assert alone.machine.reaches_most


def test_silence_too_short_for_one_lost_answer_is_refused() -> None:
    with pytest.raises(ValueError, match="silence_s"):
        MembershipConfig(silence_s=1.0).validate()
