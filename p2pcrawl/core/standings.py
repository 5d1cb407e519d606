"""What somebody has of a bucket, in epochs.

The theory. Each fact of a bucket was acknowledged under some epoch of it. A *standing* says of which epochs somebody
has all facts: those from the first up to ``base``, and those behind ``lack`` up to ``epoch``, the last one that is
known there; with nothing lacking, all of them. So several who each lack something may have everything together.

Nothing is acknowledged under an epoch before all have heard of it. From then on all goes to those that hold the bucket
by the ring, before it is acknowledged: these *follow*, they have all of the new epoch, however little of what was
before it. Everybody else has all of what was before it that he had, and nothing of what comes.

Invariants: ``base < lack <= epoch``, or nothing is lacking and ``base`` is 0; whatever is joined, in whatever order,
comes to the same; no epoch that none of them has is had by all together.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

REMEMBERED_MAX = 4_096
"""Thousands of buckets have the same few standings: each is worked out once."""


class Standing(NamedTuple):
    """What somebody has of a bucket: see the module."""

    epoch: int
    """The last one that is known there."""
    lack: int = 0
    """The last one that is lacking there, or 0."""
    base: int = 0
    """Where something is lacking: all facts up to this epoch are there all the same."""


def joined(standings: Collection[Standing]) -> Standing:
    """The standing of what several have together: what one lacks may be had by others, piece by piece."""
    return _joined(frozenset(standings))


@lru_cache(REMEMBERED_MAX)
def _joined(standings: frozenset[Standing]) -> Standing:
    spans = [(s.lack, s.epoch) for s in standings] + [(0, s.base) for s in standings if s.base]
    epoch = max(last for _, last in spans)
    lack, base = epoch, 0
    while lack and (found := [before for before, last in spans if before < lack <= last]):
        lack = min(found)
    while lack and (reached := [last for before, last in spans if before <= base < last]):
        base = max(reached)
    return Standing(epoch, lack, base)


@lru_cache(REMEMBERED_MAX)
def following(had: Standing, epoch: int, since: int) -> Standing:
    """Of one that holds a bucket of which a new epoch begins, and is sent all of it. Behind ``since`` nothing was
    acknowledged yet."""
    return joined((had, Standing(epoch, min(since, epoch))))


@lru_cache(REMEMBERED_MAX)
def left_behind(had: Standing, epoch: int, since: int) -> Standing:
    """Of one that has heard of a new epoch of a bucket, and is sent nothing of it."""
    before = joined((had, Standing(epoch - 1, min(since, epoch - 1))))
    return Standing(epoch, epoch, before.base if before.lack else before.epoch)


def dropped(had: Standing) -> Standing:
    """Of one that has given away all facts of a bucket."""
    return Standing(had.epoch, had.epoch)
