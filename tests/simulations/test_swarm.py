"""Clusters whose faults are drawn from seeds: nothing is amiss in any of them. `make soak` runs hundreds more."""

from __future__ import annotations

import pytest

from simulations.scenarios import SCENARIOS
from simulations.verbs.run import drawn
from simulations.whole.simulation import Simulation
from tests.simulations.test_cluster import begin, end

pytestmark = pytest.mark.slow

_SMALL = [seed for seed in range(9_000, 9_200) if drawn(seed).masters * drawn(seed).pages <= 300][:8]
SHORT = sorted({drawn(seed).scenario: seed for seed in _SMALL}.values())
"""Small clusters with small webs, one of each scenario: a second or two each."""


def test_there_are_short_seeds_of_many_kinds() -> None:
    assert len(SHORT) == len({drawn(seed).scenario for seed in SHORT}) >= 5


@pytest.mark.parametrize("seed", SHORT)
def test_nothing_is_amiss(seed: int) -> None:
    report = Simulation(drawn(seed)).run()

    assert report.violations == [], drawn(seed).command()


@pytest.mark.soak
@pytest.mark.parametrize("scenario", sorted(SCENARIOS))
def test_every_scenario_is_the_same_in_other_processes_under_other_hash_seeds(scenario: str) -> None:
    made = SCENARIOS[scenario]
    extra = ["--slaves", str(made.slaves_min), "--sinks", str(made.sinks_min)]
    one, other = [end(process) for process in [begin(scenario, 3, hash_seed, extra) for hash_seed in (1, 77)]]

    assert one == other
    assert one["violations"] == []
