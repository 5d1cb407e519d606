"""The law of rooms: inside a package of several folders, imports go one way, too.

A folder of a package is a room. Rooms of one package import each other in one direction only, and none imports a
module that lies beside the rooms: those put the rooms together. A folder that has filled up becomes two. Faces
(`tests/faces.py`) have the names and the places that people know them by, and count in none of this.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.faces import is_face
from tests.imports import arrows_of, modules_under
from tests.test_layers import ROOT, layer_of

MODULES_MAX = 15
"""In one folder, its ``__init__`` not counted."""
TREES = ("p2pcrawl", "simulations", "benchmarks")
HALL = "(beside the rooms)"

# Names that two modules or more may have, since they mean the same thing in several layers.
SAME_THING = {
    "consent": "what a voter promises: as data, as a decision, as bytes",
    "control": "the state of a job: which counts, and the verbs that change it",
    "gossip": "what members say to each other: as data, as bytes, on the loop",
    "job": "a job: as it was submitted, and as its master runs it",
    "node": "a peer in the cluster: as data, and as its place in the overlay",
    "orphans": "what could not be reported to a dead master: at the slave, and at the next master",
    "referrer": "the Referer of a request: the policies, and their use",
    "session": "a slave's standing with its master: at either end",
    "tls": "TLS outside the sealed streams: the stream, and the contexts",
}
Edge = tuple[str, str]


def room_of(module: str, package: str, rooms: Iterable[str]) -> str:
    """Returns the room of ``package`` that a module is in, or the hall."""
    first = module[len(package) + 1 :].partition(".")[0]
    return first if first in rooms else HALL


def edges_between_rooms(package: str, imports: Iterable[Edge], rooms: Iterable[str]) -> dict[Edge, list[Edge]]:
    """Returns which rooms of ``package`` import which others, and the imports that say so."""
    edges = defaultdict(list)
    for module, target in imports:
        if module.startswith(package + ".") and target.startswith(package + "."):
            edge = (room_of(module, package, rooms), room_of(target, package, rooms))
            if edge[0] != edge[1]:
                edges[edge].append((module, target))
    return dict(edges)


def edges_in_circles(edges: Iterable[Edge]) -> set[Edge]:
    """Returns the edges from whose end one comes back to their beginning."""
    after: dict[str, set[str]] = defaultdict(set)
    for start, end in edges:
        after[start].add(end)

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            new = after[waiting.pop()] - seen
            seen |= new
            waiting += new
        return seen

    return {(start, end) for start in list(after) for end in after[start] if start in reached(end)}


MODULES: Mapping[str, Path] = {name: path for tree in TREES for name, path in modules_under(ROOT / tree).items()}
FACES = {
    name
    for name, path in MODULES.items()
    if (name.startswith("p2pcrawl.") and layer_of(name) == "faces")
    or (name.startswith("p2pcrawl.spiders.") and is_face(path.read_text(encoding="utf-8")))
}
PACKAGES = {name for name, path in MODULES.items() if path.name == "__init__.py"}
ROOMS = {
    package: {room.rpartition(".")[2] for room in PACKAGES if room.rpartition(".")[0] == package}
    for package in PACKAGES - {"p2pcrawl"}  # Its rooms are the layers.
}


@cache
def imports() -> frozenset[Edge]:
    """Returns which modules import which: read when a test asks, for every worker of a run collects all tests."""
    return frozenset(
        (module, target if target in MODULES else target.rpartition(".")[0])
        for module, path in MODULES.items()
        for _, _, target in arrows_of(path.read_text(encoding="utf-8"), module, path.name == "__init__.py")
        if module not in PACKAGES | FACES  # A package's face may show what its rooms hold.
    )


@pytest.mark.parametrize("package", sorted(package for package, rooms in ROOMS.items() if rooms))
def test_rooms_of_a_package_import_each_other_in_one_direction_only(package: str) -> None:
    edges = edges_between_rooms(package, imports(), ROOMS[package])

    wrong = edges_in_circles(edges)

    assert {edge: edges[edge] for edge in sorted(wrong)} == {}


@pytest.mark.parametrize(
    "folder",
    sorted({path.parent for name, path in MODULES.items() if name not in FACES}),
    ids=lambda f: str(f.relative_to(ROOT)),
)
def test_folder_is_not_a_heap(folder: Path) -> None:
    own = [name for name, path in MODULES.items() if path.parent == folder and name not in PACKAGES | FACES]

    assert len(own) <= MODULES_MAX


def test_modules_of_one_name_mean_the_same_thing() -> None:
    names = [
        module.rpartition(".")[2]
        for module in MODULES
        if module.startswith("p2pcrawl.") and module not in PACKAGES | FACES
    ]

    assert {name for name in names if names.count(name) > 1} - {"__main__"} == set(SAME_THING)


def test_every_folder_with_modules_is_a_package_that_says_what_it_holds() -> None:
    folders = {path.parent for tree in TREES for path in (ROOT / tree).rglob("*.py")}

    silent = [folder for folder in folders if not (folder / "__init__.py").read_text().startswith(('"""', 'r"""'))]

    assert silent == []


@pytest.mark.parametrize(
    ("imports", "wrong"),
    [
        pytest.param([("p.a.x", "p.b.y"), ("p.b.y", "p.a.z")], {("a", "b"), ("b", "a")}, id="mutual"),
        pytest.param(
            [("p.a.x", "p.b.y"), ("p.b.y", "p.c.z"), ("p.c.z", "p.a.x")],
            {("a", "b"), ("b", "c"), ("c", "a")},
            id="circle",
        ),
        pytest.param(
            [("p.main", "p.a.x"), ("p.a.x", "p.main")], {(HALL, "a"), ("a", HALL)}, id="room-imports-the-hall"
        ),
        pytest.param([("p.main", "p.a.x"), ("p.a.x", "p.b.y"), ("p.a.x", "p.a.z")], set(), id="one-way"),
    ],
)
def test_law_sees_circles(imports: list[Edge], wrong: set[Edge]) -> None:
    assert edges_in_circles(edges_between_rooms("p", imports, {"a", "b", "c"})) == wrong
