"""Goes through all that can happen to something small, breadth first: every order of messages, steps and few faults."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

Action = tuple[Any, ...]


class Explorable(Protocol):
    """Something small, whole in memory, that can be put away and taken up again."""

    @property
    def healed(self) -> bool:
        """Tells whether all is as it should be."""
        ...

    def packed(self) -> bytes:
        """Returns it as a pickle that is the same for all that are alike."""
        ...

    def steps(self) -> Iterable[Action]:
        """Returns all that may happen next without a fault."""
        ...

    def mishaps(self) -> Iterable[Action]:
        """Returns the faults that may happen next."""
        ...

    def do(self, action: Action) -> None:
        """Lets one of these happen."""
        ...


Small = TypeVar("Small", bound=Explorable)


class Broken(AssertionError):
    """Something that must not happen has, and after what."""


@dataclass(slots=True)
class Explored:
    """All states that were reached, each with how it was reached first."""

    states: list[bytes] = field(default_factory=list)
    came: list[tuple[int, Action]] = field(default_factory=list)
    depth: int = 0
    """The most steps that any is away from the first."""
    healed: set[int] = field(default_factory=set)
    follows: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """From which states each is reached without a fault."""

    def way_to(self, number: int) -> list[Action]:
        """Returns what has led to a state."""
        way: list[Action] = []
        while number:
            number, action = self.came[number]
            way.append(action)
        return way[::-1]

    def hopeless(self) -> list[int]:
        """Returns the states from which nothing leads to one that is healed, but further faults."""
        saved, ahead = set(self.healed), list(self.healed)
        while ahead:
            for before in self.follows[ahead.pop()]:
                if before not in saved:
                    saved.add(before)
                    ahead.append(before)
        return [number for number in range(len(self.states)) if number not in saved]


def explore(first: Small, judge: Callable[[Small, Small], None]) -> Explored:
    """Explores all states. ``judge`` holds each step, from one state to the next, against the laws; raises Broken at
    the first that it refuses.
    """
    found = Explored()
    numbers: dict[bytes, int] = {}
    depths: list[int] = []

    def reach(cluster: Small, came: tuple[int, Action], depth: int) -> int:
        packed = cluster.packed()
        number = numbers.setdefault(packed, len(numbers))
        if number == len(found.states):
            found.states.append(packed)
            found.came.append(came)
            depths.append(depth)
        return number

    reach(first, (0, ()), 0)
    for number, packed in _growing(found.states):
        here: Small = pickle.loads(packed)
        if here.healed:
            found.healed.add(number)
        for action, fault in [*((step, False) for step in here.steps()), *((fault, True) for fault in here.mishaps())]:
            after: Small = pickle.loads(packed)
            try:
                after.do(action)
                judge(here, after)
            except Exception as error:
                raise Broken(f"{error!r} after {[*found.way_to(number), action]}") from error
            reached = reach(after, (number, action), depths[number] + 1)
            if not fault:
                found.follows[reached].append(number)
    found.depth = max(depths)
    return found


def _growing(states: list[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yields all states, also those that are found meanwhile."""
    number = 0
    while number < len(states):
        yield number, states[number]
        number += 1
