"""The rule of copies that count: their holder has noted, in the life that it is in, that it was brought to all.

A copy counts when its holder has noted it; not any more when that is in another life, or when the bucket was another
owner's, or another holder's, since, or when its owner, which serves it all along, has joined what somebody else had of
it: that came otherwise than through the owner's own turns, and all copies are compared again (docs/copies.md). Looked
at are some of the buckets, and told of is what is so at two looks, one after the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from ..acknowledged import Tell
from ..stores import Stores


class Sight(Protocol):
    """The harness's own knowledge of the machines, and of how they share out the buckets."""

    @property
    def now_s(self) -> float: ...

    def holders(self, master: str, bucket: int) -> tuple[str, ...]:
        """Returns who holds a bucket by the ring, its owner first, in the view in which a master acts."""

    def damaged(self) -> bool:
        """Tells whether what is on a disk was ever damaged."""


@dataclass(slots=True)
class Brought:
    """Judges which copies owners count, by what holders have noted."""

    stores: Stores
    sight: Sight
    watched: Collection[int]
    """The buckets that are looked at."""
    tell: Tell
    _noted: dict[tuple[str, str], set[int]] = field(default_factory=lambda: defaultdict(set))
    """By the owner and the holder: the buckets of which the holder has noted that it has all."""
    _amiss: dict[tuple[str, str], frozenset[int]] = field(default_factory=dict)
    """The buckets that were counted at the last look, and were not noted."""

    def started(self, master: str) -> None:
        """Takes in that a master begins anew: it counts nobody's copies, and nobody its."""
        for parties in [parties for parties in self._noted if master in parties]:
            del self._noted[parties]
        for parties in [parties for parties in self._amiss if master in parties]:
            del self._amiss[parties]

    def acts(self, owner: str) -> None:
        """Takes in that a master comes to a view: what it owns, and who holds that, is other than before."""
        for (of, holder), noted in self._noted.items():
            if of == owner:
                noted -= {bucket for bucket in noted if not self._is_held(owner, holder, bucket)}

    def joins(self, owner: str, bucket: int) -> None:
        """Takes in that an owner has joined what another one had of a bucket that it serves all along."""
        for (of, _), noted in self._noted.items():
            if of == owner:
                noted.discard(bucket)

    def notes(self, holder: str, owner: str, buckets: Iterable[int]) -> None:
        """Takes in that a holder says that it has noted that it was brought to what an owner has."""
        self._noted[owner, holder].update(b for b in buckets if b in self.watched and self._is_held(owner, holder, b))

    def look(self, owner: str, holder: str, counted: Collection[int]) -> None:
        """Judges an owner that counts a holder's copies of these buckets at this moment."""
        rows, noted = self.stores.store(owner).standings, self._noted[owner, holder]
        # Of what lacks something nobody is told that it is whole.
        amiss = frozenset(
            bucket
            for bucket in self.watched
            if bucket in counted and bucket not in noted and (row := rows.get(bucket)) is not None and not row.lack
        )
        if (still := amiss & self._amiss.get((owner, holder), frozenset())) and not self.sight.damaged():
            text = f"counts {holder}'s copy of bucket {min(still)}, which has not noted since that it has all"
            self.tell(f"at {self.sight.now_s:.3f} s {owner} {text}")
        self._amiss[owner, holder] = amiss

    def _is_held(self, owner: str, holder: str, bucket: int) -> bool:
        first, *others = self.sight.holders(owner, bucket) or ("",)
        return first == owner and holder in others
