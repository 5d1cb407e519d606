"""What was looked up about our dependencies, and laws that stand in for the rules that bandit is told to leave out."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OURS = ("p2pcrawl", "simulations")
LICENCES = {
    "Apache-2.0": r"apache", "BSD-2-Clause": r"bsd", "BSD-3-Clause": r"bsd", "ISC": r"isc", "MIT": r"mit\b",
    "MIT-0": r"mit-0", "MIT-CMU": r"mit-cmu", "MPL-1.1": r"mpl-1\.1", "MPL-2.0": r"mpl|mozilla public license 2",
    "PSF-2.0": r"psf|python software foundation",
}  # fmt: skip
"""Those that we may depend on, and how packages write them. The MPL binds changes of its own files: we make none."""


class Row(NamedTuple):
    name: str
    licence: str
    floor: str


def rows(heading: str = "") -> dict[str, Row]:
    """The tables of the page, by name of the package; or the one under a heading."""
    text = (ROOT / "docs" / "dependencies.md").read_text()
    part = text if not heading else text.split(f"## {heading}\n")[1].split("\n## ")[0]
    found = re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \| ?([^|]*?) ?\| [^|]+ \|$", part, re.MULTILINE)
    return {canonicalize_name(name): Row(name, licence, floor) for name, licence, floor in found if name != "package"}


def constraints() -> dict[str, Version]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): Version(version) for name, version in pairs}


def required(extra: str = "") -> list[Requirement]:
    lines = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    return [Requirement(line) for line in lines]


def test_every_package_that_is_installed_was_looked_up() -> None:
    asked_for = {canonicalize_name(each.name) for each in [*required(), *required("dev")]}

    assert sorted(rows()) == sorted(constraints())
    assert asked_for <= set(constraints())


def test_no_version_in_use_is_below_the_first_one_without_a_known_advisory() -> None:
    pinned = constraints()

    below = [row.name for name, row in rows().items() if row.floor and pinned[name] < Version(row.floor)]

    assert below == []


@pytest.mark.parametrize("requirement", [*required(), *required("dev")], ids=str)
def test_nothing_below_the_floor_can_be_installed(requirement: Requirement) -> None:
    row = rows()[canonicalize_name(requirement.name)]

    lowest = next(Version(each.version) for each in requirement.specifier if each.operator == ">=")

    assert not row.floor or lowest >= Version(row.floor)


def test_all_that_is_required_to_run_is_in_the_table_of_what_runs() -> None:
    running, ahead = set(), [canonicalize_name(each.name) for each in required()]
    while ahead:
        name = ahead.pop()
        here = installed(name)
        if name in running or here is None:
            continue
        running.add(name)
        needed = [Requirement(line) for line in here.requires or []]
        ahead += [canonicalize_name(each.name) for each in needed if not each.marker or each.marker.evaluate()]

    assert running <= set(rows("What runs"))


def _binding(licence: str) -> bool:
    return re.search(r"\bA?GPL", licence) is not None


@pytest.mark.parametrize("row", rows().values(), ids=lambda row: row.name)
def test_licence_is_the_one_that_the_package_states(row: Row) -> None:
    here = installed(row.name)
    if here is None:
        pytest.skip("not needed on this Python")
    stated = [here.metadata.get("License-Expression", ""), (here.metadata.get("License") or "").partition("\n")[0]]
    stated += [each for each in here.metadata.get_all("Classifier") or [] if each.startswith("License ::")]

    # Of several that are offered one may choose.
    choices = [each for line in stated for each in line.split(" OR ")] if " OR " in stated[0] else [" ".join(stated)]
    assert any(re.search(LICENCES[row.licence], each, re.IGNORECASE) and not _binding(each) for each in choices)


def test_whatever_is_imported_is_asked_for() -> None:
    extras = [each for extra in PROJECT["optional-dependencies"] if extra != "dev" for each in required(extra)]
    asked_for = {canonicalize_name(each.name) for each in [*required(), *extras]}
    known = packages_distributions()

    imported = {name for path in sources(*OURS) for name in imports(path)} - sys.stdlib_module_names - set(OURS)
    imported.discard("compression")  # of the standard library from Python 3.14 on

    assert {n for n in imported if not asked_for & {canonicalize_name(each) for each in known.get(n, [n])}} == set()


def test_no_secret_comes_from_dice_that_can_be_guessed() -> None:
    places = ("wire", "private", "overlay/tls.py", "overlay/identity_file.py", "peer/tokens.py", "peer/api.py")
    guarded = [path for place in places for path in sources(f"p2pcrawl/{place}")]

    assert guarded
    assert [path.name for path in guarded if "random" in imports(path)] == []


def test_no_assert_does_anything_but_ask() -> None:
    """Asserts vanish under ``python -O``: one that calls anything might be what a check consists of."""
    harmless = {"isinstance", "is_open"}

    def called(statement: ast.Assert) -> set[str]:
        calls = [node.func for node in ast.walk(statement.test) if isinstance(node, ast.Call)]
        return {call.id if isinstance(call, ast.Name) else getattr(call, "attr", "") for call in calls} - harmless

    found = {
        f"{path.relative_to(ROOT)}:{node.lineno}": called(node)
        for path in sources("p2pcrawl")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Assert) and called(node)
    }

    assert found == {}


def test_every_exception_from_bandit_has_its_reason() -> None:
    lines = [line for path in sources(*OURS) for line in path.read_text().splitlines() if "# nosec" in line]

    assert [line for line in lines if not re.search(r"# nosec B\d{3}(  # \w|$)", line)] == []


def sources(*places: str) -> list[Path]:
    found = [ROOT / place for place in places]
    return [path for place in found for path in ([place] if place.is_file() else sorted(place.rglob("*.py")))]


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found


def installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None
