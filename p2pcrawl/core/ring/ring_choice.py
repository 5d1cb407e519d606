"""The ring that a cluster chose, as the table of who holds which bucket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeVar, assert_never, cast

from p2pcrawl.core.ring.paper_rings import Modulo, TwoLevel, seats
from p2pcrawl.core.ring.rendezvous import BUCKETS, Rendezvous
from p2pcrawl.core.ring.ring_change import table_from
from p2pcrawl.model.cluster.placement import RingName

Node = TypeVar("Node", bound=str)

VIRTUAL_PLACES = 32
"""The least size of the virtual table of two-level hashing; it doubles until all nodes have a place."""


TABLES_MAX = 4
"""Tables that are kept. One takes milliseconds for each member to make, and a view that flaps asks for two in turn."""


def table_after(
    name: RingName,
    table: Sequence[tuple[Node, ...]],
    before: Mapping[Node, int],
    after: Mapping[Node, int],
    copies: int,
) -> Sequence[tuple[Node, ...]]:
    """Returns what :func:`table_of` gives for ``after``, sooner when the last table is at hand and little has
    changed.
    """
    changes = len(before.items() ^ after.items())
    if name is RingName.RENDEZVOUS and table and before and after and 4 * changes <= len(after):
        return table_from(table, before, after, copies)
    return table_of(name, after, copies)


def table_of(name: RingName, weights: Mapping[Node, int], copies: int) -> Sequence[tuple[Node, ...]]:
    """Returns the holders of all buckets, by number: the owner, then those of its other copies, fewer if there are
    fewer members. The same for all who ask with the same members and weights.
    """
    return cast(Sequence[tuple[Node, ...]], _table(name, tuple(sorted(weights.items())), copies))


@lru_cache(maxsize=TABLES_MAX)
def _table(name: RingName, members: tuple[tuple[str, int], ...], copies: int) -> Sequence[tuple[str, ...]]:
    weights = dict(members)
    match name:
        case RingName.RENDEZVOUS:
            return tuple(Rendezvous(weights).table(copies))
        case RingName.MODULO:
            ring: Modulo[str] | TwoLevel[str] = Modulo(weights)
        case RingName.TWO_LEVEL:
            places = virtual_places(len(weights))
            ring = TwoLevel(seats(weights, places), places)
        case _:
            assert_never(name)
    return tuple([ring.owners(bucket, copies) for bucket in range(BUCKETS)])


def virtual_places(nodes: int) -> int:
    """Returns the size of the virtual table for so many nodes.

    A power of two divides the number of buckets, so that a bucket's place is that of every key in it.
    """
    places = VIRTUAL_PLACES
    while places < nodes:
        places *= 2
    return places
