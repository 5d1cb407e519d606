"""How p2pcrawl is installed: the simulations are ``p2pcrawl.simulate`` there, and nothing takes another name."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder

from simulations.kernel.own_name import COMMAND, PACKAGE

ROOT = Path(__file__).resolve().parents[2]
SIMULATIONS = sorted((ROOT / "simulations").rglob("*.py"))
SMALL = ("--seed", "3", "--masters", "1", "--pages", "5", "--hosts", "2")


def wheel() -> Any:
    """What pyproject.toml says of it."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a module as if p2pcrawl were installed in this folder, and nowhere else."""
    return subprocess.run(
        [sys.executable, "-P", "-m", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_checkout_calls_its_simulations_by_their_folder() -> None:
    assert (PACKAGE, COMMAND) == ("simulations", "python -m simulations")


@pytest.mark.parametrize("path", SIMULATIONS, ids=lambda path: str(path.relative_to(ROOT)))
def test_simulations_import_each_other_by_no_name_of_their_own(path: Path) -> None:
    imported = [
        name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
    ]

    assert [name for name in imported if name.partition(".")[0] == "simulations"] == []


@pytest.mark.slow
def test_installed_simulations_run_under_the_name_of_p2pcrawl_and_name_the_command_that_they_are(
    tmp_path: Path,
) -> None:
    moved = {**{name: name for name in wheel()["only-include"]}, **wheel()["sources"]}
    for name, to in moved.items():
        shutil.copytree(ROOT / name, tmp_path / to, ignore=shutil.ignore_patterns("__pycache__"))

    played = run(tmp_path, "p2pcrawl.simulate", "run", "steady", *SMALL)
    helped = run(tmp_path, "p2pcrawl.simulate", "--help")
    refused = run(tmp_path, "p2pcrawl.simulate", "run", "nonsense")

    assert moved["simulations"] == "p2pcrawl/simulate"
    assert (played.returncode, played.stderr) == (0, "")
    assert "nothing is amiss" in played.stdout
    assert "python -m p2pcrawl.simulate" in helped.stdout and "simulations run" not in helped.stdout
    assert refused.returncode == 2
    assert refused.stderr.startswith("p2pcrawl.simulate: there is no scenario 'nonsense'")


def test_wheel_holds_one_package_with_the_simulations_in_it(tmp_path: Path) -> None:
    [built] = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    names = ZipFile(built).namelist()

    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"p2pcrawl"}
    there = {name.removeprefix("p2pcrawl/simulate/") for name in names if name.startswith("p2pcrawl/simulate/")}
    assert there >= {str(path.relative_to(ROOT / "simulations")) for path in SIMULATIONS}
