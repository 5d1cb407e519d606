"""One Chromium for all tests of the dashboard, and axe-core to look for what keeps people out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from benchmarks.page.browser import Browser, Tab, chromium

WANTED = "P2PCRAWL_TEST_BROWSER"
"""Set where a browser has to be there: then it is a failure if none is."""
AXE = "P2PCRAWL_TEST_AXE"
"""The path of another axe.min.js than the one of the development tools."""


def _lacking(what: str) -> None:
    if os.environ.get(WANTED):
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = chromium()
    if program is None:
        _lacking("the dashboard is not looked at: there is no Chromium here (Debian: apt-get install chromium)")
    assert program is not None
    with Browser(program, tmp_path_factory.mktemp("chromium")) as running:
        yield running


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    opened = browser.tab()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """Returns the source of axe-core."""
    if path := os.environ.get(AXE):
        return Path(path).read_text(encoding="utf-8")
    spec = find_spec("axe_core_python")
    if spec is None or not spec.submodule_search_locations:
        _lacking("nobody looks whether the dashboard is accessible: axe-core-python is not installed (make setup)")
    assert spec is not None and spec.submodule_search_locations
    return (Path(spec.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8")


def violations(tab: Tab, axe: str) -> list[tuple[str, Any]]:
    """Returns what axe-core finds wrong with what a tab shows: the rules, and the elements."""
    tab.run(f"{axe};0")
    found = tab.run("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in found]
