"""The rings of the source papers, to choose by setting and to compare with rendezvous hashing.

Both take a key's bucket as its hash. Both are balanced; neither is monotone: when a member joins or leaves, keys also
move between those that stay (``python -m simulations rings`` measures how many). Neither knows weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

import xxhash

Node = TypeVar("Node", bound=str)


class Modulo(Generic[Node]):
    """Hashing on one level: ``hash % node_num`` is the number of the owner. The copies are at the numbers after it."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._nodes = sorted(nodes)

    def owners(self, bucket: int, copies: int) -> tuple[Node, ...]:
        """Returns the owner of the bucket, then the holders of its other copies; fewer if there are fewer members."""
        return _in_a_row(self._nodes, bucket, copies)


class TwoLevel(Generic[Node]):
    """Two-level hashing: a virtual table of all nodes that there may be, and a table of those that there are.

    ``hash % a`` is a place in the virtual table. If a node really runs there, it is the owner. If not,
    ``hash % node_num`` names one in the table of actual nodes. The copies are at the next actual nodes.
    """

    def __init__(self, places: Mapping[int, Node], a: int) -> None:
        """``places``: which node runs at which place below ``a``; see :func:`seats`.

        Raises ValueError for a place outside of the virtual table.
        """
        if wrong := [place for place in places if not 0 <= place < a]:
            raise ValueError(f"place {wrong[0]} is outside of a virtual table of {a}")
        self._actual = [places[place] for place in sorted(places)]
        numbers = {place: number for number, place in enumerate(sorted(places))}
        self._virtual = [numbers.get(place) for place in range(a)]

    def owners(self, bucket: int, copies: int) -> tuple[Node, ...]:
        """Returns the owner of the bucket, then the holders of its other copies; fewer if there are fewer members."""
        number = self._virtual[bucket % len(self._virtual)]
        return _in_a_row(self._actual, bucket if number is None else number, copies)


def seats(nodes: Iterable[Node], a: int) -> dict[int, Node]:
    """Returns a place below ``a`` for every node, the same for all who know the same nodes.

    A node sits at the hash of its id, or at the next free place. A join may so move another node's place, which
    numbers given once and for all, as in the paper, would not. Raises ValueError for more than ``a`` nodes.
    """
    taken: dict[int, Node] = {}
    for node in sorted(nodes):
        if len(taken) >= a:
            raise ValueError(f"more nodes than the {a} places of the virtual table")
        place = xxhash.xxh3_64_intdigest(node.encode()) % a
        while place in taken:
            place = (place + 1) % a
        taken[place] = node
    return taken


def _in_a_row(nodes: list[Node], first: int, copies: int) -> tuple[Node, ...]:
    return tuple([nodes[(first + step) % len(nodes)] for step in range(min(copies, len(nodes)))])
