"""Membership over a simulated network: who is found, who is declared dead, and who comes back."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest

from p2pcrawl.core.membership.suspicion import Suspicions
from p2pcrawl.core.membership.swim import EventKind, Membership, MembershipConfig
from p2pcrawl.model.cluster.gossip import Ack, Alive, Entry, Gossip, Ping, PingRequest, PushPull, Suspect
from p2pcrawl.model.cluster.node import Address, NodeId, Status
from p2pcrawl.model.errors import ConfigurationError
from tests.unit.core.membership.membership_world import Node, World, deaths, member, stall_at_random

FIRST = Address("10.0.0.1:7117")


LONG = Address("h" * 253 + ":7118")
"""Makes a large member."""


def agree(nodes: list[Node]) -> bool:
    return len({node.machine.view_digest for node in nodes}) == 1


def test_members_that_join_through_one_of_them_find_each_other() -> None:
    world = World(1)

    nodes = world.cluster(10)

    assert agree(nodes)
    assert all(len(node.machine.members) == 10 for node in nodes)


@pytest.mark.slow
def test_those_that_join_in_the_same_moment_all_know_each_other_when_they_have_asked_again() -> None:
    world = World(1)
    nodes = [world.spawn(member(n, world.rng), [FIRST] if n > 1 else []) for n in range(1, 101)]

    world.run_until(lambda: all(len(node.machine.alive()) == 100 for node in nodes), 2.0)

    assert agree(nodes)
    world.run(4.0)
    assert sum(node.sent["exchanges"] for node in nodes) <= 3.5 * len(nodes)


def test_newcomer_passes_on_nothing_of_what_it_is_told() -> None:
    rng = Random(1)
    me, others = member(1, rng), [member(n, rng) for n in range(2, 30)]
    machine = Membership(me, MembershipConfig(), Random(1))
    machine.start(0.0)
    machine.join(0.0, [others[0].address])

    out = machine.receive_push_pull(0.1, others[0].address, PushPull(others[0].id, others[0].boot, False, [
        Entry(other, other.incarnation, other.status, 0.0) for other in others
    ]))  # fmt: skip

    assert len(machine.alive()) == 29
    told = [update for _, message in out.datagrams if isinstance(message, Gossip) for update in message.updates]
    assert {update.id for update in told} == {me.id}


def test_join_keeps_trying_an_address_until_somebody_is_there() -> None:
    world = World(1)
    late = world.spawn(member(2, world.rng), [FIRST])
    world.run(60.0)
    assert [m.id for m in late.machine.alive()] == [late.machine.me.id]

    first = world.spawn(member(1, world.rng))

    world.run_until(lambda: len(first.machine.alive()) == 2 and agree([first, late]), 35.0)


def test_two_that_join_each_other_at_the_same_moment_find_each_other() -> None:
    world = World(1)
    one = world.spawn(member(1, world.rng), [Address("10.0.0.2:7117")])
    two = world.spawn(member(2, world.rng), [FIRST])

    world.run_until(lambda: len(one.machine.alive()) == len(two.machine.alive()) == 2, 10.0)


@pytest.mark.parametrize("seed", range(5))
def test_killed_member_is_declared_dead_by_all(seed: int) -> None:
    world = World(seed)
    nodes = world.cluster(10)
    killed_at = world.now

    nodes[4].kill()
    world.run(20.0)

    found = deaths(nodes)
    assert len(found) == 9
    assert {event.member.id for _, event in found} == {nodes[4].machine.me.id}
    assert max(at for at, _ in found) - killed_at <= 15.0
    assert agree([node for node in nodes if node is not nodes[4]])


def test_death_in_a_pair_is_detected_by_the_one_that_is_left() -> None:
    world = World(1)
    one, two = world.cluster(2)

    two.kill()

    world.run_until(lambda: len(one.machine.alive()) == 1, 15.0)


def test_suspicion_is_refuted_by_a_higher_incarnation() -> None:
    world = World(1)
    nodes = world.cluster(5)
    suspect = nodes[2].machine.me
    rumour = Gossip(nodes[0].machine.me.id, (Suspect(suspect.id, suspect.incarnation, nodes[0].machine.me.id),))

    nodes[1].do(lambda: nodes[1].machine.receive(world.now, nodes[0].address, rumour))
    assert nodes[1].machine.members[suspect.id].status is Status.SUSPECT
    world.run(5.0)

    assert nodes[2].machine.me.incarnation == suspect.incarnation + 1
    assert {node.machine.members[suspect.id].status for node in nodes} == {Status.ALIVE}
    assert nodes[1].happened(EventKind.REFUTED) and not deaths(nodes)


@pytest.mark.slow
@pytest.mark.parametrize(("stalled", "seed"), [(1, 1), (4, 2), (4, 3)])
def test_stalls_of_up_to_five_seconds_kill_nobody(stalled: int, seed: int) -> None:
    world = World(seed)
    nodes = world.cluster(10)

    stall_at_random(world, nodes[:stalled], world.now + 600.0)
    world.run(600.0)

    assert sum(node.machine.stalls for node in nodes) > 0
    assert deaths(nodes) == []


@pytest.mark.slow
def test_without_the_allowance_for_own_stalls_somebody_is_declared_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: the tests of stalls would see it if the defence were gone."""
    monkeypatch.setattr(Suspicions, "put_off", lambda *stalled: None)
    world = World(0)
    nodes = world.cluster(10)

    stall_at_random(world, nodes[:4], world.now + 600.0)
    world.run(600.0)

    assert deaths(nodes) != []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_loss_of_thirty_percent_kills_nobody(seed: int) -> None:
    world = World(seed, loss=0.3)
    nodes = world.cluster(10)

    world.run(600.0)

    assert deaths(nodes) == []


