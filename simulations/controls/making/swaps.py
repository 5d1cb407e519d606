"""Swapping one piece of the peers' code for a broken one, for the length of a run.

The broken piece takes the same parameters as the real one; the type checker sees to it, and so does :func:`swap`. A
real piece that is gone, has another name by now, or takes something else fails the import of every control.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from inspect import signature
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Swap:
    """``home`` (a class or a module) has the real piece under ``name``."""

    home: Any
    name: str
    real: Any
    broken: Any

    @contextmanager
    def put_in(self) -> Iterator[None]:
        """Puts the broken piece in force for the block. Raises LookupError when something else has been put there
        meanwhile.
        """
        if vars(self.home)[self.name] is not self.real:
            raise LookupError(f"{self} is swapped already")
        setattr(self.home, self.name, self.broken)
        try:
            yield
        finally:
            setattr(self.home, self.name, self.real)

    def __str__(self) -> str:
        return f"{self.home.__name__}.{self.name}"


def swap(real: Callable[P, R], broken: Callable[P, R]) -> Swap:
    """Makes a swap. ``real`` is a function of a module, a method, a static one or a property.

    Raises LookupError when it is not where it was defined, and TypeError when ``broken`` takes something else.
    """
    function: Any = real.fget if isinstance(real, property) else real
    *path, name = function.__qualname__.split(".")
    home: Any = sys.modules[function.__module__]
    for part in path:
        home = getattr(home, part)
    there = vars(home).get(name)
    if there is not real and not (isinstance(there, staticmethod) and there.__func__ is real):
        raise LookupError(f"{function.__module__}.{function.__qualname__} is not where it says it is")
    if _parameters(function) != _parameters(broken):
        raise TypeError(f"{broken.__qualname__} does not take what {function.__qualname__} takes")
    kind = type(there) if isinstance(there, property | staticmethod) else None
    return Swap(home, name, there, broken if kind is None else kind(broken))


@contextmanager
def put_in(swaps: Iterable[Swap]) -> Iterator[None]:
    """Puts all of these swaps in force at once, for the block."""
    with ExitStack() as stack:
        for each in swaps:
            stack.enter_context(each.put_in())
        yield


def _parameters(function: Callable[..., Any]) -> list[tuple[str, Any]]:
    return [(each.name, each.kind) for each in signature(function).parameters.values()]
