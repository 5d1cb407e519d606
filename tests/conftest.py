"""What all tests share."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.own_environment import own_environment

# No test trusts a public authority. Every process that imports aiohttp reads their list, which takes some 30 ms, and
# the tests start more than a thousand.
os.environ["SSL_CERT_FILE"] = os.devnull

# Where the environment wants no bytecode, each of these processes compiles the package anew, a third of what it costs,
# and each worker of the tests all test modules.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says aloud which real servers were not there, for without them a part of the promises goes untested."""
    skipped = [each for each in terminalreporter.stats.get("skipped", []) if "tests/servers/" in each.nodeid]
    for reason in sorted({str(each.longrepr[2]) for each in skipped if isinstance(each.longrepr, tuple)}):
        terminalreporter.write_line(f"NOT TESTED against a real server: {reason}", yellow=True)


@pytest.fixture
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives peers folders of the test for what they keep of themselves and of their cluster."""
    for name, folder in own_environment(tmp_path).items():
        monkeypatch.setenv(name, folder)
