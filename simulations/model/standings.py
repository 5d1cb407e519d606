"""Standings: the word of somebody on a bucket, of which epochs he has all that was acknowledged (docs/copies.md)."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from .stores import StandingRow

Span = tuple[int, int]
TURN: Final = 12


class Standing(NamedTuple):
    """The word of somebody on a bucket: all epochs up to ``base``, those of the pieces, and those behind ``lack`` up to
    ``epoch`` are there as a whole."""

    epoch: int
    lack: int = 0
    base: int = 0
    pieces: tuple[Span, ...] = ()

    def has(self, epoch: int) -> bool:
        """Tells whether all of an epoch is there. Of a rival of the last one that is known there nothing is said."""
        if are_rivals(epoch, self.epoch):
            return False
        spans = ((-1, self.base), *self.pieces, (self.lack if self.lack else -1, self.epoch))
        return any(before < epoch <= last for before, last in spans)


def are_rivals(epoch: int, other: int) -> bool:
    """Tells whether two epochs are of one turn, which is all but the last twelve bits of their numbers, and of two
    masters. The first turn is nobody's.
    """
    return epoch != other and epoch >> TURN == other >> TURN > 0


def are_by_one(epoch: int, other: int) -> bool:
    """Tells whether two epochs were begun by the same master, as the last bits of their numbers say."""
    return min(epoch, other) >> TURN > 0 and (epoch ^ other) % (1 << TURN) == 0


@lru_cache(4096)
def standing_at(epoch: int, lack: int = 0, base: int = 0, pieces: tuple[Span, ...] = ()) -> Standing:
    """Returns this standing, which is the same object for thousands of buckets."""
    return Standing(epoch, lack, base, pieces)


@lru_cache(4096)
def standing_of(row: StandingRow) -> Standing:
    """Reads the word of a disk on a bucket."""
    pieces = (piece.split("-") for piece in row.pieces.split())
    return Standing(row.epoch, row.lack, row.base, tuple((int(before), int(last)) for before, last in pieces))


def less_of(one: Standing, other: Standing) -> int:
    """Returns an epoch that somebody has by one word, and not by the other; 0 if there is none."""
    if one[:3] == other[:3] and set(other.pieces) <= set(one.pieces):
        return 0
    spans = [(max(0, s.lack), s.epoch) for s in (one, other)] + [(0, s.base) for s in (one, other)]
    ends = {end for span in (*spans, *one.pieces, *other.pieces) for end in (span[0] + 1, span[1])}
    return next((epoch for epoch in sorted(ends) if epoch > 0 and other.has(epoch) and not one.has(epoch)), 0)


def in_words(standing: Standing) -> str:
    """Writes a standing."""
    return f"all up to epoch {standing.epoch}" if not standing.lack else str(tuple(standing))
