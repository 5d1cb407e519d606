"""The lines of the protocol: those of the functions in its modules, by the function that each is in.

What runs when a module is read (its constants, classes and imports) is none of them, nor is a function that has no
code of its own, as those that say what somebody else must be able to do.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Final, NamedTuple

import p2pcrawl

ROOT: Final = Path(p2pcrawl.__file__).parent
ROOMS: Final = (
    "core/buckets",
    "core/majority",
    "core/membership",
    "core/ring",
    "core/group",
    "core/hosts",
    "core/bench",
    "master",
    "frontier/records",
    "frontier/copies",
    "overlay",
)
"""Where masters decide and tell each other what nobody may lose, fetch twice, or ask too soon."""


class Line(NamedTuple):
    """A line of a function."""

    module: str
    """Below the package: ``master.buckets.takeover``."""
    function: str
    """``Takeover._claim``; of a function within a function, the outer one."""
    number: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.module}:{self.function}"

    def __str__(self) -> str:
        return f"{self.place}:{self.number}: {self.text}"


@cache
def protocol_lines() -> dict[tuple[str, int], Line]:
    """Returns all lines of the protocol, by their file and number, in their order."""
    found: dict[tuple[str, int], Line] = {}
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            texts = path.read_text(encoding="utf-8").splitlines()
            spec = importlib.util.find_spec(f"p2pcrawl.{module}")
            file = (spec.origin if spec is not None else None) or str(path)
            empty = _without_code("\n".join(texts))
            for code in _functions(compile("\n".join(texts), file, "exec", dont_inherit=True)):
                if code.co_firstlineno in empty:
                    continue
                function = code.co_qualname.partition(".<locals>")[0]
                for number in sorted({line for _, _, line in code.co_lines() if line}):
                    found.setdefault((file, number), Line(module, function, number, texts[number - 1].strip()))
    return dict(sorted(found.items()))


def is_of_protocol(code: CodeType) -> bool:
    """Tells whether this is the code of a function of the protocol."""
    return (code.co_filename, code.co_firstlineno) in protocol_lines()


def _functions(code: CodeType) -> Iterator[CodeType]:
    """Yields the code of all functions in some code; what a module or a class does when it is made is none."""
    of_function = bool(code.co_flags & _OPTIMIZED)
    for each in code.co_consts:
        if isinstance(each, CodeType):
            if each.co_flags & _OPTIMIZED and (of_function or each.co_name not in _COMPREHENSIONS):
                yield each
            yield from _functions(each)


def _without_code(text: str) -> frozenset[int]:
    """Returns the first lines of the functions that have a docstring at most."""
    return frozenset(
        min([each.lineno, *(decorator.lineno for decorator in each.decorator_list)])
        for each in ast.walk(ast.parse(text))
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        and all(isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant) for step in each.body)
    )


_COMPREHENSIONS: Final = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
"""Those of a module or a class run when it is read."""


_OPTIMIZED: Final = 0x1
"""The flag of code whose variables are its own, as those of a function are and those of a class are not."""
