"""The ways to share out keys that ``python -m simulations rings`` compares, each as a ring over one view.

The plain rendezvous hashing that p2pcrawl rejected is here as well, so that the reasons can be measured again.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from p2pcrawl.core.group.bounded_load import Bounded
from p2pcrawl.core.group.host_bucket import HostBucket
from p2pcrawl.core.ring.paper_rings import Modulo, TwoLevel
from p2pcrawl.core.ring.rendezvous import BUCKETS, Rendezvous, Ring, key_hash


@dataclass(frozen=True, slots=True)
class View:
    """Members with their weights, and the number that each was given when it was first seen."""

    weights: Mapping[str, int]
    numbers: Mapping[str, int]


HOSTS = 200
"""How many hosts a group is given: so few that chance alone would fill some slaves too much."""


class Contender(NamedTuple):
    """One way to share out keys: buckets over masters, or hosts over the slaves of a group."""

    name: str
    ring: Callable[[View], Ring[str]]
    weighted: bool
    slots: int = BUCKETS
    copies_max: int = 3


class Plain:
    """Weighted rendezvous hashing without strata and with one curve for all copies: what p2pcrawl rejected."""

    def __init__(self, weights: Mapping[str, int]) -> None:
        self._nodes = sorted(weights)
        self._columns = []
        for node in self._nodes:
            draw, weight = random.Random(node).random, weights[node]
            self._columns.append([-math.log(1.0 - draw()) / weight for _ in range(BUCKETS)])

    def owners(self, bucket: int, copies: int) -> tuple[str, ...]:
        """Returns the nodes with the lowest costs."""
        costs = [column[bucket] for column in self._columns]
        order = sorted(range(len(costs)), key=costs.__getitem__)
        return tuple([self._nodes[index] for index in order[:copies]])


class FilledBounded:
    """A group that was given :data:`HOSTS` hosts, in order, by bounded load."""

    def __init__(self, view: View) -> None:
        self._names = {key_hash(node) % (1 << 63): node for node in view.weights}
        self._bounded = Bounded({number: view.weights[node] for number, node in self._names.items()})
        self._keys = [key_hash(_host(number)) for number in range(HOSTS)]
        for key in self._keys:
            self._bounded.place(key)

    def owners(self, bucket: int, copies: int) -> tuple[str, ...]:
        """Returns the slave of one host."""
        slave = self._bounded.slave_of(self._keys[bucket])
        return () if slave is None else (self._names[slave],)


class FilledHostBucket:
    """A group that was given :data:`HOSTS` hosts, in order, by MD5 with overflow."""

    def __init__(self, view: View) -> None:
        self._nodes = sorted(view.weights, key=view.numbers.__getitem__)
        self._picker = HostBucket(len(self._nodes), urls_max=math.ceil(1.25 * HOSTS / len(self._nodes)))
        self._hosts = [_host(number) for number in range(HOSTS)]
        for host in self._hosts:
            self._picker.place(host)

    def owners(self, bucket: int, copies: int) -> tuple[str, ...]:
        """Returns the slave of one host."""
        place = self._picker.bucket_of(self._hosts[bucket])
        return () if place is None else (self._nodes[place],)


def two_level(view: View) -> TwoLevel[str]:
    """Makes two-level hashing with a virtual table twice as large as the members ever seen, as numbered."""
    places = {view.numbers[node]: node for node in view.weights}
    return TwoLevel(places, 2 * (len(view.numbers) - 1))


def _host(number: int) -> str:
    return f"host-{number}.example"


CONTENDERS = (
    Contender("modulo", lambda view: Modulo(view.weights), weighted=False),
    Contender("two-level", two_level, weighted=False),
    Contender("plain rendezvous", lambda view: Plain(view.weights), weighted=True),
    Contender("rendezvous", lambda view: Rendezvous(view.weights), weighted=True),
    Contender("bounded", FilledBounded, weighted=True, slots=HOSTS, copies_max=1),
    Contender("host-bucket", FilledHostBucket, weighted=False, slots=HOSTS, copies_max=1),
)
