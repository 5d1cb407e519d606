"""The table of a view from that of the view before, when they differ by a few members.

To compute a table anew takes a look at each member for each bucket. But a newcomer concerns a bucket's row only where
it bids more than somebody in it, and one that leaves only the rows that it is in. What makes this exact is what makes
rendezvous hashing monotone (:mod:`p2pcrawl.core.ring.rendezvous`): after a join the nodes that have no place before
place r are
those that had none before, and one more, the newcomer or whom it has displaced. So that one alone is compared with
who has place r, and the loser goes on to the next place.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import TypeVar

from p2pcrawl.core.ring.costs import column

Node = TypeVar("Node", bound=str)

Table = Sequence[tuple[Node, ...]]

_Costs = list[dict[Node, "array[int]"]]
"""The costs of each node for all buckets, by place, the first one's at 0."""


def table_from(table: Table[Node], before: Mapping[Node, int], after: Mapping[Node, int], copies: int) -> Table[Node]:
    """Returns the table of ``after``, made from that of ``before`` with as many copies. Both have members."""
    gone = {node for node, weight in before.items() if after.get(node) != weight}
    come = [node for node, weight in after.items() if before.get(node) != weight]
    members = {node: weight for node, weight in before.items() if node not in gone}
    costs = [{node: column(node, weight, place) for node, weight in members.items()} for place in range(1, copies + 1)]
    rows = list(table)
    if gone:
        rows = [
            _without(row, gone, bucket, costs) if not gone.isdisjoint(row) else row for bucket, row in enumerate(rows)
        ]
    for node in come:
        for place, known in enumerate(costs, 1):
            known[node] = column(node, after[node], place)
        rows = [_with(row, node, bucket, costs) for bucket, row in enumerate(rows)]
    return tuple(rows)


def _with(row: tuple[Node, ...], newcomer: Node, bucket: int, costs: _Costs[Node]) -> tuple[Node, ...]:
    """Returns the row after a join."""
    loser, changed = newcomer, list(row)
    for place, node in enumerate(row):
        known = costs[place]
        # Equal costs go to the lower id.
        if (known[loser][bucket], loser) < (known[node][bucket], node):
            changed[place], loser = loser, node
    if len(row) < len(costs):
        changed.append(loser)
    elif loser is newcomer:
        return row
    return tuple(changed)


def _without(row: tuple[Node, ...], gone: set[Node], bucket: int, costs: _Costs[Node]) -> tuple[Node, ...]:
    """Returns the row after some have left: all places from the first of theirs are given anew."""
    kept: list[Node] = []
    for node in row:
        if node in gone:
            break
        kept.append(node)
    for known in costs[len(kept) : len(row)]:
        free = [node for node in known if node not in kept]
        if not free:
            break
        kept.append(min(free, key=lambda node: (known[node][bucket], node)))
    return tuple(kept)