@pytest.mark.parametrize("both_ways", [False, True])
def test_broken_way_between_two_members_kills_neither_while_others_reach_them(both_ways: bool) -> None:
    world = World(4)
    nodes = world.cluster(6)
    world.cut(nodes[0], nodes[1])
    if both_ways:
        world.cut(nodes[1], nodes[0])

    world.run(600.0)

    assert deaths(nodes) == []


def test_member_that_can_send_but_hears_nobody_is_declared_dead_and_comes_back() -> None:
    world = World(4)
    nodes = world.cluster(6)
    for node in nodes[1:]:
        world.cut(node, nodes[0])

    world.run_until(lambda: all(len(node.machine.alive()) == 5 for node in nodes[1:]), 60.0)
    assert {event.member.id for _, event in deaths(nodes[1:])} == {nodes[0].machine.me.id}
    world.heal()

    world.run_until(lambda: all(len(node.machine.alive()) == 6 for node in nodes), 60.0)


def test_member_that_was_stopped_for_a_minute_blames_nobody_and_comes_back() -> None:
    world = World(3)
    nodes = world.cluster(10)

    nodes[0].pause()
    world.run(60.0)
    assert len(deaths(nodes)) == 9
    nodes[0].resume()

    world.run_until(lambda: all(len(node.machine.alive()) == 10 for node in nodes), 15.0)
    assert nodes[0].happened(EventKind.DIED, EventKind.SUSPECTED) == []


@pytest.mark.parametrize("left", [5, 2])
def test_partition_of_two_minutes_heals_within_a_minute(left: int) -> None:
    world = World(left)
    nodes = world.cluster(10)
    whole = nodes[0].machine.view_digest
    world.partition(nodes[:left], nodes[left:])
    world.run(120.0)
    assert {len(node.machine.alive()) for node in nodes[:left]} == {left}
    assert {len(node.machine.alive()) for node in nodes[left:]} == {10 - left}

    world.heal()

    world.run_until(lambda: all(node.machine.view_digest == whole for node in nodes), 60.0)


def test_healing_declares_nobody_dead_again() -> None:
    world = World(7)
    nodes = world.cluster(10)
    world.partition(nodes[:5], nodes[5:])
    world.run(120.0)
    for node in nodes:
        node.events.clear()

    world.heal()
    world.run(60.0)

    assert deaths(nodes) == []
    assert agree(nodes)


def test_restarted_member_exceeds_the_incarnation_that_the_cluster_remembers() -> None:
    world = World(1)
    nodes = world.cluster(5)
    for weight in (5, 6, 7):
        nodes[4].do(partial(nodes[4].machine.update_me, world.now, weight=weight))
    world.run(5.0)
    last = nodes[4].machine.me.incarnation
    nodes[4].kill()
    world.run(30.0)

    again = world.spawn(member(5, world.rng), [FIRST])

    world.run_until(lambda: all(len(node.machine.alive()) == 5 for node in [*nodes[:4], again]), 15.0)
    assert again.machine.me.incarnation > last
    assert {node.machine.members[again.machine.me.id].boot for node in nodes[:4]} == {again.machine.me.boot}


def test_quick_restart_shows_as_an_update_with_another_boot() -> None:
    world = World(1)
    nodes = world.cluster(5)
    nodes[4].kill()

    again = world.spawn(member(5, world.rng), [FIRST])
    world.run(20.0)

    assert deaths(nodes) == []
    for node in nodes[:4]:
        [(_, event)] = node.happened(EventKind.UPDATED)
        assert event.previous is not None
        assert event.member.boot == again.machine.me.boot != event.previous.boot


