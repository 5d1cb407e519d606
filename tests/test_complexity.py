"""No function has more than twenty ways through it: loops, conditions, and what an expression hides of them.

Ruff's C901 counts statements; a comprehension with two conditions is as hard to read as the loop that it stands for.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("p2pcrawl", "simulations", "benchmarks", "tests", "examples")
WAYS_MAX = 20

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BRANCHES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert)


def inside(function: ast.AST) -> Iterator[ast.AST]:
    """Yields what a function consists of, without the functions and classes in it."""
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            yield node
            yield from inside(node)


def ways_through(function: ast.AST) -> int:
    """Returns the cyclomatic complexity of a function."""
    ways = 1
    for node in inside(function):
        match node:
            case ast.BoolOp(values=values):
                ways += len(values) - 1
            case ast.comprehension(ifs=conditions):
                ways += 1 + len(conditions)
            case ast.match_case(pattern=ast.MatchAs(pattern=None), guard=None):
                pass
            case ast.match_case():
                ways += 1
            case _ if isinstance(node, _BRANCHES):
                ways += 1
    return ways


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_function_has_more_ways_through_it_than_can_be_held_in_mind(folder: str) -> None:
    found = {
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}": ways
        for path in sorted((ROOT / folder).rglob("*.py"))
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, _FUNCTIONS) and (ways := ways_through(function)) > WAYS_MAX
    }

    assert found == {}


@pytest.mark.parametrize(
    ("source", "ways"),
    [
        ("pass", 1),
        ("return a if b and c or d else e", 4),
        ("return [x for x in y if x if not x.z]", 4),
        ("try:\n  f()\nexcept A:\n  pass\nexcept B:\n  pass", 3),
        ("match a:\n  case 1:\n    pass\n  case _:\n    pass", 2),
        ("for a in b:\n  while a:\n    assert a\ndef inner():\n  if a:\n    pass", 4),
    ],
)
def test_ways_are_counted_wherever_they_hide(source: str, ways: int) -> None:
    [function] = ast.parse("def f():\n" + "".join(f"  {line}\n" for line in source.split("\n"))).body

    assert ways_through(function) == ways
