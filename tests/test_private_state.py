"""How much of what is private to the product its tests touch: each place is one that a refactoring trips over.

Counted are attributes and imported names with one leading underscore, also as strings in ``monkeypatch.setattr`` and
its like. What a test file itself defines is its own; ``_replace`` and its like are the public methods of named tuples.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ACCESSES_MAX = 40
PRODUCT = ("p2pcrawl", "simulations", "benchmarks")
NAMED_TUPLES = ("_replace", "_asdict", "_fields", "_make")
BY_NAME = ("setattr", "getattr", "delattr", "hasattr")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in ("_", *NAMED_TUPLES)


def accesses(source: str) -> Iterator[tuple[int, str]]:
    """The line and text of each access."""
    tree = ast.parse(source)
    own = set(defined(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ast.Name("os" | "sys")):
                pass
            case ast.Attribute(_, name) if is_private(name) and name not in own:
                yield node.lineno, ast.unparse(node)
            case ast.ImportFrom(module, names) if (module or "").split(".")[0] in PRODUCT:
                yield from ((node.lineno, f"import {n.name}") for n in names if is_private(n.name))
            case ast.Call(ast.Name(called) | ast.Attribute(_, called), arguments) if called in BY_NAME:
                texts = [a.value for a in arguments if isinstance(a, ast.Constant) and isinstance(a.value, str)]
                yield from ((node.lineno, text) for text in texts if any(map(is_private, text.split("."))))


def defined(tree: ast.Module) -> Iterator[str]:
    """The names that a file gives to functions, classes and attributes of its own."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                yield name
            case ast.Attribute(ast.Name("self"), name, ast.Store()) | ast.AnnAssign(ast.Name(name)):
                yield name


def test_tests_touch_little_that_is_private_to_the_product() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sorted(ROOT.rglob("*.py"))
        for line, text in accesses(path.read_text(encoding="utf-8"))
    ]

    assert len(found) <= ACCESSES_MAX, "\n".join(["use or make a public door, or test what can be seen:", *found])


def test_every_way_to_something_private_is_counted() -> None:
    source = """
from p2pcrawl.peer.lead import _hidden, shown
from tests.other import _of_a_test
class Mine:
    def __init__(self): self._own = 1
    def look(self, other): return self._own, self._theirs, other._own
def test(one, monkeypatch):
    one._lead._master = one.__class__
    monkeypatch.setattr("p2pcrawl.peer.lead._LATE_S", 1)
    monkeypatch.setattr(one, "_clock", getattr(one, "_x"))
    one.row._replace(a=1)
"""

    assert sorted(text for _, text in accesses(source)) == [
        "_clock",
        "_x",
        "import _hidden",
        "one._lead",
        "one._lead._master",
        "p2pcrawl.peer.lead._LATE_S",
        "self._theirs",
    ]
