"""Goes through all that can happen to a small cluster, breadth first: every order of messages, steps and few faults."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from p2pcrawl.core.buckets.bucket_states import BucketState
from tests.unit.core.buckets.small_cluster import BUCKETS, Action, Place, SmallCluster


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


def explore(first: SmallCluster) -> Explored:
    """Explores all states. Raises Broken at the first step that breaks a law."""
    found = Explored()
    numbers: dict[bytes, int] = {}
    depths: list[int] = []

    def reach(cluster: SmallCluster, came: tuple[int, Action], depth: int) -> int:
        packed = cluster.packed()
        number = numbers.setdefault(packed, len(numbers))
        if number == len(found.states):
            found.states.append(packed)
            found.came.append(came)
            depths.append(depth)
        return number

    reach(first, (0, ()), 0)
    for number, packed in _growing(found.states):
        here: SmallCluster = pickle.loads(packed)
        if here.healed:
            found.healed.add(number)
        for action, fault in [*((step, False) for step in here.steps()), *((fault, True) for fault in here.mishaps())]:
            after: SmallCluster = pickle.loads(packed)
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


def judge(before: SmallCluster, after: SmallCluster) -> None:
    """Holds a step against the laws."""
    for was, now in zip(before.places, after.places, strict=True):
        for bucket in BUCKETS:
            assert not was.has(bucket) & ~now.has(bucket), f"{now.me} has lost a fact of bucket {bucket}"
        if was.up and now.up:
            assert not _sunk(was.o.counters, now.o.counters), f"an epoch of {now.me} has fallen"
    awake = [place for place in after.places if place.acts]
    for bucket in BUCKETS:
        serving = [place for place in awake if place.o.states.serves(bucket)]
        assert len({place.view for place in serving}) == len(serving), f"two serve bucket {bucket} under one view"
        for place in serving:
            assert place.o.owner(bucket) is None, f"{place.me} serves bucket {bucket}, which is another's"
            was = before.place(place.me)
            if was.acts and was.o.states[bucket] is BucketState.BEGINNING:
                deaf = _deaf(place, awake, bucket)
                assert not deaf, f"{place.me} serves bucket {bucket} under an epoch that {deaf} have not heard of"


def _deaf(owner: Place, awake: Collection[Place], bucket: int) -> list[str]:
    """Returns who, in the owner's view, knows of no epoch of a bucket that is as late as the owner's."""
    others = (each for each in awake if each.view == owner.view)
    return [each.me for each in others if each.o.counters[bucket] < owner.o.counters[bucket]]


def _sunk(was: Collection[int], now: Collection[int]) -> bool:
    return any(one > other for one, other in zip(was, now, strict=True))
