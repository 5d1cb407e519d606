"""The harness's knowledge of those that take buckets over, and their words to each other."""

from __future__ import annotations

from math import inf
from typing import Final, NamedTuple, Protocol

from ..acknowledged import Sight as Machines
from ..standings import Standing


class Sight(Machines, Protocol):
    """The harness's own knowledge of the machines, and of how they share out the buckets."""

    def others(self, master: str) -> frozenset[str]:
        """Returns the names of the other masters that take part in the view in which one acts at this moment."""

    def view(self, master: str) -> int:
        """Returns the view in which a master acts at this moment; 0 if it acts in none."""

    def follows(self, owner: str, other: str, bucket: int) -> bool:
        """Tells whether, in the view of its owner, another one is sent what is acknowledged in a bucket."""

    def owns(self, master: str, bucket: int) -> bool:
        """Tells whether a bucket is a master's own in its view."""

    def in_service(self, master: str, bucket: int) -> bool:
        """Tells whether a master serves a bucket at this moment."""

    def serves(self, master: str, bucket: int) -> bool:
        """Tells whether a master serves a bucket, or does as soon as it rests no more: while it has no consent of most,
        it goes on with what it has, and grants nothing.
        """

    def keeps(self, node: str, bucket: int) -> bool:
        """Tells whether a master need not drop what it has of a bucket: by its view it holds or owns it, or has
        something of it that its owner has not taken.
        """

    def damaged(self) -> bool:
        """Tells whether what is on a disk was ever damaged."""


class Word(NamedTuple):
    """The word of somebody that he has let go of a bucket: when it was heard, what he has of it, and when he was asked
    for it.
    """

    at_s: float
    standing: Standing | None
    asked_s: float


NEVER: Final = Word(-inf, None, -inf)


class Begun(NamedTuple):
    """An epoch under which a bucket goes on, and the last one before under which anything may be acknowledged."""

    epoch: int
    since: int
    rivals: tuple[int, ...] = ()
    """Epochs that were begun beside others."""
