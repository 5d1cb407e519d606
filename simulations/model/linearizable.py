"""A search for an order in which what people were told can have happened.

The theory. What is asked of masters is taken apart into *steps* at one register: one that reads what it holds, or one
that writes it. A history is explained when there is an order of its steps, all one after the other, in which each step
comes after those that it must have known of, and each read finds what was last written. Wing and Gong look for such an
order by trying, step by step, whatever may come next; whoever remembers which sets of steps led to nothing looks into
each of them once. A read that may come next and finds what it wants changes nothing for anybody, so it is put there at
once, and only the order of writes is tried. A step that nobody was told the end of need not have happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, NamedTuple

TRIES_MAX: Final = 50_000
"""Sets of steps that are looked into before the search is given up."""
BEGINNING: Final = -1
"""Who wrote what the register holds at first."""

Absorbs = Callable[[str, str], bool]
"""Tells of what a register holds, and of what is written, whether it stays as it is."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step at the register."""

    what: str
    """What it was, for a person."""
    began_s: float
    ended_s: float = inf
    """When whoever asked was answered; for ever, if he was not."""
    reads: frozenset[str] | None = None
    """It finds one of these in the register;"""
    writes: str | None = None
    """or puts this there."""
    after: frozenset[int] = frozenset()
    """The steps that it knows of."""
    must: bool = True
    """It has happened. Else it may have."""


class Verdict(NamedTuple):
    """The outcome of a search."""

    explained: bool
    order: tuple[int, ...]
    """The steps in an order that explains them, or as far as any goes."""
    holds: str
    """What the register has then."""
    stuck: tuple[int, ...] = ()
    """The reads that might come next there, and find something else."""
    given_up: bool = False
    """There were more orders than anybody can try: nothing is proved."""


def never(now: str, put: str) -> bool:
    """Is what a plain register absorbs: nothing."""
    return False


def explained(steps: Sequence[Step], begins_with: str, absorbs: Absorbs = never) -> Verdict:
    """Looks for an order that explains these steps."""
    return _Search(steps, begins_with, absorbs).found()


class _Search:
    """One search. Sets of steps are numbers, with a bit for each."""

    def __init__(self, steps: Sequence[Step], begins_with: str, absorbs: Absorbs) -> None:
        self._steps = steps
        self._begins_with = begins_with
        self._absorbs = absorbs
        self._after = [sum(1 << other for other in step.after) for step in steps]
        self._must = sum(1 << number for number, step in enumerate(steps) if step.must)
        self._reads = [number for number, step in enumerate(steps) if step.reads is not None]
        # What was asked for first is tried first: it mostly happened so.
        writes = [number for number, step in enumerate(steps) if step.writes is not None]
        self._writes = sorted(writes, key=lambda number: -steps[number].began_s)

    def found(self) -> Verdict:
        """Returns the first order that is found, or the longest."""
        open_: list[tuple[int, int, tuple[int, ...]]] = [(0, BEGINNING, ())]
        seen: set[tuple[int, int]] = set()
        furthest: tuple[int, int, tuple[int, ...]] = open_[0]
        while open_:
            done, writer, order = self._read_all(*open_.pop())
            if not self._must & ~done:
                return Verdict(True, order, self._held(writer))
            if (done, writer) in seen:
                continue
            if len(seen) == TRIES_MAX:
                return Verdict(False, order, self._held(writer), given_up=True)
            seen.add((done, writer))
            if (done & self._must).bit_count() >= (furthest[0] & self._must).bit_count():
                furthest = done, writer, order
            for number in self._writes:
                if self._may_come(number, done):
                    stays = self._absorbs(self._held(writer), self._steps[number].writes or "")
                    open_.append((done | 1 << number, writer if stays else number, (*order, number)))
        done, writer, order = furthest
        stuck = tuple(n for n in self._reads if self._steps[n].must and self._may_come(n, done))
        return Verdict(False, order, self._held(writer), stuck)

    def _read_all(self, done: int, writer: int, order: tuple[int, ...]) -> tuple[int, int, tuple[int, ...]]:
        """Puts all reads where they find what they want."""
        while fresh := list(self._satisfied(done, writer)):
            for number in fresh:
                done |= 1 << number
            order = (*order, *fresh)
        return done, writer, order

    def _satisfied(self, done: int, writer: int) -> Iterator[int]:
        held, since_s = self._held(writer), -inf if writer == BEGINNING else self._steps[writer].began_s
        for number in self._reads:
            step = self._steps[number]
            # Nobody reads what is only asked for when he has been answered.
            if self._may_come(number, done) and held in (step.reads or ()) and since_s <= step.ended_s:
                yield number

    def _may_come(self, number: int, done: int) -> bool:
        return not done >> number & 1 and not self._after[number] & ~done

    def _held(self, writer: int) -> str:
        return self._begins_with if writer == BEGINNING else self._steps[writer].writes or ""
