"""Failures that were shrunk, each with the mutant that brings it back: the plans still fail, and only with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from simulations.shrink.case import case_of
from simulations.whole.plan_file import read_plan
from simulations.whole.simulation import Simulation

LEAST = sorted((Path(__file__).parent / "least").glob("*.toml"))
LONG = {"earlier-sessions-ignored", "half-is-enough", "passed-on-to-nobody", "provisional-told-as-settled"}
"""Plans that take two seconds and more."""


@pytest.mark.parametrize("path", LEAST, ids=lambda path: path.stem)
def test_a_plan_has_three_faults_and_twenty_pages_at_most(path: Path) -> None:
    case = case_of(read_plan(path))

    assert case.options.mutant == path.stem
    assert len(case.parts) <= 3 and len(case.numbers) <= 20


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.soak if path.stem in LONG else (), id=path.stem) for path in LEAST],
)
def test_a_plan_fails_with_its_mutant_and_not_without(path: Path) -> None:
    plan = read_plan(path)
    checker = next(line for line in path.read_text().splitlines() if line.endswith("tells:")).split()[-2]

    broken = Simulation(plan, hasty=True, judge=checker).run()
    sound = Simulation(replace(plan, options=replace(plan.options, mutant=""))).run()

    assert [violation.checker for violation in broken.violations] == [checker]
    assert sound.violations == []
