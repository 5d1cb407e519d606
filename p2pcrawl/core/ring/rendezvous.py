"""The ring: rendezvous hashing says which nodes get a key.

Each node's bid for a bucket depends on nothing but the two; the best bid wins. When a node leaves, only its buckets
move; when one joins, it takes buckets from all and nothing moves between the others.

**Owners.** Weighted rendezvous over :data:`BUCKETS` buckets: shares follow the weights exactly in the mean, whatever
the members. How the bids are made is told in :mod:`p2pcrawl.core.ring.costs`.

**Copies.** The copy of place r goes to the best bid among the nodes without one, by the curve of place r. That is
monotone as well: *if the places before are, place r is.* When a node joins, the places before either stay, or one of
their nodes, x, makes room for it. If they stay, place r stays or goes to the newcomer; if x was freed, place r stays
(x is gone) or goes to x (the one that held place r is gone). In each case the set gains at most the newcomer and
loses at most one. A leave is a join seen backwards.

No single order of the nodes can have both, proportional owners for all memberships and proportional copies: the chance
to be first in every subset settles the chance of every rank (Falmagne). So places have curves of their own. The
price: with unequal weights the next owner of a bucket is not always among its copies (docs/rings.md tells how often).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, Protocol, TypeVar

import xxhash

from p2pcrawl.core.ring.costs import BUCKETS, column

__all__ = ["BUCKETS", "Rendezvous", "Ring", "bucket_of", "bucket_of_hash", "key_hash", "preference"]

Node = TypeVar("Node", bound=str)
NodeFound = TypeVar("NodeFound", bound=str, covariant=True)

_SIGN = 1 << 63
_TAKEN = 1 << 64


def key_hash(key: str) -> int:
    """Returns a stable 64-bit hash, signed so that SQLite can hold it."""
    value = xxhash.xxh3_64_intdigest(key.encode("utf-8", "surrogatepass"))
    return value - (1 << 64) if value >= _SIGN else value


def bucket_of(key: str) -> int:
    """Returns the bucket of a normalised key."""
    return bucket_of_hash(key_hash(key))


def bucket_of_hash(key: int) -> int:
    """Returns the bucket of a key whose hash is known."""
    return key % BUCKETS


def preference(key: int, nodes: Iterable[int]) -> list[int]:
    """Returns the nodes in the order in which the key prefers them."""
    packed = (key & 0xFFFF_FFFF_FFFF_FFFF).to_bytes(8, "big")
    return sorted(nodes, key=lambda node: xxhash.xxh3_64_intdigest(packed, seed=node), reverse=True)


class Ring(Protocol[NodeFound]):
    """One view of the members, and what it says about every bucket."""

    def owners(self, bucket: int, copies: int) -> tuple[NodeFound, ...]:
        """Returns the owner of the bucket, then the holders of its other copies; fewer if there are fewer members."""
        ...


class Rendezvous(Generic[Node]):
    """Weighted rendezvous hashing over one view: the same view gives the same owners everywhere.

    Weights are whole numbers from 1; a member that should own nothing is left out. The table of all buckets is
    computed at the first question and kept, so make one of these per view.
    """

    def __init__(self, weights: Mapping[Node, int]) -> None:
        """Raises ValueError for a weight below 1."""
        if wrong := [node for node, weight in weights.items() if weight < 1]:
            raise ValueError(f"the weight of {wrong[0]} is below 1: leave out members that should own nothing")
        self._weights = dict(sorted(weights.items()))
        self._tables: dict[int, list[tuple[Node, ...]]] = {}

    def owners(self, bucket: int, copies: int) -> tuple[Node, ...]:
        """Returns the owner of the bucket, then the holders of its other copies; fewer if there are fewer members."""
        return self.table(copies)[bucket]

    def table(self, copies: int) -> list[tuple[Node, ...]]:
        """Returns the owners of all buckets, by number. Asking for fewer copies gives the same names, fewer of them."""
        copies = min(copies, len(self._weights))
        if copies not in self._tables:
            self._tables[copies] = self._computed(copies)
        return self._tables[copies]

    def _computed(self, copies: int) -> list[tuple[Node, ...]]:
        if copies < 1:
            return [()] * BUCKETS
        nodes = list(self._weights)
        chosen = [[row.index(min(row))] for row in self._rows(1)]
        for place in range(2, copies + 1):
            for taken, costs in zip(chosen, self._rows(place), strict=True):
                row = list(costs)
                for index in taken:
                    row[index] = _TAKEN
                taken.append(row.index(min(row)))
        return [tuple([nodes[index] for index in taken]) for taken in chosen]

    def _rows(self, place: int) -> Iterable[tuple[int, ...]]:
        """Returns the costs of all nodes, bucket by bucket. Equal costs go to the lower id."""
        return zip(*(column(node, weight, place) for node, weight in self._weights.items()), strict=True)
