"""Epochs of a bucket: their numbers, and spans of them, by which somebody's part of it is told.

A number holds the *turn*, one greater than all that were heard of when it began, and who began it: two masters that do
not hear of each other begin two epochs of one turn, which are *rivals*, and neither takes the other's for its own.
Numbers of the first turn of all are those of earlier versions, which say nothing of anybody.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

from p2pcrawl.model.cluster.node import NodeId

Span = tuple[int, int]
"""All epochs behind the first of these numbers, up to the second one."""
PIECES_MAX = 16
"""Spans between two epochs that are lacking, of one bucket. Of more the oldest are forgotten, and are lacking then."""
AUTHORS: Final = 1 << 12
"""So many numbers each turn has. Of two masters one in so many has the same as the other."""


def author_mark(owner: NodeId) -> int:
    """Returns what the numbers of a master's epochs have in common."""
    return crc32(owner.encode()) % (AUTHORS - 1) + 1


def epoch_after(known: int, owner: NodeId) -> int:
    """Returns the number of the epoch that a master begins, which has heard of this one and of none behind it."""
    return (epoch_turn(known) + 1) * AUTHORS + author_mark(owner)


def epoch_turn(epoch: int) -> int:
    """Returns the turn of an epoch: how often the bucket has changed hands by then."""
    return epoch // AUTHORS


def is_by(epoch: int, owner: NodeId) -> bool:
    """Tells whether a master has begun this epoch."""
    return epoch_turn(epoch) > 0 and epoch % AUTHORS == author_mark(owner)


def are_rivals(epoch: int, other: int) -> bool:
    """Tells whether two epochs were begun by masters of which neither knew of the other's."""
    return epoch != other and epoch_turn(epoch) == epoch_turn(other) > 0
