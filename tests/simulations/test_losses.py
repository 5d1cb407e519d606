"""Losses that are more than the cluster bears are told, and what is told ends when what was out of reach is back."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulations import Options, Simulation
from simulations.scenarios.losses.drawn import KINDS
from simulations.whole.outcome import Report
from simulations.whole.plan_file import read_plan
from tests.simulations.test_cluster import begin, end

SHORT = {"forgotten", "lost-in-handover", "one-by-one", "set-back"}
"""The losses that no other test here runs: the others are left to the soak tests."""


def run(scenario: str, **more: int) -> Report:
    return Simulation(Options(scenario=scenario, masters=4, pages=40, hosts=6, **more)).run()


@pytest.mark.slow
def test_job_is_incomplete_while_all_stores_of_some_buckets_are_away_and_finished_when_they_are_back() -> None:
    report = run("stores-away")

    heard = report.figures["heard"]
    assert report.violations == []
    assert heard[0]["state"] == "incomplete" and heard[0]["buckets"] > 500 and heard[0]["missing"]
    assert heard[-1] == {"at_s": heard[-1]["at_s"], "state": "finished", "buckets": 0, "missing": []}


SET_BACK = """
[cluster]
masters = 3
[web]
pages = 40
hosts = 6
[[fault]]
at_share = 0.2
whole = true
do = "take-snapshot"
who = ["m1"]
[[fault]]
at_share = 0.6
whole = true
do = "restore-snapshot"
who = ["m1", "m2"]
for = "2 s"
"""


@pytest.mark.slow
def test_plan_restores_the_snapshots_that_there_are(tmp_path: Path) -> None:
    path = tmp_path / "set-back.toml"
    path.write_text(SET_BACK)

    report = Simulation(read_plan(path)).run()

    assert report.violations == []
    assert [(i.what, sorted(i.nodes)) for i in report.incidents] == [("set back", ["m1"])]
    assert report.figures["refetched"] == 0


@pytest.mark.slow
def test_what_is_gone_with_all_disks_that_had_it_is_told_for_good() -> None:
    report = run("stores-lost")

    last = report.figures["heard"][-1]
    assert report.violations == []
    assert last["state"] == "incomplete" and last["buckets"] > 500


@pytest.mark.slow
@pytest.mark.parametrize(
    "scenario", [pytest.param(kind, marks=() if kind in SHORT else pytest.mark.soak) for kind in sorted(KINDS)]
)
def test_what_is_told_of_a_loss_is_so(scenario: str) -> None:
    assert run(scenario, seed=3).violations == []


@pytest.mark.slow
def test_loss_is_the_same_in_other_processes_under_other_hash_seeds() -> None:
    one, other = [end(process) for process in [begin("blackout", 5, hash_seed) for hash_seed in (0, 4242)]]

    assert one == other
