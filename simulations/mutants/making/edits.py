"""Edits of running code: a few words of a function's source are replaced, and its code is compiled anew.

The function is compiled with the edit, in the line and the classes in which it stands, and its code is put into the
function that runs. That stays the same object, with its defaults, its closure, its class and all who hold it; methods,
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
from itertools import accumulate
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
    """The code of a function that runs, and the one that a mutant makes of it. Both are of one source but for the edit,
    though what runs was compiled with its whole module, and may have other line tables.
    """

    function: FunctionType
    sound: CodeType
    broken: CodeType

    @contextmanager
    def put_in(self) -> Iterator[None]:
        """Puts the mistake in force for the block. Raises NotApplicable when another is in force there."""
        if self.function.__code__ is not self.sound:
            raise NotApplicable(f"{self.function.__qualname__} is edited already")
        self.function.__code__ = self.broken
        try:
            yield
        finally:
            self.function.__code__ = self.sound


def edit_of(mutant: Mutant) -> Edit:
    """Compiles what a mutant makes of the function that it names. Raises NotApplicable when it does not fit."""
    home, _, path = mutant.where.partition(":")
    try:
        source = source_of(home)
        node = node_of(source.tree, path)
        first, last = source.span(node)
    except LookupError:
        raise NotApplicable(f"{mutant.name}: there is no {mutant.where}") from None
    text = source.text[first:last]
    if text.count(mutant.old) != 1:
        raise NotApplicable(f"{mutant.name}: {mutant.old!r} occurs {text.count(mutant.old)} times in {mutant.where}")
    outermost = outermost_of(source.tree, path)
    begin, end = source.span(node_of(source.tree, outermost), decorators=True)
    edited = source.text[begin:first] + text.replace(mutant.old, mutant.new) + source.text[last:end]
    function, sound = running(home, outermost)
    try:
        broken = source.compiled(outermost, edited)
    except SyntaxError as error:
        raise NotApplicable(f"{mutant.name}: the edited source does not compile: {error}") from None
    plain = source.compiled(outermost, source.text[begin:end])
    if broken == plain:
        raise NotApplicable(f"{mutant.name}: the edit changes nothing that runs")
    if [getattr(broken, name) for name in _SHAPE] != [getattr(plain, name) for name in _SHAPE]:
        raise NotApplicable(f"{mutant.name}: {mutant.where} would take other arguments, or another closure")
    # A decorator may have marked the code that runs, as one of a generator that can be awaited.
    return Edit(function, sound, broken.replace(co_flags=sound.co_flags))


class Source:
    """The source of a module, parsed as it stands."""

    def __init__(self, module: ModuleType) -> None:
        self.text = getsource(module)
        self.tree = ast.parse(self.text)
        self._name = module.__file__ or module.__name__
        self._flags = annotations.compiler_flag if vars(module).get("annotations") is annotations else 0
        self._starts = [0, *accumulate(map(len, self.text.splitlines(keepends=True)))]

    def span(self, node: _Function, *, decorators: bool = False) -> tuple[int, int]:
        """Returns where in the text a function begins, behind its decorators or with them, and where it ends."""
        assert node.end_lineno is not None
        return self._starts[(_first_line(node) if decorators else node.lineno) - 1], self._starts[node.end_lineno]

    def compiled(self, path: str, text: str) -> CodeType:
        """Compiles the text of a function that lies in no other, and returns its code. Raises SyntaxError."""
        node, homes = node_of(self.tree, path), _classes(self.tree, path)
        # Classes without anything else: they give a method its name, and what it needs for super().
        heads = [f"{' ' * home.col_offset}class {home.name}:\n" for home in homes]
        whole = "\n" * (_first_line(node) - 1 - len(heads)) + "".join(heads) + text
        code = compile(whole, self._name, "exec", flags=self._flags, dont_inherit=True)
        return next(each for each in codes_in(code) if each.co_firstlineno == _first_line(node))


@cache
def source_of(home: str) -> Source:
    """Reads a module's source, once. Raises LookupError when there is no such module."""
    try:
        return Source(import_module(home))
    except ModuleNotFoundError:
        raise LookupError(home) from None


def node_of(tree: ast.Module, path: str) -> _Function:
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


def _classes(tree: ast.Module, path: str) -> list[ast.ClassDef]:
    """Returns the classes that a function lies in, the outer before the inner."""
    found: list[ast.ClassDef] = []
    node: ast.AST = tree
    for name in path.split(".")[:-1]:
        node = next(each for each in _inside(node) if each.name == name)
        if isinstance(node, ast.ClassDef):
            found.append(node)
    return found


def outermost_of(tree: ast.Module, path: str) -> str:
    """Returns the path of the function that a function lies in, or its own."""
    names = path.split(".")
    return next(
        outer
        for outer in (".".join(names[:count]) for count in range(1, len(names) + 1))
        if outer == path or _is_function(tree, outer)
    )


def _is_function(tree: ast.Module, path: str) -> bool:
    try:
        node_of(tree, path)
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


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yields all code that is defined within this one, the outer before the inner."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from codes_in(each)


@cache
def running(home: str, path: str) -> tuple[FunctionType, CodeType]:
    """Returns the function that runs, and its own code, once: before anything was put into it."""
    function = _function(import_module(home), path)
    return function, function.__code__


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
