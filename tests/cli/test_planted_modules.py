"""What lies in the folder where somebody starts a crawl is not imported in the place of libraries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ENDS_S, Run, environment
from tests.cli.forks import ROOT

OWN = {"p2pcrawl", "tests", "simulations"}
NAMES = sorted((sys.stdlib_module_names | set(packages_distributions())) - OWN)
SPY = """
import os
with open(os.environ["CAUGHT"], "a") as file:
    file.write(__name__ + " ")
raise ImportError(__name__)
"""
SPIDER = """
from p2pcrawl import Spider
import neighbour_of_mine

class Mine(Spider):
    name = "mine"

    def parse(self, response):
        yield {"found": neighbour_of_mine.FOUND, "status": response.status}
"""


@pytest.fixture(scope="session")
def before_us(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Returns the modules that ``python -m`` itself looks for in the current folder, before any line of ours."""
    folder = tmp_path_factory.mktemp("before")
    (folder / "probe.py").write_text("import sys; print(*sys.modules)")
    command = [sys.executable, "-m", "probe"]
    return set(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.split())


@pytest.fixture
def trapped(tmp_path: Path, before_us: set[str]) -> Path:
    """A folder with a module of nearly every name there is, and a spider that needs its own neighbour."""
    folder = tmp_path / "trapped"
    folder.mkdir()
    for name in NAMES:
        if name.isidentifier() and name not in before_us:
            (folder / f"{name}.py").write_text(SPY)
    (folder / "neighbour_of_mine.py").write_text("FOUND = 'beside it'\n")
    (folder / "mine.py").write_text(SPIDER)
    return folder


def caught_in(folder: Path) -> dict[str, str]:
    return {"CAUGHT": str(folder.parent / "caught")}


def seen(folder: Path) -> list[str]:
    path = folder.parent / "caught"
    return path.read_text().split() if path.exists() else []


@pytest.mark.parametrize("arguments", [["--version"], ["crawl", "--help"], ["status"], ["keygen"]])
def test_command_imports_nothing_from_the_current_folder(run: Run, trapped: Path, arguments: list[str]) -> None:
    result = run(*arguments, cwd=trapped, env=caught_in(trapped))

    assert seen(trapped) == []
    assert "bug" not in result.stderr


@pytest.mark.parametrize("name", ["brotli", "msgspec", "yarl", "json", "sqlite3", "uvloop"])
def test_the_folder_holds_what_would_be_imported(trapped: Path, name: str) -> None:
    assert (trapped / f"{name}.py").exists()


def test_process_of_a_slave_looks_for_nothing_there_at_all(trapped: Path) -> None:
    for name in NAMES:
        if name.isidentifier():
            (trapped / f"{name}.py").write_text(SPY)

    result = subprocess.run(
        [sys.executable, "-P", "-m", "p2pcrawl.slave", "--help"],
        cwd=trapped,
        env=environment() | caught_in(trapped),
        capture_output=True,
        timeout=ENDS_S,
    )

    assert (result.returncode, seen(trapped)) == (0, [])


@pytest.mark.slow
@pytest.mark.parametrize("target", ["mine.py", "mine:Mine"])
def test_crawl_and_its_slaves_import_the_users_modules_and_no_others_from_there(
    run: Run, trapped: Path, site: Any, target: str
) -> None:
    result = run(
        "crawl",
        target,
        "-a",
        f"start_urls={site['start']}",
        "-o",
        "-",
        "--slaves",
        "1",
        cwd=trapped,
        env=caught_in(trapped),
    )

    assert seen(trapped) == []
    assert [json.loads(line) for line in result.stdout.splitlines()] == [{"found": "beside it", "status": 200}]


@pytest.mark.slow
def test_script_of_a_user_has_slaves_that_import_libraries_first(trapped: Path, site: Any, tmp_path: Path) -> None:
    """The script's own process is Python's matter; that of the slaves is ours."""
    (trapped / "brotli.py").write_text(
        "import os, sys\nif 'slave' in ' '.join(sys.orig_argv):\n    open(os.environ['CAUGHT'], 'a').write('brotli ')\n"
    )
    for name in NAMES:
        if name != "brotli":
            (trapped / f"{name}.py").unlink(missing_ok=True)
    main = (
        f"\nif __name__ == '__main__':\n    from p2pcrawl import Crawler\n    Mine.start_urls = [{site['start']!r}]\n"
    )
    main += "    Crawler(Mine, output='-', slaves=1, arguments={'start_urls': Mine.start_urls[0]}).run()\n"
    (trapped / "mine.py").write_text(SPIDER + main)

    result = subprocess.run(
        [sys.executable, "mine.py"],
        cwd=trapped,
        env=environment(tmp_path) | caught_in(trapped),
        capture_output=True,
        text=True,
        timeout=ENDS_S,
    )

    assert seen(trapped) == [], result.stderr
    assert json.loads(result.stdout)["found"] == "beside it"


def test_folder_of_the_checkout_is_still_found(tmp_path: Path) -> None:
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    result = subprocess.run(
        [sys.executable, "-m", "p2pcrawl", "--version"],
        cwd=ROOT,
        env=own,
        capture_output=True,
        text=True,
        timeout=ENDS_S,
    )

    assert result.returncode == 0, result.stderr
