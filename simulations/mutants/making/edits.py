"""Edits of running code: a few words of a function's source are replaced, and its code is compiled anew.

The whole module is compiled with the edit, and of that only the code of the one function is taken and put into the
function that runs. It stays the same object, with its defaults, its closure, its class and all who hold it; methods,
properties, static and class methods, coroutines and what a decorator has wrapped are reached alike. A function within a
function is part of the code of the outermost one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from inspect import getsource, unwrap
from types import CodeType, FunctionType, ModuleType
from typing import Any

from .mutant import Mutant

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_SHAPE = ("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags", "co_freevars")
"""What must stay as it is for the code to fit into the function."""


class NotApplicable(LookupError):
    """A mutant does not fit the code: what it edits has changed."""


@dataclass(frozen=True, slots=True)
class Edit:
    """The code of a function that runs, and the one that a mutant makes of it."""

    function: FunctionType
    sound: CodeType
    broken: CodeType

    @contextmanager
    def put_in(self) -> Iterator[None]:
        """Puts the mistake in force for the block. Raises NotApplicable when another is in force there."""
        if self.function.__code__ != self.sound:
            raise NotApplicable(f"{self.function.__qualname__} is not as its source says")
        before = self.function.__code__
        self.function.__code__ = self.broken
        try:
            yield
        finally:
            self.function.__code__ = before


def edit_of(mutant: Mutant) -> Edit:
    """Compiles what a mutant makes of the function that it names. Raises NotApplicable when it does not fit."""
    home, _, path = mutant.where.partition(":")
    try:
        source = source_of(home)
        node = _node(source.tree, path)
        first, last = source.span(node)
    except LookupError:
        raise NotApplicable(f"{mutant.name}: there is no {mutant.where}") from None
    text = source.text[first:last]
    if text.count(mutant.old) != 1:
        raise NotApplicable(f"{mutant.name}: {mutant.old!r} occurs {text.count(mutant.old)} times in {mutant.where}")
    outermost = _outermost(source.tree, path)
    begins = _first_line(_node(source.tree, outermost))
    edited = source.text[:first] + text.replace(mutant.old, mutant.new) + source.text[last:]
    sound = _code_at(source.code, begins)
    try:
        broken = _code_at(compile(edited, source.name, "exec", dont_inherit=True), begins)
    except SyntaxError as error:
        raise NotApplicable(f"{mutant.name}: the edited source does not compile: {error}") from None
    if broken == sound:
        raise NotApplicable(f"{mutant.name}: the edit changes nothing that runs")
    if [getattr(broken, name) for name in _SHAPE] != [getattr(sound, name) for name in _SHAPE]:
        raise NotApplicable(f"{mutant.name}: {mutant.where} would take other arguments, or another closure")
    return Edit(_function(import_module(home), outermost), sound, broken)


class Source:
    """The source of a module, parsed and compiled as it stands."""

    def __init__(self, module: ModuleType) -> None:
        self.name = module.__file__ or module.__name__
        self.text = getsource(module)
        self.tree = ast.parse(self.text)
        self.code = compile(self.text, self.name, "exec", dont_inherit=True)
        self._lines = self.text.splitlines(keepends=True)

    def span(self, node: _Function) -> tuple[int, int]:
        """Returns where in the text a function begins, behind its decorators, and where it ends."""
        assert node.end_lineno is not None
        first = sum(map(len, self._lines[: node.lineno - 1]))
        return first, first + sum(map(len, self._lines[node.lineno - 1 : node.end_lineno]))


@cache
def source_of(home: str) -> Source:
    """Reads a module's source, once. Raises LookupError when there is no such module."""
    try:
        return Source(import_module(home))
    except ModuleNotFoundError:
        raise LookupError(home) from None


def _node(tree: ast.Module, path: str) -> _Function:
    """Finds a function by its path. Raises LookupError."""
    node: ast.AST = tree
    for name in path.split("."):
        found = [each for each in _inside(node) if each.name == name and not _is_overload(each)]
        if len(found) != 1:
            raise LookupError(path)
        node = found[0]
    if not isinstance(node, _Function):
        raise LookupError(path)
    return node


def _outermost(tree: ast.Module, path: str) -> str:
    """Returns the path of the function that a function lies in, or its own."""
    names = path.split(".")
    return next(
        outer
        for outer in (".".join(names[:count]) for count in range(1, len(names) + 1))
        if outer == path or _is_function(tree, outer)
    )


def _is_function(tree: ast.Module, path: str) -> bool:
    try:
        _node(tree, path)
    except LookupError:
        return False
    return True


def _inside(node: ast.AST) -> Iterator[_Function | ast.ClassDef]:
    """Yields the functions and classes that are defined in a body, also under its conditions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function | ast.ClassDef):
            yield child
        else:
            yield from _inside(child)


def _is_overload(node: _Function | ast.ClassDef) -> bool:
    return any(ast.unparse(each).endswith(("overload", ".setter", ".deleter")) for each in node.decorator_list)


def _first_line(node: _Function) -> int:
    return min(each.lineno for each in (node, *node.decorator_list))


def _code_at(code: CodeType, line: int) -> CodeType:
    """Finds the code of the function that begins in a line. What begins in the same one lies within it."""
    return next(each for each in _codes_in(code) if each.co_firstlineno == line)


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yields all code that is defined within this one, the outer before the inner."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes_in(each)


def _function(module: ModuleType, path: str) -> FunctionType:
    """Finds the function that runs, below whatever wraps it."""
    there: Any = module
    for name in path.split("."):
        there = vars(there)[name]
    if isinstance(there, property):
        there = there.fget
    elif isinstance(there, cached_property):
        there = there.func
    elif isinstance(there, staticmethod | classmethod):
        there = there.__func__
    found = unwrap(there)
    assert isinstance(found, FunctionType), path
    return found
