"""Placement of keys in a group: bounded, sticky until drained, after the slaves' weights."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from p2pcrawl.core.group.bounded_load import WEIGHT_MAX, WEIGHT_MEAN, Bounded, measured_weight
from p2pcrawl.core.group.host_bucket import HostBucket
from p2pcrawl.core.ring.rendezvous import key_hash, preference

KEYS = [key_hash(f"host-{number}.example") for number in range(400)]


def test_placed_key_stays_when_a_slave_joins() -> None:
    group = Bounded({1: 8, 2: 8})
    before = {key: group.place(key) for key in KEYS}

    group.weigh(3, 16)

    assert {key: group.place(key) for key in KEYS} == before


def test_key_is_placed_anew_only_after_its_last_url() -> None:
    group = Bounded({1: 8})
    group.place(7, urls=2)
    group.weigh(2, 1_000_000)

    group.drain(7)
    still = group.place(7, urls=0)
    group.drain(7)

    assert still == 1
    assert group.slave_of(7) is None
    assert group.place(7) == 2


def test_leave_frees_the_keys_of_that_slave_and_moves_no_other() -> None:
    group = Bounded({1: 8, 2: 8, 3: 8})
    before = {key: group.place(key) for key in KEYS}

    freed = group.leave(2)

    assert freed == sorted(key for key, slave in before.items() if slave == 2)
    assert all(group.slave_of(key) == slave for key, slave in before.items() if slave != 2)
    assert {group.place(key) for key in freed} == {1, 3}


def test_no_slave_is_filled_beyond_its_bounded_share() -> None:
    group = Bounded({1: 8, 2: 8, 3: 4, 4: 16})

    held = Counter(group.place(key) for key in KEYS)

    assert all(held[slave] <= 1.25 * len(KEYS) * weight / 36 + 1 for slave, weight in {1: 8, 2: 8, 3: 4, 4: 16}.items())


def test_key_that_overflows_goes_to_the_next_in_its_order() -> None:
    group = Bounded({1: 8, 2: 8, 3: 8}, slack_percent=0)

    for key in KEYS:
        full = {slave for slave in (1, 2, 3) if group.load(slave) >= group.room(slave)}
        assert group.place(key) == next(slave for slave in group.order(key) if slave not in full)


@given(st.integers(-(1 << 63), (1 << 63) - 1), st.sets(st.integers(0, 1 << 32), min_size=1, max_size=8))
def test_equal_slaves_are_preferred_as_the_ring_prefers_them(key: int, slaves: set[int]) -> None:
    assert Bounded(dict.fromkeys(slaves, 8)).order(key) == preference(key, slaves)


def test_group_without_slaves_places_nothing() -> None:
    group = Bounded()

    assert group.place(1) is None
    assert group.leave(5) == []
    group.drain(1)


@pytest.mark.parametrize("wrong", [{"weights": {1: 0}}, {"slack_percent": -1}])
def test_wrong_weights_and_slack_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"below 1|negative"):
        Bounded(**wrong)  # type: ignore[arg-type]


class GroupsLife(RuleBasedStateMachine):
    """Slaves come, go and change weight while keys come and go: what was placed stays, and the books agree."""

    def __init__(self) -> None:
        super().__init__()
        self.group = Bounded()
        self.weights: dict[int, int] = {}
        self.placed: dict[int, tuple[int, int]] = {}

    @rule(slave=st.integers(0, 5), weight=st.integers(1, 16))
    def weigh(self, slave: int, weight: int) -> None:
        self.group.weigh(slave, weight)
        self.weights[slave] = weight

    @rule(slave=st.integers(0, 5))
    def leave(self, slave: int) -> None:
        freed = self.group.leave(slave)
        assert freed == sorted(key for key, (holder, _) in self.placed.items() if holder == slave)
        self.weights.pop(slave, None)
        for key in freed:
            del self.placed[key]

    @rule(key=st.integers(0, 30), urls=st.integers(1, 3))
    def place(self, key: int, urls: int) -> None:
        room = {slave: self.group.room(slave) - self.group.load(slave) for slave in self.weights}
        slave = self.group.place(key, urls)
        if key in self.placed:
            assert slave == self.placed[key][0]
        elif slave is None:
            assert not self.weights
            return
        else:
            assert room[slave] > 0
        self.placed[key] = (self.placed.get(key, (slave, 0))[0], self.placed.get(key, (slave, 0))[1] + urls)

    @rule(key=st.integers(0, 30), urls=st.integers(1, 3))
    def drain(self, key: int, urls: int) -> None:
        self.group.drain(key, urls)
        if key in self.placed:
            slave, left = self.placed.pop(key)
            if left > urls:
                self.placed[key] = (slave, left - urls)

    @invariant()
    def every_key_is_where_it_was_placed(self) -> None:
        assert {key: self.group.slave_of(key) for key in self.placed} == {k: s for k, (s, _) in self.placed.items()}
        loads = Counter(slave for slave, _ in self.placed.values())
        assert all(self.group.load(slave) == loads[slave] for slave in self.weights)


TestGroupsLife = GroupsLife.TestCase


def test_weight_follows_throughput_within_its_limits() -> None:
    assert measured_weight(10, 10) == WEIGHT_MEAN
    assert measured_weight(5, 10) == WEIGHT_MEAN // 2
    assert measured_weight(0, 10) == 1
    assert measured_weight(1000, 10) == WEIGHT_MAX
    assert measured_weight(3, 0, weight=5) == 5


@given(st.floats(0, 1e6), st.floats(0.001, 1e6), st.integers(1, WEIGHT_MAX))
def test_weight_that_was_just_measured_does_not_flap(pages: float, mean: float, weight: int) -> None:
    measured = measured_weight(pages, mean, weight)

    assert measured_weight(pages, mean, measured) == measured


def test_small_change_of_throughput_changes_no_weight() -> None:
    assert {measured_weight(rate, 100, weight=8) for rate in range(80, 121)} == {8}


def test_host_goes_to_its_md5_bucket_while_there_is_room() -> None:
    picker = HostBucket(7)

    # MD5("example.com") is 5ababd603b22780302dd8d83498e5172.
    assert picker.place("example.com") == picker.home("example.com") == 0x5ABABD603B22780302DD8D83498E5172 % 7


def test_host_of_an_overflowing_bucket_is_mapped_to_the_least_loaded_until_drained() -> None:
    picker = HostBucket(3, urls_max=5)
    hosts = [f"host-{n}.example" for n in range(40)]
    home = picker.home("host-0.example")
    first, second = [host for host in hosts if picker.home(host) == home][:2]
    picker.place(first, urls=5)

    moved = picker.place(second, urls=2)
    picker.drain(first, urls=5)
    kept = picker.place(second)
    picker.drain(second, urls=3)

    assert moved == kept != home
    assert picker.bucket_of(second) is None
    assert picker.place(second) == home
    assert [picker.load(bucket) for bucket in range(3)] == [int(bucket == home) for bucket in range(3)]


def test_draining_more_than_there_is_leaves_no_debt() -> None:
    picker = HostBucket(2)
    bucket = picker.place("a.example", urls=2)

    picker.drain("a.example", urls=9)
    picker.drain("never.seen")

    assert picker.load(bucket) == 0


def test_picker_without_buckets_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one bucket"):
        HostBucket(0)