@pytest.mark.parametrize("down_s, counted", [(0.0, True), (30.0, False)])
def test_restarted_member_hears_whether_its_life_before_is_still_counted(down_s: float, counted: bool) -> None:
    world = World(1)
    nodes = world.cluster(5)
    nodes[4].kill()
    world.run(down_s)

    again = world.spawn(member(5, world.rng), [FIRST])
    world.run(5.0)

    heard = [event.previous.boot for _, event in again.happened(EventKind.OUTLIVED) if event.previous]
    assert heard == [nodes[4].machine.me.boot] * counted


def test_restarted_member_is_found_by_those_that_ask_its_old_self() -> None:
    world = World(1)
    nodes = world.cluster(4)
    nodes[3].kill()

    again = world.spawn(member(4, world.rng), [Address("10.0.0.99:7117")])

    world.run_until(lambda: again.machine.joined and len(again.machine.alive()) == 4, 15.0)


def test_joining_member_sends_no_datagram_before_it_knows_its_past() -> None:
    world = World(1)
    late = world.spawn(member(2, world.rng), [FIRST])

    world.run(30.0)

    assert late.sent["datagrams"] == 0


def test_leave_is_not_death() -> None:
    world = World(1)
    nodes = world.cluster(10)

    nodes[9].do(lambda: nodes[9].machine.leave(world.now, handed_over=True))
    world.run(3.0)
    assert nodes[9].machine.quiet
    nodes[9].kill()
    world.run(60.0)

    assert deaths(nodes) == []
    assert all(len(node.happened(EventKind.LEFT)) == 1 for node in nodes[:9])
    assert {node.machine.members[nodes[9].machine.me.id].status for node in nodes[:9]} == {Status.LEFT}
    assert nodes[9].machine.me not in nodes[9].machine.alive()


def test_member_that_leaves_before_it_has_joined_stays_gone() -> None:
    world = World(1)
    nodes = world.cluster(3)
    shy = world.spawn(member(9, world.rng), [FIRST])
    shy.do(lambda: shy.machine.leave(world.now, handed_over=True))

    world.run(5.0)

    assert shy.machine.me.status is Status.LEFT
    assert shy.machine.quiet
    assert all(len(node.machine.alive()) == 3 for node in nodes)


def test_member_that_left_can_come_back() -> None:
    world = World(1)
    nodes = world.cluster(5)
    nodes[4].do(lambda: nodes[4].machine.leave(world.now, handed_over=True))
    world.run(5.0)
    nodes[4].kill()

    world.spawn(member(5, world.rng), [FIRST])

    world.run_until(lambda: all(len(node.machine.alive()) == 5 for node in nodes[:4]), 15.0)


def test_second_process_with_the_same_identity_is_a_conflict_for_both() -> None:
    world = World(1)
    nodes = world.cluster(5)
    twin = world.spawn(replace(member(5, world.rng), address=Address("10.0.0.77:7117")), [FIRST])

    world.run(60.0)

    [(_, seen)] = nodes[4].happened(EventKind.CONFLICT)
    assert (seen.member.boot, seen.member.address) == (twin.machine.me.boot, twin.address)
    [(_, seen)] = twin.happened(EventKind.CONFLICT)
    assert (seen.member.boot, seen.member.address) == (nodes[4].machine.me.boot, nodes[4].address)
    assert twin.machine.me.incarnation < 60


def test_restart_under_a_new_address_is_no_conflict() -> None:
    world = World(1)
    nodes = world.cluster(5)
    nodes[4].kill()

    again = world.spawn(replace(member(5, world.rng), address=Address("10.0.0.77:7117")), [FIRST])
    world.run(60.0)

    assert not any(node.happened(EventKind.CONFLICT) for node in [*nodes, again])
    assert {node.machine.members[again.machine.me.id].address for node in nodes[:4]} == {again.address}


def test_update_of_one_member_reaches_all() -> None:
    world = World(1)
    nodes = world.cluster(10)

    nodes[0].do(lambda: nodes[0].machine.update_me(world.now, weight=9, leaving=True))
    world.run(3.0)

    seen = {(m.weight, m.leaving) for n in nodes[1:] for m in [n.machine.members[nodes[0].machine.me.id]]}
    assert seen == {(9, True)}
    assert all(len(node.happened(EventKind.UPDATED)) == 1 for node in nodes[1:])
    assert agree(nodes)


