"""With ``--partition majority`` no two parts of a cluster ever grant: cuts, leaves and returns in any order."""

from __future__ import annotations

import pytest

from simulations import Options, Simulation
from simulations.observe.parts import LASTS_S, LOOK_S, Parts
from simulations.world.machines import Machine
from simulations.world.world import World


def small(seed: int) -> Options:
    return Options(scenario="majority", seed=seed, pages=120, hosts=12)


@pytest.mark.slow
def test_no_two_parts_grant_whoever_is_cut_off_leaves_and_comes_back() -> None:
    report = Simulation(small(1)).run()

    assert not report.violations, f"{small(1).command()}\n{report.violations}"


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1, 201))
def test_no_two_parts_grant_in_any_of_two_hundred_sequences(seed: int) -> None:
    report = Simulation(small(seed)).run()

    assert not report.violations, f"{small(seed).command()}\n{report.violations}"


class Granting:
    """A machine that grants from some buckets, whatever happens."""

    def __init__(self, world: World, name: str, *buckets: int) -> None:
        self.name = name
        self.node = world.node(name)
        self._buckets = frozenset(buckets)

    def served(self) -> tuple[int, frozenset[int]]:
        return 0, self._buckets


def looked(buckets: tuple[int, int], *, cut: bool, both_ways: bool = True) -> list[str]:
    """Returns what is found amiss with two that grant for a while."""
    with World(1) as world:
        machines: list[Machine] = [
            Granting(world, name, bucket)  # type: ignore[misc]
            for name, bucket in zip("ab", buckets, strict=True)
        ]
        parts = Parts(world.network)
        parts.look(0.0, machines, machines)
        if cut:
            world.network.cut(machines[0].node, machines[1].node, both_ways=both_ways)
        now_s = 0.0
        while now_s <= LASTS_S + 2 * LOOK_S:
            now_s += LOOK_S
            parts.look(now_s, machines, machines)
        return parts.found


def test_two_that_grant_from_different_buckets_in_touch_are_as_they_should_be() -> None:
    assert looked((1, 2), cut=False) == []


def test_two_parts_that_both_grant_for_longer_than_consent_lasts_are_told_of() -> None:
    assert "both grant, apart for" in looked((1, 2), cut=True)[0]


def test_who_is_heard_but_does_not_hear_is_a_part_of_its_own() -> None:
    assert looked((1, 2), cut=True, both_ways=False)


def test_two_that_grant_from_one_bucket_are_told_of_at_once() -> None:
    assert "a and b both grant from 1 buckets" in looked((1, 1), cut=False)[0]
