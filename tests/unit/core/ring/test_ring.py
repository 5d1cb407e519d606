"""The laws of the rings: monotone, in proportion, the same everywhere."""

from __future__ import annotations

import hashlib
import math
import random
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.core.ring.costs import column, hash_cost
from p2pcrawl.core.ring.paper_rings import Modulo, TwoLevel, seats
from p2pcrawl.core.ring.rendezvous import BUCKETS, Rendezvous, bucket_of, bucket_of_hash, key_hash, preference
from p2pcrawl.core.ring.ring_change import table_from
from p2pcrawl.core.ring.ring_choice import VIRTUAL_PLACES, table_after, table_of, virtual_places
from p2pcrawl.model.cluster.placement import RingName

NODES = st.sampled_from([hashlib.blake2b(bytes([n]), digest_size=20).hexdigest() for n in range(24)])
MEMBERSHIPS = st.dictionaries(NODES, st.sampled_from((1, 2, 4, 16)), min_size=1, max_size=9)


@given(MEMBERSHIPS, NODES, st.integers(1, 16), st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_join_moves_buckets_to_the_newcomer_only(
    members: dict[str, int], newcomer: str, weight: int, copies: int
) -> None:
    members.pop(newcomer, None)
    before = Rendezvous(members).table(copies)

    after = Rendezvous({**members, newcomer: weight}).table(copies)

    for old, new in zip(before, after, strict=True):
        assert set(new) - set(old) <= {newcomer}
        assert len(set(old) - set(new)) <= 1
        assert not old or new[0] in (old[0], newcomer)


@given(MEMBERSHIPS, st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_leave_gives_only_the_lost_copies_to_others(members: dict[str, int], copies: int) -> None:
    gone = min(members)
    before = Rendezvous(members).table(copies)

    after = Rendezvous({node: weight for node, weight in members.items() if node != gone}).table(copies)

    for old, new in zip(before, after, strict=True):
        assert set(old) - set(new) <= {gone}
        assert gone not in new
        assert old[0] == gone or new[0] == old[0]


@given(MEMBERSHIPS, MEMBERSHIPS, st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_table_that_is_made_from_another_is_the_one_that_is_made_anew(
    before: dict[str, int], after: dict[str, int], copies: int
) -> None:
    table = table_of(RingName.RENDEZVOUS, before, copies)

    assert table_from(table, before, after, copies) == table_of(RingName.RENDEZVOUS, after, copies)


@pytest.mark.parametrize("name", RingName)
def test_table_after_a_walk_of_joins_and_leaves_is_the_one_that_is_made_anew(name: RingName) -> None:
    dice = random.Random(7)
    weights = {hashlib.blake2b(b"%d" % n).hexdigest()[:40]: dice.choice((1, 1, 4)) for n in range(12)}
    known, table = dict(weights), table_of(name, weights, 3)
    for step in range(12):
        after = dict(known)
        if step % 2:
            del after[dice.choice(sorted(after))]
        else:
            after[hashlib.blake2b(b"new %d" % step).hexdigest()[:40]] = dice.choice((1, 2))
        table, known = table_after(name, table, known, after, 3), after

        assert table == table_of(name, known, 3)


@given(MEMBERSHIPS)
@settings(max_examples=20, deadline=None)
def test_copies_are_distinct_and_more_copies_only_add_to_fewer(members: dict[str, int]) -> None:
    ring = Rendezvous(members)

    for copies in (1, 2, 3, 4):
        for fewer, more in zip(ring.table(copies), ring.table(copies + 1), strict=True):
            assert more[: len(fewer)] == fewer
            assert len(set(fewer)) == len(fewer) == min(copies, len(members))


@given(MEMBERSHIPS, st.randoms(use_true_random=False))
@settings(max_examples=20, deadline=None)
def test_owners_do_not_depend_on_the_order_in_which_members_are_known(
    members: dict[str, int], rng: random.Random
) -> None:
    shuffled = list(members.items())
    rng.shuffle(shuffled)

    assert Rendezvous(dict(shuffled)).table(2) == Rendezvous(members).table(2)


@given(st.sets(NODES, min_size=2, max_size=9))
@settings(max_examples=20, deadline=None)
def test_heir_of_a_bucket_is_its_second_copy_when_weights_are_equal(nodes: set[str]) -> None:
    gone = min(nodes)
    before = Rendezvous(dict.fromkeys(nodes, 2)).table(2)

    after = Rendezvous(dict.fromkeys(nodes - {gone}, 2)).table(1)

    assert all(new[0] == old[1] for old, new in zip(before, after, strict=True) if old[0] == gone)


@given(NODES, st.integers(1, 16), st.integers(1, 5))
@settings(max_examples=20, deadline=None)
def test_more_weight_never_bids_worse(node: str, weight: int, place: int) -> None:
    lighter, heavier = column(node, weight, place), column(node, weight + 1, place)

    assert all(more < less for more, less in zip(heavier, lighter, strict=True))


def test_every_process_and_platform_computes_these_owners() -> None:
    # Pinned: a change of this digest moves buckets in every running cluster.
    script = (
        "import hashlib; from p2pcrawl.core.ring.rendezvous import Rendezvous;"
        "table = Rendezvous({f'{n:040x}': (1, 2, 4, 16)[n % 4] for n in range(12)}).table(4);"
        "print(hashlib.sha256(repr(table).encode()).hexdigest())"
    )

    done = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=env).stdout
        for env in ({"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "2", "LC_ALL": "C"})
    ]

    assert done == ["679a5b6e0999b2d9911193a9b87e6244b735b01784b3f2298f3830e7f2fc8a2d\n"] * 2


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_shares_of_ten_members_follow_weights(copies: int) -> None:
    weights = {hashlib.blake2b(bytes([n]), digest_size=20).hexdigest(): (1, 2, 4)[n % 3] for n in range(10)}

    held = Counter(node for nodes in Rendezvous(weights).table(copies) for node in nodes)

    for node, weight in weights.items():
        assert held[node] == pytest.approx(copies * BUCKETS * weight / sum(weights.values()), rel=0.25)


def test_member_of_weight_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="below 1"):
        Rendezvous({"a": 0})


@pytest.mark.parametrize("name", list(RingName))
@given(nodes=st.sets(NODES, max_size=40), copies=st.integers(1, 4))
@settings(max_examples=20)
def test_each_ring_gives_every_bucket_to_distinct_members(name: RingName, nodes: set[str], copies: int) -> None:
    table = table_of(name, dict.fromkeys(nodes, 1), copies)

    assert len(table) == BUCKETS
    assert all(len(set(row)) == len(row) == min(copies, len(nodes)) and nodes.issuperset(row) for row in table)


@pytest.mark.parametrize("name", list(RingName))
def test_table_of_a_ring_does_not_depend_on_the_order_in_which_members_are_known(name: RingName) -> None:
    nodes = [f"{n:040x}" for n in range(9)]

    assert table_of(name, dict.fromkeys(nodes, 1), 2) == table_of(name, dict.fromkeys(reversed(nodes), 1), 2)


def test_copies_of_the_papers_rings_are_at_the_members_after_the_owner() -> None:
    nodes = [f"{n:040x}" for n in range(5)]
    after = dict(zip(nodes, [*nodes[1:], nodes[0]], strict=True))

    for owner, copy in table_of(RingName.MODULO, dict.fromkeys(nodes, 1), 2):
        assert copy == after[owner]
    rows = table_of(RingName.TWO_LEVEL, dict.fromkeys(nodes, 1), 2)
    assert len(set(rows)) == len(nodes), "each owner has one follower"


def test_virtual_table_has_a_place_for_every_node_and_divides_the_buckets() -> None:
    sizes = [virtual_places(nodes) for nodes in (0, 1, 32, 33, 100)]

    assert sizes == [VIRTUAL_PLACES, VIRTUAL_PLACES, 32, 64, 128]
    assert all(BUCKETS % size == 0 for size in sizes)


def test_no_members_own_nothing() -> None:
    assert Rendezvous({}).owners(7, 3) == ()
    assert Modulo[str]([]).owners(7, 3) == ()
    assert TwoLevel[str]({}, 4).owners(7, 3) == ()


@pytest.mark.slow
@given(st.text())
def test_bucket_of_a_key_is_that_of_its_signed_hash(key: str) -> None:
    unsigned = key_hash(key) % (1 << 64)

    assert bucket_of(key) == bucket_of_hash(key_hash(key)) == unsigned % BUCKETS
    assert -(1 << 63) <= key_hash(key) < 1 << 63


def test_keys_hash_to_the_same_bucket_for_ever() -> None:
    assert [bucket_of(key) for key in ("", "example.com", "münchen.example")] == [1218, 2931, 1154]


@given(st.integers(-(1 << 63), (1 << 63) - 1), st.sets(st.integers(0, 1 << 32), min_size=1))
def test_preference_keeps_its_order_when_a_node_leaves(key: int, nodes: set[int]) -> None:
    gone = min(nodes)

    assert preference(key, nodes - {gone}) == [node for node in preference(key, nodes) if node != gone]


@given(st.integers(0, (1 << 64) - 1), st.integers(1, 16))
def test_cost_of_a_hash_is_its_logarithm(value: int, weight: int) -> None:
    exact = -math.log((value + 1) / (1 << 64)) / weight

    assert hash_cost(value, weight) / (1 << 64) == pytest.approx(exact, abs=1e-7)


@given(st.integers(0, (1 << 64) - 2))
def test_cost_of_a_hash_falls_as_the_hash_rises(value: int) -> None:
    assert hash_cost(value + 1, 1) <= hash_cost(value, 1)


def test_costs_of_all_places_are_the_curves_that_the_theory_names() -> None:
    for place in (1, 2, 3, 4):
        costs = sorted(cost >> 16 for cost in column("0" * 40, 1, place))
        b = 6 * (place - 1) / (5 * (place + 1))
        for stratum, cost in enumerate(costs):
            e = -math.log(1 - (2 * stratum + 1) / (2 * BUCKETS))
            assert cost / (1 << 44) == pytest.approx(-math.expm1(-b * e) / b if b else e, rel=1e-8)


def test_modulo_names_the_remainder_and_those_after_it() -> None:
    ring = Modulo(["c", "a", "b"])

    assert [ring.owners(bucket, 2) for bucket in range(4)] == [("a", "b"), ("b", "c"), ("c", "a"), ("a", "b")]


def test_two_level_asks_the_virtual_table_first_and_the_actual_one_for_absent_nodes() -> None:
    ring = TwoLevel({0: "a", 3: "d"}, a=4)

    assert ring.owners(3, 1) == ("d",)  # 3 % 4 = 3 runs.
    assert ring.owners(7, 1) == ("d",)  # 7 % 4 = 3 runs; one level would have said 7 % 2 = 1 as well,
    assert ring.owners(4, 1) == ("a",)  # 4 % 4 = 0 runs,
    assert ring.owners(5, 1) == ("d",)  # 5 % 4 = 1 does not: 5 % 2 = 1 is the second actual node,
    assert ring.owners(6, 2) == ("a", "d")  # 6 % 4 = 2 does not: 6 % 2 = 0.


def test_two_level_keeps_the_keys_of_running_places_when_a_node_joins() -> None:
    before = TwoLevel({0: "a", 3: "d"}, a=4)
    after = TwoLevel({0: "a", 1: "b", 3: "d"}, a=4)

    kept = [bucket for bucket in range(BUCKETS) if bucket % 4 in (0, 3)]

    assert all(before.owners(bucket, 1) == after.owners(bucket, 1) for bucket in kept)


def test_place_outside_of_the_virtual_table_is_refused() -> None:
    with pytest.raises(ValueError, match="outside"):
        TwoLevel({4: "a"}, a=4)


@given(st.sets(NODES, max_size=16))
def test_seats_are_distinct_and_every_node_has_one(nodes: set[str]) -> None:
    places = seats(nodes, 16)

    assert sorted(places.values()) == sorted(nodes)
    assert all(0 <= place < 16 for place in places)


def test_more_nodes_than_seats_are_refused() -> None:
    with pytest.raises(ValueError, match="more nodes"):
        seats(["a", "b", "c"], 2)
