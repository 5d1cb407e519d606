"""The rule of what owners count on: a copy that is called synced has what its owner has, at every moment.

A row that is sent may be under way for a while; whatever an owner knows for longer than that is on the disk of each
holder that it counts (docs/copies.md). Where it is not, the next death takes it, however soon it would have been
mended.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from .acknowledged import Sight, Tell
from .stores import Key, Stores, phase_of

UNDER_WAY_S: Final = 45.0
"""So long a row may be on its way to a holder that is there, one after the other if windows are small."""
AWAY_S: Final = 20.0
"""Who was away in this time may not have been brought to it yet."""


@dataclass(slots=True)
class Counted:
    """Judges what owners count as copies, against the disks of that moment."""

    stores: Stores
    sight: Sight
    tell: Tell

    def look(self, owner: str, holder: str, buckets: Collection[int]) -> None:
        """Judges an owner that counts a holder's copies of these buckets at this moment."""
        since_s = self.sight.now_s - UNDER_WAY_S
        mine, theirs = self.stores.of.get(owner), self.stores.of.get(holder)
        if mine is None or theirs is None or {owner, holder} & self.sight.away_since(self.sight.now_s - AWAY_S):
            return
        for key, stamp in mine.records.items():
            if self.stores.bucket_of[key] not in buckets or mine.changed.get(key, 0.0) > since_s:
                continue
            if _reach(theirs.stamp(key)) < _reach(stamp) and not self.sight.deleted(key[2]):
                self._amiss(owner, holder, key, theirs.stamp(key))
                return

    def _amiss(self, owner: str, holder: str, key: Key, stamp: int) -> None:
        what = "has it not" if stamp < 0 else f"knows of visit {stamp >> 32}, phase {phase_of(stamp)} only"
        text = f"counts {holder}'s copy of bucket {self.stores.bucket_of[key]}, which of {self.sight.name(key)}"
        self.tell(f"at {self.sight.now_s:.3f} s {owner} {text} {what}")


def _reach(stamp: int) -> int:
    """Returns how far a URL is, by its visit and its phase: what is counted of tries goes with the next of these."""
    return stamp if stamp < 0 else stamp >> 30
