"""Places: the lines that a mutant edits, by which a run tells whether it came to them.

Rather a line too many than one too few: a run that never came to any of them is the same with the mutant as without.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType

from .edits import codes_in, node_of, outermost_of, running, source_of
from .mutant import Mutant


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a module, from the first to the last, and the code of the function that they are in."""

    file: str
    first: int
    last: int
    codes: tuple[CodeType, ...]
    """That of the function which is compiled anew, and of all that is defined within it."""


def place_of(mutant: Mutant) -> Place:
    """Returns the place that a mutant edits, which must fit the code."""
    home, _, path = mutant.where.partition(":")
    source = source_of(home)
    node = node_of(source.tree, path)
    start, end = source.span(node)
    begin = start + source.text[start:end].index(mutant.old)
    same_before, same_behind = _same_lines(mutant.old, mutant.new)
    first = source.text.count("\n", 0, begin) + 1
    last = first + mutant.old.rstrip("\n").count("\n")
    # A line on either side belongs to it: what is put in between two may be reached from the one only.
    first, last = max(first, first + same_before - 1), max(first, last - max(0, same_behind - 1))
    first, last = _header(node, first)[0], _header(node, last)[1]
    _, code = running(home, outermost_of(source.tree, path))
    return Place(code.co_filename, first, last, tuple(_all_of(code)))


def _same_lines(old: str, new: str) -> tuple[int, int]:
    """Counts the lines that are the same at the beginning and at the end of both texts."""
    olds, news = old.splitlines(), new.splitlines()
    before = 0
    while before < min(len(olds), len(news)) and olds[before] == news[before]:
        before += 1
    behind = 0
    while behind < min(len(olds), len(news)) - before and olds[-1 - behind] == news[-1 - behind]:
        behind += 1
    return before, behind


def _header(node: ast.FunctionDef | ast.AsyncFunctionDef, line: int) -> tuple[int, int]:
    """Returns the first and the last line of the innermost statement that a line is in; of one with a body, without
    that. What comes before a function's body is reached with the function.
    """
    there = [each for each in ast.walk(node) if isinstance(each, ast.stmt) and _holds(each, line)]
    if not there:
        return line, line
    innermost = max(there, key=lambda each: (each.lineno, -(each.end_lineno or 0)))
    begin = innermost.lineno
    if isinstance(innermost, ast.FunctionDef | ast.AsyncFunctionDef):
        begin = min(each.lineno for each in (innermost, *innermost.decorator_list))
    body = getattr(innermost, "body", None)
    header_end = body[0].lineno - 1 if body else innermost.end_lineno or line
    return min(begin, line), max(line, header_end)


def _holds(statement: ast.stmt, line: int) -> bool:
    return statement.lineno <= line <= (statement.end_lineno or statement.lineno)


def _all_of(code: CodeType) -> Iterator[CodeType]:
    yield code
    yield from codes_in(code)
