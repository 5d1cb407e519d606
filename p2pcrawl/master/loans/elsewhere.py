"""The hosts that this master goes on with while others still ask them, as those say themselves.

When parts of a cluster meet that each took the other for dead, both have served the same buckets, and one goes on with
each. The other says which of their hosts it has open, again and again until it has let go of them. A host that one asks
at a time is neither asked here nor lent meanwhile. What is not said any more has ended a moment ago; what has not been
said for a while counts no more, for nobody may be left to say that it ended.
"""

from __future__ import annotations

from collections.abc import Collection
from time import monotonic

from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.ring.rendezvous import bucket_of_hash
from p2pcrawl.model.cluster.node import NodeId

SAID_S = 5.0
"""How long a word of a master counts, which repeats it every two seconds."""


class Elsewhere:
    """Keeps the last word of each master that has hosts of ours open, by their keys."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench
        self._said: dict[NodeId, tuple[float, frozenset[int]]] = {}

    def said(self, node: NodeId, keys: Collection[int]) -> frozenset[int]:
        """Takes in all that a master has open of our hosts; those that it named before wait their delay from now.
        Returns those that are new.
        """
        now, open_ = monotonic(), frozenset(keys)
        _, before = self._said.pop(node, (0.0, frozenset[int]()))
        if open_:
            self._said[node] = now + SAID_S, open_
        self._bench.rest(before - open_, now)
        return open_ - before

    def let_go(self, node: NodeId, buckets: Collection[int]) -> None:
        """Takes in that a master has nothing open any more in these buckets."""
        if node in self._said:
            until, open_ = self._said[node]
            self._said[node] = until, frozenset(key for key in open_ if bucket_of_hash(key) not in buckets)

    def is_asked(self, key: int) -> bool:
        """Tells whether another master asks this host, as far as is known."""
        return bool(self._said) and any(key in open_ for _, open_ in self._said.values())

    def tend(self) -> None:
        """Forgets what was said long ago."""
        now = monotonic()
        for node in [node for node, (until, _) in self._said.items() if until <= now]:
            del self._said[node]
