"""The rule of what owners count on: a copy that is called synced has what its owner has, at every moment.

A row that is sent may be under way for a while; whatever an owner knows for longer than that is on the disk of each
holder that it counts (docs/copies.md). Where it is not, the next death takes it, however soon it would have been
mended. So does what a holder knows and its owner does not: that one had asked for it before it counted the copy. And a
copy counts when its holder has noted that it does.

What a master has counted of its work it tells R-1 others once a second (docs/cluster.md): in a calm that has lasted
they have it on their disks.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import inf
from typing import Final, Protocol

from .acknowledged import Sight, Tell
from .stores import DROPPED, Key, Store, Stores, phase_of, stamp_of, told

UNDER_WAY_S: Final = 12.0
"""So long a row may be on its way to a holder that is there,"""
CRAMPED_S: Final = 45.0
"""and so long if windows are small, and one goes after the other."""
AWAY_S: Final = 20.0
"""Who was away in this time may not have been brought to it yet."""
TOLD_S: Final = 10.0
"""What a master has counted of its work for so long, others know, if the same ones were there all the time."""
LOOKS_S: Final = 3.0
"""Between two looks there was no calm if they are farther apart than this."""


class Services(Sight, Protocol):
    """The harness's own knowledge of who serves what."""

    def serves(self, master: str, bucket: int) -> bool:
        """Tells whether a master serves a bucket, or does as soon as it rests no more."""


@dataclass(slots=True)
class Counted:
    """Judges what owners count as copies, against the disks of that moment."""

    stores: Stores
    sight: Services
    tell: Tell
    under_way_s: float = UNDER_WAY_S

    def look(self, owner: str, holder: str, buckets: Collection[int]) -> None:
        """Judges an owner that counts a holder's copies of these buckets at this moment."""
        mine, theirs = self.stores.of.get(owner), self.stores.of.get(holder)
        if mine is None or theirs is None or {owner, holder} & self.sight.away_since(self.sight.now_s - AWAY_S):
            return
        what = (
            self._behind(mine, theirs, buckets, "")
            or self._behind(theirs, mine, buckets, "ahead")
            or self._unnoted(owner, mine, theirs, buckets)
        )
        if what:
            self.tell(f"at {self.sight.now_s:.3f} s {owner} counts {holder}'s copy of {what}")

    def _behind(self, knows: Store, lacks: Store, buckets: Collection[int], ahead: str) -> str:
        """Says what one knows for long of these buckets as it is to know it, and the other does not."""
        since_s = self.sight.now_s - self.under_way_s
        for key, stamp in (knows.held if ahead else knows.records).items():
            bucket = self.stores.bucket_of[key]
            if bucket not in buckets or knows.changed.get(key, 0.0) > since_s or self.sight.deleted(key[2]):
                continue
            if _reach(known := lacks.stamp(key)) < (_reach(stamp) if ahead else _owed(knows, key, stamp)):
                name = self.sight.name(key)
                has = "has it not" if known < 0 else f"knows of visit {known >> 32}, phase {phase_of(known)} only"
                return (
                    f"bucket {bucket}, which has {name}, and itself {has}"
                    if ahead
                    else f"bucket {bucket}, which of {name} {has}"
                )
        return ""

    def _unnoted(self, owner: str, mine: Store, theirs: Store, buckets: Collection[int]) -> str:
        """Says of which bucket that is served a holder has not noted that it has all, though its owner has. An epoch is
        on its owner's disk before others hear of it, and nothing counts on copies of the bucket till all have.
        """
        ours, others = mine.standings.get, theirs.standings.get
        for bucket in buckets:
            # Rows that say the same are one, as nearly all do.
            if (here := ours(bucket)) is (there := others(bucket)) or here is None or here.lack:
                continue
            if (there is None or there.epoch < here.epoch or there.lack) and self.sight.serves(owner, bucket):
                return (
                    f"bucket {bucket} up to epoch {here.epoch}, and there it is {tuple(there) if there else 'unknown'}"
                )
        return ""


def _owed(owner: Store, key: Key, stamp: int) -> int:
    """Returns how far a copy has to know a URL to be of which its owner has this stamp. That another visit has begun
    need not reach the copies: whoever takes over finds it due, and begins it (docs/revisits.md). How the one before
    ended the owner has no more: it counts as it was seen there, and as any end if it was not.
    """
    visit = stamp >> 32
    if visit > 0 and not phase_of(stamp):
        return _reach(max(stamp_of(visit - 1, DROPPED, 0, 0), owner.visited.get(key, 0)))
    return _reach(stamp)


def _reach(stamp: int) -> int:
    """Returns how far a URL is, by its visit and its phase: what is counted of tries goes with the next of these."""
    return stamp if stamp < 0 else stamp >> 30


class Names(Sight, Protocol):
    """The harness's own knowledge of which machine a member is."""

    def called(self, member: str) -> str:
        """Returns the name of the machine with this id."""


@dataclass(slots=True)
class Accounts:
    """Judges who keeps what masters have counted."""

    stores: Stores
    sight: Names
    replicas: int
    tell: Tell
    _up: frozenset[str] = frozenset()
    """Who was there at the last look,"""
    _looked_s: float = -inf
    """when that was,"""
    _since_s: float = -inf
    """and since when it has been these."""

    def look(self, up: Collection[str]) -> None:
        """Judges the disks of those that are up, while all are in touch."""
        now_s = self.sight.now_s
        # After a death others are to keep what the dead one did: they are told once the living know of it.
        if self._up != frozenset(up) or now_s > self._looked_s + LOOKS_S:
            self._up, self._since_s = frozenset(up), now_s
        self._looked_s = now_s
        if now_s < self._since_s + TOLD_S:
            return
        away = self.sight.away_since(now_s - AWAY_S)
        if not away.isdisjoint(up):
            return
        wanted = min(self.replicas, len(up)) - 1
        keepers = {master: set[str]() for master in up}
        for keeper in up:
            for whose in {master for _, master, _, _ in self.stores.store(keeper).accounts}:
                if (name := self.sight.called(whose)) in keepers and name != keeper:
                    keepers[name].add(keeper)
        for master, those in keepers.items():
            if len(those) < wanted and self._has_counted(master):
                text = f"what {master} has counted is kept by {told(those)} only, of {wanted} others"
                self.tell(f"at {now_s:.3f} s {text}")
                return

    def _has_counted(self, master: str) -> bool:
        """Tells whether a master has had anything fetched for long, with the disk that it has."""
        worked = self.stores.store(master).worked.items()
        return any(began_s < self.sight.now_s - TOLD_S and not self.sight.deleted(job) for job, began_s in worked)
