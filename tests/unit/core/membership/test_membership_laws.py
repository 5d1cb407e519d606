"""Laws of the view: rumours merge in any order, any number of times, to the same state."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.core.membership.suspicion import Suspicions, timeout_s
from p2pcrawl.core.membership.swim import Membership, MembershipConfig
from p2pcrawl.core.membership.view import View
from p2pcrawl.model.cluster.gossip import Alive, Dead, Entry, Gossip, Left, PushPull, Suspect, Update
from p2pcrawl.model.cluster.node import Address, NodeId, Status
from tests.unit.core.membership.membership_world import member

IDS = [NodeId(f"{n:040x}") for n in range(1, 4)]

alives = st.builds(
    lambda n, incarnation, weight, boot, leaving: Alive(
        replace(member(n, Random(n)), incarnation=incarnation, weight=weight, boot=bytes([boot] * 8), leaving=leaving)
    ),
    st.integers(1, 3),
    st.integers(0, 4),
    st.integers(1, 3),
    st.integers(0, 1),
    st.booleans(),
)
updates: st.SearchStrategy[Update] = st.one_of(
    alives,
    st.builds(Suspect, st.sampled_from(IDS), st.integers(0, 4), st.sampled_from(IDS)),
    st.builds(Dead, st.sampled_from(IDS), st.integers(0, 4), st.sampled_from(IDS)),
    st.builds(Left, st.sampled_from(IDS), st.integers(0, 4)),
)


def machine() -> Membership:
    started = Membership(member(99, Random(99)), MembershipConfig(), Random(1))
    started.start(0.0)
    return started


def told(order: list[Update]) -> tuple[dict[NodeId, object], int]:
    listener = machine()
    for update in order:
        listener.receive(0.0, Address("10.0.0.9:7117"), Gossip(IDS[0], (update,)))
    return dict(listener.members), listener.view_digest


@given(st.lists(updates, max_size=10).flatmap(lambda told: st.tuples(st.just(told), st.permutations(told))))
def test_rumours_in_any_order_give_the_same_members(orders: tuple[list[Update], list[Update]]) -> None:
    assert told(orders[0]) == told(orders[1])


@given(st.lists(updates, max_size=8))
def test_rumours_told_twice_change_nothing(rumours: list[Update]) -> None:
    assert told(rumours) == told([*rumours, *rumours])


@given(st.lists(updates, max_size=8), st.lists(updates, max_size=8))
def test_views_that_exchange_entries_both_ways_are_equal(ours: list[Update], theirs: list[Update]) -> None:
    views = []
    for rumours in (ours, theirs):
        view = View()
        for update in rumours:
            match update:
                case Alive(said):
                    view.merge_facts(said, 0.0)
                case Suspect(id, incarnation):
                    view.merge_verdict(id, incarnation, Status.SUSPECT, 0.0)
                case Dead(id, incarnation):
                    view.merge_verdict(id, incarnation, Status.DEAD, 0.0)
                case Left(id, incarnation):
                    view.merge_verdict(id, incarnation, Status.LEFT, 0.0)
        views.append(view)
    entries = [view.entries(0.0) for view in views]

    for view, others in zip(views, reversed(entries), strict=True):
        for entry in others:
            view.merge_facts(entry.member, 0.0)
            view.merge_verdict(entry.member.id, entry.incarnation, entry.status, 0.0)

    shown = [{id: views[n].members[id] for id in views[n].members} for n in range(2)]
    common = shown[0].keys() & shown[1].keys()
    known = {entry.member.id for part in entries for entry in part}
    assert common == known
    # A verdict on a member whose facts only the other one had is not in its entries: it travels as gossip.
    for id in known:
        if all(any(entry.member.id == id for entry in part) for part in entries):
            assert shown[0][id] == shown[1][id]


@given(st.lists(updates, max_size=12), st.lists(updates, max_size=6))
@settings(max_examples=50)
def test_death_told_in_an_exchange_never_condemns_who_lives_here(before: list[Update], said: list[Update]) -> None:
    listener = machine()
    for update in before:
        listener.receive(0.0, Address("10.0.0.9:7117"), Gossip(IDS[0], (update,)))
    lived = {m.id for m in listener.alive()}
    entries = tuple(
        Entry(update.member, update.incarnation + 1, Status.DEAD) for update in said if isinstance(update, Alive)
    )

    listener.receive_push_pull(0.0, Address("10.0.0.9:7117"), PushPull(IDS[1], b"8" * 8, False, entries))

    assert lived <= {m.id for m in listener.alive()}


@given(st.integers(0, 4), st.integers(0, 1000))
def test_refutation_exceeds_every_rumour(kind: int, incarnation: int) -> None:
    listener = machine()
    id = listener.me.id
    rumours: list[Update] = [
        Suspect(id, incarnation, IDS[0]),
        Dead(id, incarnation, IDS[0]),
        Left(id, incarnation),
        Alive(replace(listener.me, incarnation=incarnation, boot=b"-other--")),
        Alive(replace(listener.me, incarnation=incarnation)),
    ]
    before = listener.me.incarnation

    out = listener.receive(0.0, Address("10.0.0.9:7117"), Gossip(IDS[0], (rumours[kind],)))

    assert listener.me.incarnation >= before
    assert listener.me.incarnation > incarnation or rumours[kind].incarnation <= before
    assert listener.members[id] == listener.me and listener.me.status is Status.ALIVE
    assert out.sync_with == []


@given(st.integers(0, 6), st.floats(0.1, 60.0), st.floats(1.0, 10.0))
def test_each_confirmation_shortens_a_suspicion_down_to_the_least_time(
    wanted: int, least: float, factor: float
) -> None:
    times = [timeout_s(c, wanted, least, least * factor) for c in range(wanted + 1)]

    assert all(earlier >= later for earlier, later in pairwise(times))
    assert times[-1] >= least and abs(times[-1] - least) < 1e-6 * least
    assert times[0] <= least * factor


@given(st.lists(st.floats(0.0, 5.0), min_size=1, max_size=5))
def test_stall_never_brings_a_deadline_closer_and_leaves_a_grace(stalls: list[float]) -> None:
    suspicions = Suspicions(6.0, 6.0, 3, 4, 0.5)
    suspicions.accuse(IDS[0], 1, IDS[1], 0.0, 10)
    now = 0.0

    for stalled in stalls:
        before = suspicions.next_at()
        now += stalled
        suspicions.put_off(now, stalled)
        assert suspicions.next_at() >= before + stalled
    for accuser in ("a", "b", "c", "d"):
        suspicions.accuse(IDS[0], 1, NodeId(accuser), now, 10)

    assert suspicions.due(now + 1.9) == []
