"""What all tests share."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from simulations.world.disks import place_for_disks
from tests.own_environment import own_environment

# No test trusts a public authority. Every process that imports aiohttp reads their list, which takes some 30 ms, and
# the tests start more than a thousand.
os.environ["SSL_CERT_FILE"] = os.devnull

# Where the environment wants no bytecode, each of these processes compiles the package anew, a third of what it costs,
# and each worker of the tests all test modules.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Databases are synced some ten thousand times, for a loss of power that no test brings: in memory nobody waits.
# Servers and browsers that tests start have their folders there, too.
os.environ["TMPDIR"] = place_for_disks()
tempfile.tempdir = None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keeps the garbage collector away from what was collected of tests: some 400,000 objects that stay to the end.

    Each simulated world collects garbage when it closes, which took a quarter of a second, nearly all of it for these.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Refuses cases that are a set: each worker has another order of them, and the run would end before a test."""
    for mark in metafunc.definition.iter_markers("parametrize"):
        cases = mark.kwargs.get("argvalues", mark.args[1] if len(mark.args) > 1 else ())
        if isinstance(cases, set | frozenset):
            pytest.fail(f"{metafunc.definition.nodeid}: its cases are a set, which has another order in each process")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says aloud which real servers, or ports, were not there: without them a part of the promises goes untested."""
    skipped = [
        each
        for each in terminalreporter.stats.get("skipped", [])
        if each.nodeid.startswith(("tests/servers/", "tests/acceptance/test_readme.py"))
    ]
    for reason in sorted({str(each.longrepr[2]) for each in skipped if isinstance(each.longrepr, tuple)}):
        terminalreporter.write_line(f"NOT TESTED: {reason}", yellow=True)


@pytest.fixture
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives peers folders of the test for what they keep of themselves and of their cluster."""
    for name, folder in own_environment(tmp_path).items():
        monkeypatch.setenv(name, folder)
