"""Who refers to whom among the objects of a running master, and how large the largest knot of them is.

An object refers to another by an attribute, be it directly, in a tuple, or as a function that knows it: a bound method,
a closure, a partial call. Whoever is given a dict, a set or a list that another made refers to that other, too. What is
in such a container is data, and is not looked at, but for functions: they are callbacks.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache, partial
from pathlib import Path
from types import BuiltinMethodType, CellType, FunctionType, MethodType
from typing import Any

COUNTED = ("p2pcrawl.master.", "p2pcrawl.core.", "p2pcrawl.frontier.", "p2pcrawl.overlay.", __name__.partition(".")[0])
"""Objects of these count (those of tests are made up); others, such as the peer's, are only ways from one to the
other."""
OURS = ("p2pcrawl.", __name__.partition(".")[0])
CONTAINERS = (dict, set, list, deque, Counter, defaultdict)


class Graph:
    """All that can be reached from ``roots``. ``edges``: by id, the ids of those that an object refers to."""

    def __init__(self, *roots: object) -> None:
        self.objects: dict[int, object] = {}
        self.edges: dict[int, set[int]] = defaultdict(set)
        self._holders: dict[int, list[tuple[object, str]]] = defaultdict(list)
        self._kept: list[object] = []
        waiting = [root for root in roots if _is_object(root)]
        while waiting:
            one = waiting.pop()
            if id(one) in self.objects:
                continue
            self.objects[id(one)] = one
            for name, value in attributes(one):
                if type(value) in CONTAINERS:
                    self._kept.append(value)
                    self._holders[id(value)].append((one, name))
                for other in _reached(value):
                    if other is not one:
                        self.edges[id(one)].add(id(other))
                        waiting.append(other)
        self._share()

    def _share(self) -> None:
        """Whoever holds a container that another made refers to that other."""
        for holders in self._holders.values():
            makers = [one for one, name in holders if name in _made_by(type(one))]
            for one, name in holders:
                if name not in _made_by(type(one)):
                    self.edges[id(one)].update(id(maker) for maker in makers if maker is not one)

    @property
    def counted(self) -> list[str]:
        """The names of the classes of the objects that count."""
        return sorted(name_of(one) for one in self.objects.values() if _counts(one))

    @property
    def knots(self) -> list[list[str]]:
        """Those that all refer to each other, if only through others: the largest knot first."""
        found = (sorted(name_of(self.objects[i]) for i in knot if _counts(self.objects[i])) for knot in self._strong())
        return sorted((knot for knot in found if len(knot) > 1), key=len, reverse=True)

    def among(self, names: list[str]) -> dict[str, list[str]]:
        """Who of these refers to whom."""
        return {
            name_of(one): sorted(n for i in self.edges[id(one)] if (n := name_of(self.objects[i])) in names)
            for one in self.objects.values()
            if name_of(one) in names
        }

    def _strong(self) -> Iterator[list[int]]:
        """Tarjan's strongly connected components, without recursion."""
        index: dict[int, int] = {}
        low: dict[int, int] = {}
        stack: list[int] = []
        on_stack: set[int] = set()
        for root in self.objects:
            if root in index:
                continue
            work = [(root, iter(sorted(self.edges[root])))]
            index[root] = low[root] = len(index)
            stack.append(root)
            on_stack.add(root)
            while work:
                one, others = work[-1]
                for other in others:
                    if other not in index:
                        index[other] = low[other] = len(index)
                        stack.append(other)
                        on_stack.add(other)
                        work.append((other, iter(sorted(self.edges[other]))))
                        break
                    if other in on_stack:
                        low[one] = min(low[one], index[other])
                else:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[one])
                    if low[one] == index[one]:
                        knot = []
                        while not knot or knot[-1] != one:
                            knot.append(stack.pop())
                            on_stack.discard(knot[-1])
                        yield knot


def name_of(one: object) -> str:
    return type(one).__name__


def attributes(one: object) -> Iterator[tuple[str, Any]]:
    """All that an object has, by name."""
    yield from getattr(one, "__dict__", {}).items()
    for each in type(one).__mro__:
        slots = each.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(one, name):
                yield name, getattr(one, name)


