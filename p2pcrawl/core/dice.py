"""The part of ``random.Random`` that decisions use. It is always passed in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Dice(Protocol):
    """Randomness from outside: the same dice give the same decisions."""

    def random(self) -> float: ...

    def sample(self, population: Sequence[T], k: int) -> list[T]: ...