def test_digest_tells_views_apart_by_who_lives_weight_and_drain_only() -> None:
    world = World(1)
    nodes = world.cluster(3)
    before = nodes[0].machine.view_digest

    nodes[0].do(lambda: nodes[0].machine.update_me(world.now, api="10.0.0.1:9"))
    same = nodes[0].machine.view_digest
    nodes[0].do(lambda: nodes[0].machine.update_me(world.now, weight=5))

    assert same == before != nodes[0].machine.view_digest


def test_loads_ride_on_acks() -> None:
    world = World(1)
    nodes = world.cluster(5)
    for node in nodes:
        node.machine.load = node.address.encode()

    world.run(20.0)

    for node in nodes:
        others = [other for other in nodes if other is not node]
        assert dict(node.machine.loads) == {other.machine.me.id: other.machine.load for other in others}
        assert set(node.machine.views.values()) == {node.machine.view_digest}
    with pytest.raises(ValueError, match="200"):
        nodes[0].machine.load = b"x" * 201


def test_idle_member_stays_below_twenty_messages_and_ten_kilobytes_a_second() -> None:
    world = World(1)
    nodes = world.cluster(10)
    for node in nodes:
        node.machine.load = b"x" * 200
        node.sent.clear()

    world.run(300.0)

    for node in nodes:
        assert (node.sent["datagrams"] + node.sent["exchanges"]) / 300.0 <= 20.0
        assert (node.sent["bytes"] + node.sent["stream bytes"]) / 300.0 <= 10_000.0


def test_packets_of_two_hundred_members_stay_below_1400_bytes() -> None:
    world = World(1)
    node = world.spawn(member(1, world.rng, api=LONG))
    node.machine.load = b"x" * 200
    others = [member(n, world.rng, api=LONG if n % 3 == 0 else "") for n in range(2, 201)]
    known = PushPull(others[0].id, others[0].boot, False, tuple(Entry(m, m.incarnation, m.status) for m in others))
    node.do(lambda: node.machine.receive_push_pull(world.now, others[0].address, known))

    for number, other in enumerate(others):
        # They ask, they accuse, they never answer: every kind of message has to carry much news.
        rumours = (
            Suspect(node.machine.me.id, node.machine.me.incarnation, other.id),
            Suspect(others[0].id, 1, other.id),
        )
        ping = Ping(number, node.machine.me.id, other.id, other.boot, other.incarnation, rumours)
        request = PingRequest(number, others[0].id, others[0].address, other.id)
        for message in (ping, request):
            node.do(partial(node.machine.receive, world.now, other.address, message))
        world.run(0.1)
    world.run(30.0)

    assert len(node.machine.members) == 200
    assert node.sent["datagrams"] > 500
    assert 1_200 < node.largest <= 1_400


@pytest.mark.soak
def test_two_hundred_members_find_each_other_in_small_packets() -> None:
    world = World(1, loss=0.05)
    nodes = [
        world.spawn(member(n, world.rng, api=LONG if n % 2 else ""), [FIRST] if n > 1 else []) for n in range(1, 201)
    ]

    world.run_until(lambda: all(len(node.machine.alive()) == 200 for node in nodes), 120.0)

    assert max(node.largest for node in nodes) <= 1_400
    assert deaths(nodes) == []


def test_dead_member_is_forgotten_after_a_day_by_all_and_for_good() -> None:
    config = MembershipConfig(dead_forget_s=300.0)
    world = World(1, config=config)
    nodes = world.cluster(4)
    nodes[3].kill()
    world.run(240.0)
    late = world.spawn(member(9, world.rng), [FIRST])
    world.run(30.0)
    assert nodes[3].machine.me.id in late.machine.members

    world.run(300.0)

    assert all(nodes[3].machine.me.id not in node.machine.members for node in [*nodes[:3], late])
    assert all(len(node.happened(EventKind.FORGOTTEN)) == 1 for node in [*nodes[:3], late])


def test_relay_tells_an_asker_that_the_suspect_has_refuted_already() -> None:
    rng = Random(1)
    machine = Membership(member(1, rng), MembershipConfig(), Random(1))
    machine.start(0.0)
    asker, suspect = member(2, rng), member(3, rng, incarnation=5)
    for known in (asker, suspect):
        machine.receive(0.0, known.address, Gossip(known.id, (Alive(known),)))

    request = PingRequest(1, suspect.id, suspect.address, asker.id, (Suspect(suspect.id, 4, asker.id),))
    out = machine.receive(0.1, asker.address, request)

    told = [m for address, m in out.datagrams if address == asker.address and isinstance(m, Gossip)]
    assert Alive(suspect) in told[0].updates