def _reached(value: Any) -> Iterator[object]:
    match value:
        case MethodType() | BuiltinMethodType():
            yield from _reached(value.__self__)
        case FunctionType():
            for cell in value.__closure__ or ():
                yield from _reached(_inside(cell))
        case partial():
            yield from _reached(value.func)
            for each in (*value.args, *value.keywords.values()):
                yield from _reached(each)
        case tuple():
            for each in value:
                yield from _reached(each)
        case _ if _is_object(value):
            yield value
        case dict() | list() | set() | deque():
            for each in list(value.values() if isinstance(value, Mapping) else value):
                if isinstance(each, MethodType | FunctionType | partial):
                    yield from _reached(each)


def _inside(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _is_object(value: object) -> bool:
    """Whether it does something; values and messages do not."""
    kind = type(value)
    if not kind.__module__.startswith(OURS) or isinstance(value, type | Enum | tuple | BaseException):
        return False
    parameters = getattr(kind, "__dataclass_params__", None)
    return not (parameters is not None and parameters.frozen) and not hasattr(kind, "__struct_fields__")


def _counts(one: object) -> bool:
    return type(one).__module__.startswith(COUNTED)


@cache
def _made_by(kind: type) -> frozenset[str]:
    """The attributes that a class makes itself, instead of being given them."""
    made: set[str] = set()
    for each in kind.__mro__:
        if not each.__module__.startswith(OURS):
            continue
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(each)))):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            value = getattr(node, "value", None)
            if isinstance(node, ast.Assign | ast.AnnAssign) and not isinstance(value, ast.Name | ast.Attribute | None):
                made.update(t.attr for t in targets if isinstance(t, ast.Attribute))
                made.update(t.id for t in targets if isinstance(t, ast.Name) and _makes(value))
    return frozenset(made)


def _makes(value: ast.expr | None) -> bool:
    """Whether the field of a dataclass has a factory."""
    return isinstance(value, ast.Call) and any(word.arg == "default_factory" for word in value.keywords)


def filled_from_outside(folder: Path) -> set[str]:
    """Returns the names of attributes that modules under a folder assign to objects other than ``self``."""
    return {
        target.attr
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Attribute)
        and not (isinstance(target.value, ast.Name) and target.value.id in ("self", "cls"))
    }


def late_slots(graph: Graph, names: set[str]) -> set[str]:
    """Returns the slots for others that were made empty and are filled, by somebody else: ``Class.attribute``."""
    return {
        f"{name_of(one)}.{name}"
        for one in graph.objects.values()
        if _counts(one)
        for name, value in attributes(one)
        if name in names and name in _left_empty_by(type(one)) and any(True for _ in _reached(value))
    }


@cache
def _left_empty_by(kind: type) -> frozenset[str]:
    """Returns the attributes that a class leaves to others: None, a function that does nothing or stands in, or an
    argument that need not be given."""
    empty: set[str] = set()
    for each in kind.__mro__:
        if not each.__module__.startswith(OURS):
            continue
        tree = ast.parse(textwrap.dedent(inspect.getsource(each)))
        optional = {name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for name in _optional(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign | ast.AnnAssign) and _is_empty(node.value, optional):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Attribute):
                        empty.add(target.attr)
                    elif isinstance(target, ast.Name) and node in tree.body[0].body:  # type: ignore[attr-defined]
                        empty.add(target.id)
    return frozenset(empty)


def _is_empty(value: ast.expr | None, optional: set[str]) -> bool:
    match value:
        case ast.Constant(value=None) | ast.Lambda():
            return True
        case ast.Name(id=name):
            return name in optional
        case ast.Attribute(value=ast.Name(id="self")):
            return True
    return False


def _optional(function: ast.FunctionDef) -> set[str]:
    """Returns the parameters that are None unless they are given."""
    arguments = function.args
    named = [*zip(reversed([*arguments.posonlyargs, *arguments.args]), reversed(arguments.defaults), strict=False)]
    named += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
    return {a.arg for a, d in named if isinstance(d, ast.Constant) and d.value is None}
