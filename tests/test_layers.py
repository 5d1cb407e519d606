"""The layer law: imports point down only, as the table in docs/architecture.md says.

Every import statement counts, also those inside functions and under ``TYPE_CHECKING``: an arrow in the wrong
direction is a wrong arrow whenever it is drawn.

Faces (`tests/faces.py`) are the modules at the paths that people know from Scrapy, such as ``p2pcrawl.http``. They show
what is done elsewhere: they may import everything, and nothing inside imports them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faces import face_parts, is_face
from tests.imports import Arrow, arrows_of, modules_under

ROOT = Path(__file__).resolve().parent.parent

SHELL = {"overlay", "frontier", "fetch", "spiders", "stores"}
BELOW_SHELL = {"model", "core", "wire", "private"}
BELOW_CRAWLER = BELOW_SHELL | SHELL | {"master", "slave"}

# The layers' own modules may always import each other. "p2pcrawl" is p2pcrawl/__init__.py, the public face.
MAY_IMPORT: dict[str, set[str]] = {
    "model": set(),
    "core": {"model"},
    "wire": {"model"},
    "private": {"model"},
    **{name: BELOW_SHELL for name in SHELL},
    "master": BELOW_SHELL | SHELL,
    "slave": BELOW_SHELL | SHELL,
    "peer": BELOW_CRAWLER,
    "crawler": BELOW_CRAWLER,
    "client": BELOW_CRAWLER | {"peer"},
    "p2pcrawl": BELOW_CRAWLER | {"crawler", "peer", "client"},
    "demo": BELOW_CRAWLER | {"crawler", "peer", "client", "p2pcrawl", "cli"},
    "cli": BELOW_CRAWLER | {"crawler", "peer", "client", "p2pcrawl", "demo"},
    "__main__": {"cli"},
    "faces": BELOW_CRAWLER | {"crawler", "peer", "client", "p2pcrawl", "cli"},
}

FACES = face_parts(ROOT / "p2pcrawl")

# core decides; whoever calls it brings the time, the dice and the outside world.
CLOSED_TO_CORE = {"asyncio", "socket", "time", "random", "logging", "os", "pathlib", "sqlite3"}


def layer_of(module: str) -> str:
    """The layer of a module of p2pcrawl: the package or top-level module that it is in."""
    parts = module.split(".")
    if len(parts) > 1:
        return "faces" if parts[1] in FACES else parts[1]
    return parts[0]


def target_layer(target: str, layers: set[str]) -> str:
    """The layer an import reaches: ``from p2pcrawl import Spider`` reaches the public face."""
    parts = target.split(".")
    if len(parts) > 1 and parts[1] in FACES:
        return "faces"
    return parts[1] if len(parts) > 1 and parts[1] in layers else "p2pcrawl"


def offences(arrow: Arrow) -> Iterator[str]:
    """Yields what is wrong with one import of a module of p2pcrawl."""
    layer, top = layer_of(arrow.module), arrow.target.split(".")[0]
    if layer not in MAY_IMPORT:
        yield f"{arrow.module} is in no layer: give {layer!r} its place in docs/architecture.md and here"
        return
    where = f"{arrow.module}:{arrow.line} imports {arrow.target}"
    if top in ("simulations", "tests") or f"{arrow.target}.".startswith("p2pcrawl.simulate."):
        yield f"{where}: p2pcrawl never imports simulations and tests"
    elif top == "p2pcrawl":
        reached = target_layer(arrow.target, set(MAY_IMPORT))
        if reached != layer and reached not in MAY_IMPORT[layer]:
            yield f"{where}: {layer} may not import {reached}"
    elif layer == "model" and top not in sys.stdlib_module_names:
        yield f"{where}: model imports nothing but the standard library"
    elif layer == "core" and top in CLOSED_TO_CORE:
        yield f"{where}: core has no clock, no dice, no I/O"


PACKAGE = modules_under(ROOT / "p2pcrawl")


@pytest.mark.parametrize("module", PACKAGE)
def test_module_imports_only_layers_below_its_own(module: str) -> None:
    path = PACKAGE[module]

    arrows = arrows_of(path.read_text(encoding="utf-8"), module, path.name == "__init__.py")

    assert [offence for arrow in arrows for offence in offences(arrow)] == []


def test_every_module_of_the_package_has_a_layer() -> None:
    assert {layer_of(module) for module in PACKAGE} <= set(MAY_IMPORT)


def test_table_of_layers_has_no_cycle_below_the_faces() -> None:
    settled: set[str] = set()
    waiting = set(MAY_IMPORT) - {"cli", "demo", "__main__", "faces"}

    while ready := {layer for layer in waiting if MAY_IMPORT[layer] <= settled}:
        settled |= ready
        waiting -= ready

    assert waiting == set()


@pytest.mark.parametrize(
    ("module", "source"),
    [
        pytest.param("p2pcrawl.model.crawl.url", "import msgspec", id="third-party-in-model"),
        pytest.param("p2pcrawl.model.crawl.url", "from p2pcrawl.core import retry", id="model-imports-core"),
        pytest.param("p2pcrawl.model.crawl.url", "from p2pcrawl import Spider", id="model-imports-the-public-face"),
        pytest.param("p2pcrawl.core.hosts.retry", "def f():\n    import time", id="clock-inside-a-function-of-core"),
        pytest.param("p2pcrawl.core.hosts.retry", "from os import path", id="os-in-core"),
        pytest.param("p2pcrawl.core.hosts.retry", "from p2pcrawl.wire import codec", id="core-imports-wire"),
        pytest.param(
            "p2pcrawl.fetch.connection.client",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p2pcrawl.spiders.spider import Spider",
            id="sibling-under-type-checking",
        ),
        pytest.param("p2pcrawl.fetch.connection.client", "from ...spiders import links", id="relative-import"),
        pytest.param(
            "p2pcrawl.fetch.connection.client",
            "import importlib\nimportlib.import_module('p2pcrawl.cli')",
            id="by-name",
        ),
        pytest.param("p2pcrawl.cli.main", "import simulations.world.world", id="simulations"),
        pytest.param("p2pcrawl.cli.main", "from p2pcrawl import simulate", id="simulations-as-they-are-installed"),
        pytest.param("p2pcrawl.gossip.node", "import json", id="package-without-a-layer"),
        *(pytest.param("p2pcrawl.cli.main", f"import p2pcrawl.{face}", id=f"face-{face}") for face in sorted(FACES)),
    ],
)
def test_checker_refuses_a_wrong_import(module: str, source: str) -> None:
    assert [offence for arrow in arrows_of(source, module, False) for offence in offences(arrow)]


@pytest.mark.parametrize(
    ("module", "source", "is_package"),
    [
        pytest.param(
            "p2pcrawl.core.hosts.retry", "from . import leases\nfrom .leases import Lease", False, id="own-layer"
        ),
        pytest.param("p2pcrawl.core", "from .leases import Lease\nfrom ..model import url", True, id="from-init"),
        pytest.param("p2pcrawl", "from .crawler import Crawler", True, id="public-face"),
        pytest.param("p2pcrawl.master.loop", "import asyncio\nfrom p2pcrawl.core import retry", False, id="downwards"),
    ],
)
def test_checker_accepts_a_right_import(module: str, source: str, is_package: bool) -> None:
    assert not [offence for arrow in arrows_of(source, module, is_package) for offence in offences(arrow)]


@pytest.mark.parametrize(
    ("source", "face"),
    [
        pytest.param('"""Names."""\nfrom a import B\n__all__ = ["B"]', True, id="shows"),
        pytest.param('"""Names."""', True, id="folder"),
        pytest.param('from a import B\n__all__ = ["B"]', False, id="without-docstring"),
        pytest.param('"""Names."""\nfrom a import B', False, id="without-all"),
        pytest.param('"""Names."""\n__all__ = ["f"]\ndef f(): ...', False, id="works"),
        pytest.param('"""Names."""\nimport a\n__all__ = ["B"]\nB = a.B', False, id="assigns"),
    ],
)
def test_face_holds_no_work(source: str, face: bool) -> None:
    assert is_face(source) == face