def test_relay_that_heard_of_a_refutation_only_compares_views_with_an_asker() -> None:
    """What a member said before it refuted something is not its word since then: it may be leaving by now."""
    rng = Random(1)
    machine = Membership(member(1, rng), MembershipConfig(), Random(1))
    machine.start(0.0)
    asker, suspect = member(2, rng), member(3, rng, incarnation=4)
    for known in (asker, suspect):
        machine.receive(0.0, known.address, Gossip(known.id, (Alive(known),)))
    machine.receive(0.0, suspect.address, Ping(7, machine.me.id, suspect.id, suspect.boot, 5))

    request = PingRequest(1, suspect.id, suspect.address, asker.id, (Suspect(suspect.id, 4, asker.id),))
    out = machine.receive(0.1, asker.address, request)

    assert not [m for _, m in out.datagrams if isinstance(m, Gossip)]
    assert out.sync_with == [asker.address]
    (entry,) = [each for each in machine.push_pull_message(0.2).entries if each.member.id == suspect.id]
    assert (entry.incarnation, entry.member.incarnation) == (5, 4)


def test_suspicion_that_was_heard_of_before_its_member_runs_out_all_the_same() -> None:
    rng = Random(1)
    machine = Membership(member(1, rng), MembershipConfig(), Random(1))
    machine.start(0.0)
    other, accuser = member(2, rng), member(3, rng)

    for rumour in (Suspect(other.id, other.incarnation, accuser.id), Alive(other)):
        machine.receive(0.0, accuser.address, Gossip(accuser.id, (rumour,)))
    assert machine.members[other.id].status is Status.SUSPECT
    while machine.next_at < 60.0:
        machine.tick(machine.next_at)

    assert machine.members[other.id].status is Status.DEAD


def test_ack_of_a_new_tenant_of_an_address_does_not_vouch_for_the_old_one() -> None:
    rng = Random(1)
    machine = Membership(member(1, rng), MembershipConfig(), Random(1))
    machine.start(0.0)
    old, new = member(2, rng), replace(member(3, rng), address=Address("10.0.0.2:7117"))
    machine.receive(0.0, old.address, Gossip(old.id, (Alive(old),)))
    pings: list[Ping] = []
    while not pings:
        now = machine.next_at
        pings = [message for _, message in machine.tick(now).datagrams if isinstance(message, Ping)]

    machine.receive(now, old.address, Ack(pings[0].seq, new.id, new.boot, 1, 0))
    while machine.members[old.id].status is Status.ALIVE and machine.next_at < 30.0:
        machine.tick(machine.next_at)

    assert machine.members[old.id].status is Status.SUSPECT


def test_ping_for_another_is_not_answered() -> None:
    rng = Random(1)
    machine = Membership(member(1, rng), MembershipConfig(), Random(1))
    machine.start(0.0)
    other = member(2, rng)

    out = machine.receive(0.0, other.address, Ping(7, NodeId("f" * 40), other.id, other.boot, 1))

    assert not any(isinstance(message, Ack) for _, message in out.datagrams)


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"probe_s": 0.0}, "probe_s"),
        ({"probe_timeout_s": 1.0}, "indirect probes"),
        ({"gossip_fanout": 0}, "gossip_fanout"),
        ({"suspicion_min_s": 1.0}, "refutation"),
        ({"hearings": 12}, "hearings"),
        ({"suspicion_max_factor": 0.5}, "suspicion_max_factor"),
        ({"packet_max": 900}, "packet_max"),
        ({"indirect": -1}, "indirect"),
        ({"suspicion_min_s": 3.0}, r"suspicion_min_s \(3\) must be longer than void_s \(5.1\)"),
        ({"suspicion_min_s": 8.0}, "loan_dead_s"),
        ({"probe_timeout_s": 0.2}, "promise_s"),
    ],
)
def test_config_that_cannot_work_is_refused_by_name(fields: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigurationError, match=word):
        replace(MembershipConfig(), **fields).validate()


def test_shell_may_not_change_what_the_protocol_owns() -> None:
    machine = Membership(member(1, Random(1)), MembershipConfig(), Random(1))

    with pytest.raises(ValueError, match="incarnation"):
        machine.update_me(0.0, incarnation=9)
    with pytest.raises(ValueError, match="weight"):
        machine.update_me(0.0, weight=17)
    assert machine.me.weight == 4


def test_same_seed_gives_the_same_run() -> None:
    def story(seed: int) -> list[tuple[float, str]]:
        world = World(seed, loss=0.2)
        nodes = world.cluster(6)
        nodes[2].kill()
        world.run(30.0)
        return [(at, f"{node.address} {event.kind}") for node in nodes for at, event in node.events]

    assert story(5) == story(5)
