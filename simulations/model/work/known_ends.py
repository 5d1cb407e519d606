"""The rule of items: none goes out while the end of its page is with one master alone, and another one is there that
could have it (docs/copies.md, docs/sinks.md).

Whoever loses its disk then has brought what others know nothing of: the page is fetched again, and its items are
brought beside what is there. It is so of one that is back with its disk, too, which may have told nobody of the last
of what is on it: of a bucket of which nobody has noted since that its copies are whole it brings nothing that was there
before. But one that is the only one brings what it has, and what a sink has refused is brought when people want it
so: that it went out at all was judged the first time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

from ..acknowledged import Tell
from ..stores import Key, Stores, end_of, phase_of

LOOKED_FOR_S: Final = 5.0
"""So long one that is back looks for those that it knew."""
NEVER_S: Final = -10.0
STORED_S: Final = 1.0
"""What has ended while one was the only one is on its disk so much later at most."""


class Sight(Protocol):
    """The harness's own knowledge of the machines, and of whom they count."""

    @property
    def now_s(self) -> float: ...

    def fellows(self, master: str) -> frozenset[str]:
        """Returns the others that a master counts at this moment."""

    def holders(self, master: str, bucket: int) -> tuple[str, ...]:
        """Returns who holds a bucket by the ring, its owner first, in the view in which a master acts."""

    def away_since(self, since_s: float) -> frozenset[str]:
        """Returns the masters to which anything has happened since then, and those to which it happens still."""

    def set_back(self, master: str) -> bool:
        """Tells whether a master's disk is as it was at an earlier time, and all was not copied anew since."""

    def damaged(self) -> bool:
        """Tells whether what is on a disk was ever damaged."""

    def deleted(self, job: int) -> bool:
        """Tells whether somebody has had a job deleted."""

    def name(self, key: Key) -> str:
        """Returns the URL of a fact."""


@dataclass(slots=True)
class KnownEnds:
    """Judges the items that masters give to sinks."""

    stores: Stores
    sight: Sight
    replicas: int
    tell: Tell
    _began: dict[str, float] = field(default_factory=dict)
    _alone_s: dict[str, float] = field(default_factory=dict)
    """When a master was last the only one for longer than it looks for others."""
    _noted: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """The buckets of which somebody has noted in this life of their owner that its copies are whole."""

    def started(self, master: str) -> None:
        """Takes in that a master begins anew, with what is on its disk."""
        self._began[master] = self.sight.now_s
        self._alone_s.pop(master, None)
        self._noted.pop(master, None)

    def notes(self, owner: str, buckets: Iterable[int]) -> None:
        """Takes in that a holder has noted that its copies of some buckets are whole."""
        self._noted[owner].update(buckets)

    def looks(self, master: str) -> None:
        """Takes down whether a master counts others; it is called with each of its transactions."""
        if not self.sight.fellows(master) and self.sight.now_s > self._began.get(master, 0.0) + LOOKED_FOR_S:
            self._alone_s[master] = self.sight.now_s

    def brought(self, master: str, keys: Iterable[Key], refused: Collection[Key] = ()) -> None:
        """Judges the items of pages that a master gives to a sink, which has ``refused`` some of these before."""
        self.looks(master)
        if self.replicas < 2 or self.sight.damaged() or any(map(self.sight.set_back, self.stores.of)):
            return
        store, began_s = self.stores.store(master), self._began.get(master, 0.0)
        for key in keys:
            stamp, ended_s = store.records.get(key, 0), max(began_s, store.ended.get(key, began_s))
            if not phase_of(stamp) or self.sight.deleted(key[2]) or self._was_alone(master, ended_s):
                continue
            there = self.sight.fellows(master) - self.sight.away_since(ended_s)
            if there and not self._is_known(master, key, stamp):
                text = f"gives a sink the items of {self.sight.name(key)}, whose end it alone has"
                others = ", ".join(sorted(there))
                self.tell(
                    f"at {self.sight.now_s:.3f} s {master} {text} since {ended_s:.3f} s, though {others} is there"
                )
                return
            if key not in store.ended and key not in refused and self._is_of_nobody(master, key, stamp):
                text = f"gives a sink the items of {self.sight.name(key)}, which it had as it began"
                self.tell(
                    f"at {self.sight.now_s:.3f} s {master} {text} at {began_s:.3f} s, and nobody has noted since that"
                    " its copies are whole"
                )
                return

    def _is_of_nobody(self, master: str, key: Key, stamp: int) -> bool:
        """Tells whether somebody is there who is to hold copies of a page's bucket, which is its master's own, and
        nobody has noted that he has all of it.
        """
        bucket = self.stores.bucket_of[key]
        first, *others = self.sight.holders(master, bucket) or ("",)
        there = self.sight.fellows(master).intersection(others)
        if first != master or not there or bucket in self._noted[master]:
            return False
        standing = self.stores.store(master).standings.get(bucket)
        if standing is None or not standing.lack:
            return True
        # What lacks something itself is compared, too, and no copy of it is ever called whole.
        return not all(end_of(self.stores.store(other).stamp(key)) >= end_of(stamp) for other in there)

    def _was_alone(self, master: str, ended_s: float) -> bool:
        return self._alone_s.get(master, NEVER_S) >= ended_s - STORED_S

    def _is_known(self, master: str, key: Key, stamp: int) -> bool:
        """Tells whether anybody else knows the end of a page, or knew it on a disk that was lost."""
        others = [store.stamp(key) for name, store in self.stores.of.items() if name != master]
        lost = [lost.facts.get(key, 0) for lost in self.stores.lost]
        return any(end_of(each) >= end_of(stamp) for each in (*others, *lost))
