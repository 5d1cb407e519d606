"""Delta debugging: of many things the few without which nothing fails any more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def least(things: Sequence[T], fails: Callable[[tuple[T, ...]], bool]) -> tuple[T, ...]:
    """Returns a part of these that still fails, and of which each single one is needed, in their order.

    ``fails`` is asked of none first, then of halves, of all but a quarter, and so on, at last of all but one. That all
    of them fail is taken for granted.
    """
    left = tuple(things)
    if not left or fails(()):
        return ()
    pieces = 2
    while len(left) > 1:
        size = -(-len(left) // pieces)
        starts = range(0, len(left), size)
        keeps = [left[at : at + size] for at in starts] if pieces == 2 else []
        cuts = [(*left[:at], *left[at + size :]) for at in starts] if pieces > 2 else []
        shorter = next((each for each in (*keeps, *cuts) if fails(each)), None)
        if shorter is not None:
            left, pieces = shorter, max(2, min(pieces - 1, len(shorter)))
        elif size == 1:
            break
        else:
            pieces = min(2 * pieces, len(left))
    return left


def numbers_told(numbers: Iterable[int]) -> str:
    """Writes numbers such as ``0-4 7``."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return " ".join("-".join(map(str, run)) for run in runs)
