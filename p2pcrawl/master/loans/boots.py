"""The living masters, and which life each of them is in: one that restarts begins a new life, and knows nothing of what
it had on loan or lent in the one before.

One that died for others may only have been out of reach: it comes back in the same life, with all that it had.
"""

from __future__ import annotations

from collections.abc import Collection

from p2pcrawl.model.cluster.node import NodeId


class Lives:
    """The lives of other masters, as far as this one knows. Of the dead it remembers the last life, to tell whether
    they come back in it.
    """

    def __init__(self) -> None:
        self._living: frozenset[NodeId] = frozenset()
        self._last: dict[NodeId, bytes] = {}

    def __contains__(self, node: NodeId) -> bool:
        return node in self._living

    def __len__(self) -> int:
        return len(self._living)

    def change(self, living: Collection[NodeId]) -> None:
        """Takes in that these live, and nobody else."""
        self._living = frozenset(living)

    def came(self, node: NodeId, life: bytes) -> bool:
        """Takes in that a master is there, for the first time or again. Returns whether it was there before, in another
        life.
        """
        before = self._last.get(node, life)
        self._last[node] = life
        return before != life

    def is_back(self, node: NodeId, life: bytes) -> bool:
        """Tells whether a master that comes was there before in this same life: it was only out of reach."""
        return node not in self._living and self._last.get(node) == life

    def of(self, node: NodeId) -> bytes | None:
        """Returns the last life that is known of a master."""
        return self._last.get(node)
