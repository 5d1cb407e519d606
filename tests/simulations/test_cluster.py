"""Whole masters on a virtual clock: the same seed does the same in any process, and nothing is amiss."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simulations.play.options import Options
from simulations.scenarios import SCENARIOS
from simulations.verbs.run import SHARES, drawn

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SMALL = ["--masters", "3", "--pages", "40", "--hosts", "6", "--json"]


def begin(scenario: str, seed: int, hash_seed: int, extra: Sequence[str] = ()) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "simulations", "run", scenario, "--seed", str(seed), *SMALL, *extra]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT
    )


def end(process: subprocess.Popen[str]) -> dict[str, Any]:
    printed, _ = process.communicate(timeout=120)
    told: dict[str, Any] = json.loads(printed)
    del told["real_s"]
    return told


def test_same_seed_has_the_same_trace_in_other_processes_under_other_hash_seeds() -> None:
    """As each scenario's has (test_swarm.py, by ``make soak``)."""
    one, other = [end(process) for process in [begin("massacre", 5, hash_seed) for hash_seed in (0, 4242)]]

    assert one == other
    assert one["violations"] == []
    assert one["answered"] > 30


def test_a_swarm_draws_all_scenarios_and_the_same_options_from_the_same_seed() -> None:
    options = [drawn(seed) for seed in range(600)]

    assert {each.scenario for each in options} == {name for name, each in SCENARIOS.items() if each.drawn}
    assert {each.sinks for each in options} == {0, 1, 2}
    assert options[:5] == [drawn(seed) for seed in range(5)]
    assert all(each.replicas >= SCENARIOS[each.scenario].replicas_min for each in options)


def test_a_swarm_draws_what_it_adds_by_dice_of_its_own_and_what_is_asked_for_in_their_place() -> None:
    drawn_by_themselves = Counter(draw for seed in range(400) for draw in drawn(seed).draws)

    assert set(drawn_by_themselves) == {draw for draw, share in SHARES.items() if share}
    for seed in range(20):
        assert drawn(seed, ["limits", "jobs"]) == replace(drawn(seed), draws=("limits", "jobs"))


def test_the_command_of_a_run_names_all_that_makes_it() -> None:
    options = Options(scenario="churn", seed=7, masters=9, replicas=3, pages=50, hosts=4)

    assert options.command() == "python -m simulations run churn --seed 7 --masters 9 --replicas 3 --pages 50 --hosts 4"


def test_what_cannot_be_simulated_is_refused_in_one_line() -> None:
    command = [sys.executable, "-m", "simulations", "run", "steady", "--masters", "0"]

    refused = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)

    assert refused.returncode == 2
    assert refused.stderr == "simulations: masters, replicas, pages and hosts must be at least 1\n"
