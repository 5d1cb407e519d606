"""Small limits stand where the peers look for them, are in force for one run, and change nothing of what comes out."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import p2pcrawl
from p2pcrawl.master.buckets import takeover
from p2pcrawl.model.errors import ConfigurationError
from simulations.draws.limits import LIMITS, drawn_limits, limited
from simulations.play.options import Options
from simulations.whole.outcome import Report
from simulations.whole.plan import Plan
from simulations.whole.plan_file import read_plan
from simulations.whole.simulation import Simulation

ROOT = Path(__file__).parents[2]
SMALL = Options(scenario="rolling", masters=3, replicas=2, pages=30, hosts=4, seed=2)
LEAST = {name: min(limit.values) for name, limit in LIMITS.items()}


def ran(options: Options, limits: Mapping[str, int]) -> Report:
    return Simulation(Plan(options, limits=limits)).run()


def importers(name: str, module: str) -> set[str]:
    """The modules that take this name from that one, and so have a value of their own."""
    found = set()
    for path in Path(p2pcrawl.__path__[0]).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if name not in text or module not in text:
            continue
        for node in ast.parse(text).body:
            if isinstance(node, ast.ImportFrom) and node.module == module and name in {a.name for a in node.names}:
                found.add(".".join(path.relative_to(Path(p2pcrawl.__path__[0]).parent).with_suffix("").parts))
    return found


@pytest.mark.slow
def test_each_limit_stands_at_all_places_where_it_is_looked_for() -> None:
    for limit in LIMITS.values():
        constants = [place.split(":") for place in limit.places if place.count(":") == 1]
        for module, name in constants:
            home = import_module(module)
            if name in vars(home):
                assert importers(name, module) <= {each for each, _ in constants}, name


def test_limits_are_in_force_for_the_block_and_no_longer() -> None:
    before = takeover.PULL_ROWS

    with limited({"pulled rows": 3}):
        within = takeover.PULL_ROWS

    assert (within, takeover.PULL_ROWS) == (3, before)


@pytest.mark.soak
def test_a_run_with_all_limits_at_their_least_comes_to_the_same_end() -> None:
    report = ran(SMALL, LEAST)

    assert report.violations == []
    assert report.figures["limits"] == LEAST
    assert len(report.items) == len(ran(SMALL, {}).items)


@pytest.mark.slow
def test_a_master_with_as_much_under_way_as_may_be_waits_and_does_not_turn_on_the_spot() -> None:
    """It took turn after turn in which it granted nothing, as long as any host was due."""
    report = ran(Options(masters=3, pages=40, hosts=4, seed=15, key="url"), {"copies under way": 4})

    assert report.violations == []


@pytest.mark.slow
def test_the_same_limits_are_drawn_and_the_same_run_is_played_in_another_process() -> None:
    code = (
        "import sys, json; from simulations import Options, Simulation;"
        "print(json.dumps(Simulation(Options(**json.loads(sys.argv[1]))).run().plain()))"
    )
    given = {"masters": 3, "pages": 20, "hosts": 3, "seed": 4, "draws": ["limits"]}
    told: list[dict[str, Any]] = []
    for hash_seed in ("0", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", code, json.dumps(given)]
        told.append(json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout))

    assert told[0]["trace"] == told[1]["trace"]
    assert told[0]["limits"] == told[1]["limits"] == drawn_limits(4)


def test_a_plans_file_says_which_limits_are_small(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text('[limits]\n"pulled rows" = 2\n', encoding="utf-8")

    assert read_plan(path).limits == {"pulled rows": 2}
    path.write_text('[limits]\n"pulled rows" = 0\n', encoding="utf-8")
    with pytest.raises(ConfigurationError, match="at least 1"):
        read_plan(path)
