"""Standings: what somebody has of a bucket, in epochs.

The theory. Each fact of a bucket was acknowledged under some epoch of it. A *standing* says of which epochs somebody
has all facts: those from the first up to ``base``, those behind ``lack`` up to ``epoch``, the last one that is known
there, and in between whatever ``pieces`` name; with nothing lacking, all of them. So several who each lack something
may have everything together.

Nothing is acknowledged under an epoch before all have heard of it. From then on all goes to those that hold the bucket
by the ring, before it is acknowledged: these *follow*, they have all of the new epoch, however little of what was
before it. Everybody else has all of what was before it that he had, and nothing of what comes.

Whoever follows an epoch cannot know of a rival of it, begun beyond a cut. So what somebody says to have counts for the
rivals of the last epoch that he knows only where they are his: whoever joins a rival's standing to his own begins
another epoch at once.

Invariants: ``base < lack <= epoch``, or nothing is lacking and ``base`` is 0; pieces lie between these, in order and
apart; whatever is joined, in whatever order, comes to the same, as long as there are no more than ``PIECES_MAX``
pieces; no epoch that none of them has is had by all together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from p2pcrawl.model.cluster.epoch import PIECES_MAX, Span, are_rivals

REMEMBERED_MAX = 4_096
"""Thousands of buckets have the same few standings: each is worked out once."""


class Standing(NamedTuple):
    """The epochs of a bucket of which somebody has all facts."""

    epoch: int
    """The last one that is known there."""
    lack: int = 0
    """The last one that is lacking there, or 0."""
    base: int = 0
    """Where something is lacking: all facts up to this epoch are there all the same."""
    pieces: tuple[Span, ...] = ()
    """What is there, too, between what lacks behind the base and the last one that is lacking."""

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans of epochs of which all facts are there."""
        return ((0, self.base), *self.pieces, (self.lack, self.epoch))

    @property
    def is_nothing(self) -> bool:
        """Tells whether no epoch is there, as far as is known."""
        return self.lack == self.epoch and not self.base and not self.pieces

    def has(self, epoch: int) -> bool:
        """Tells whether all of an epoch is there."""
        return any(before < epoch <= last for before, last in self.spans)


@lru_cache(REMEMBERED_MAX)
def standing_at(epoch: int, lack: int = 0, base: int = 0, pieces: tuple[Span, ...] = ()) -> Standing:
    """Returns this standing, which is the same object for thousands of buckets."""
    return Standing(epoch, lack, base, pieces)


def standing_of(epoch: int, spans: Iterable[Span]) -> Standing:
    """Returns the standing of one that has the epochs of these spans, and knows of no later epoch than this one."""
    merged: list[Span] = []
    for before, last in sorted((before, min(last, epoch)) for before, last in spans):
        if merged and before <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], last)
        elif before < last:
            merged.append((before, last))
    lack = merged.pop()[0] if merged and merged[-1][1] == epoch else epoch
    base = merged.pop(0)[1] if lack and merged and merged[0][0] == 0 else 0
    return Standing(epoch, lack, base, tuple(merged[-PIECES_MAX:]))


def joined(standings: Collection[Standing]) -> Standing:
    """Returns the standing of what several have together: what one lacks may be had by others, piece by piece."""
    return _joined(frozenset(standings))


@lru_cache(REMEMBERED_MAX)
def _joined(standings: frozenset[Standing]) -> Standing:
    last = {s.epoch for s in standings}
    spans = (span for s in standings for span in without(s.spans, [each for each in last if are_rivals(each, s.epoch)]))
    return standing_of(max(last), spans)


def without(spans: Iterable[Span], epochs: Collection[int]) -> Iterator[Span]:
    """Yields what is left of spans without some epochs."""
    for before, last in spans:
        for epoch in sorted(epochs):
            if before < epoch <= last:
                yield before, epoch - 1
                before = epoch
        yield before, last


@lru_cache(REMEMBERED_MAX)
def following(had: Standing, epoch: int, since: int) -> Standing:
    """Returns the standing of one that holds a bucket of which a new epoch begins, and is sent all of it. Behind
    ``since`` nothing was acknowledged yet.
    """
    return standing_of(epoch, (*had.spans, (min(since, epoch), epoch)))


@lru_cache(REMEMBERED_MAX)
def left_behind(had: Standing, epoch: int, since: int) -> Standing:
    """Returns the standing of one that has heard of a new epoch of a bucket, and is sent nothing of it."""
    since = min(since, epoch - 1)
    # What is behind an epoch that is lacking is nothing, or will be when somebody comes who has that.
    is_there = since <= 0 or any(before < since <= last for before, last in had.spans)
    return standing_of(epoch, (*had.spans, (since, epoch - 1)) if is_there else had.spans)


def parted(had: Standing) -> Standing:
    """Returns the standing of one that has followed the last epoch until now, and is sent no more of it."""
    return standing_of(had.epoch, ((before, min(last, had.epoch - 1)) for before, last in had.spans))


@lru_cache(REMEMBERED_MAX)
def dropped(had: Standing) -> Standing:
    """Returns the standing of one that has nothing of a bucket, and knows that others have. Who never heard of an epoch
    of it lacks the first.
    """
    epoch = max(had.epoch, 1)
    return Standing(epoch, epoch)
