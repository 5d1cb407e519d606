"""The stores of a cluster as somebody sees them who looks at all disks at once: which facts each has made durable.

A fact is a URL of a job and how far it is, as one number: the greater one is further. It is told of each transaction,
so that what is here is true at every moment, and it forgets what a disk had only some time after that disk was lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import urlsplit

Key = tuple[int, int, int]
"""Both halves of a URL's fingerprint, and the job."""
UNKNOWN: Final = -1
DROPPED: Final = 1
"""The least of the phases in which a visit is over."""
DONE: Final = 3
_PHASE_SHIFT: Final = 30
_COUNT_MAX: Final = (1 << 15) - 1
_LOSSES_MAX: Final = (1 << 14) - 1


def stamp_of(visit: int, phase: int, attempts: int, losses: int, entry: int = 0) -> int:
    """Packs how far a URL is: the visit counts most, then the phase, the attempts, the losses; and whether it is one
    with which its job begins.
    """
    counts = min(attempts, _COUNT_MAX) << 15 | min(losses, _LOSSES_MAX) << 1
    return visit << 32 | phase << _PHASE_SHIFT | counts | (entry != 0)


def is_entry(stamp: int) -> bool:
    """Tells whether a stamp is of a URL with which its job begins."""
    return stamp >= 0 and bool(stamp & 1)


def joined(stamp: int, other: int) -> int:
    """Returns what is known of a URL where both stamps are."""
    return max(stamp, other) | is_entry(stamp) | is_entry(other)


def says_all(stamp: int, of: int) -> bool:
    """Tells whether who knows a URL to be as one stamp says knows all that another one says."""
    return stamp >> 1 >= of >> 1 and (is_entry(stamp) or not is_entry(of))


def phase_of(stamp: int) -> int:
    """Returns the phase of a stamp: 0 is queued, 3 is done."""
    return stamp >> _PHASE_SHIFT & 3


def end_of(stamp: int) -> int:
    """Returns the part of a stamp that says of which visit, and how, a page has ended."""
    return stamp >> _PHASE_SHIFT


class StandingRow(NamedTuple):
    """The word of a disk on a bucket: of which epochs it has all."""

    epoch: int
    lack: int
    base: int
    pieces: str


@lru_cache(4096)
def standing_row(epoch: int, lack: int, base: int, pieces: str) -> StandingRow:
    """Returns this row, which is the same object for thousands of buckets."""
    return StandingRow(epoch, lack, base, pieces)


@dataclass(slots=True)
class Store:
    """The facts on one disk."""

    records: dict[Key, int] = field(default_factory=dict)
    """The disk's own, by their stamps."""
    numbers: dict[int, Key] = field(default_factory=dict)
    """The same, by their numbers there."""
    leases: dict[int, int] = field(default_factory=dict)
    """The lease of each that is in a slave's hands, by its number there."""
    worked: dict[int, float] = field(default_factory=dict)
    """Since when pages of each job have ended in slaves' hands, one way or another."""
    visited: dict[Key, int] = field(default_factory=dict)
    """How far those were of which another visit has begun here, in this life."""
    held: dict[Key, int] = field(default_factory=dict)
    """Those that it holds for others."""
    spool: dict[int, Key] = field(default_factory=dict)
    """Those that it keeps for want of copies elsewhere, by their numbers,"""
    spooled: Counter[Key] = field(default_factory=Counter)
    """and how often each is among them."""
    standings: dict[int, StandingRow] = field(default_factory=dict)
    pauses: dict[int, int] = field(default_factory=dict)
    """The hosts of which it knows, or has known, that they asked to be left alone, by their keys, and until when."""
    notes: dict[int, tuple[float, float]] = field(default_factory=dict)
    """The hosts of which it keeps for others what they ask, by their keys: when that was written last, and for how long
    each was to be left alone then."""
    accounts: dict[tuple[int, str, str, str], int] = field(default_factory=dict)
    """The versions of what others have counted: by job, master, life and slice."""
    changed: dict[Key, float] = field(default_factory=dict)
    """Since when it knows of each what it knows, in this life."""
    ended: dict[Key, float] = field(default_factory=dict)
    """Since when those of its own are through in the visit that they are in, if that came in this life. What is written
    once more, or comes as a copy besides, is no other end."""
    came: dict[Key, float] = field(default_factory=dict)
    """Since when it has as its own, or holds, what it has come to know in this life,"""
    known: dict[Key, float] = field(default_factory=dict)
    """since when it has known that, be it as a copy first,"""
    left: dict[Key, tuple[float, int]] = field(default_factory=dict)
    """and what was let go of, when, and how far it was."""
    queued: Counter[int] = field(default_factory=Counter)
    """How often each of its own is in a queue, by its number there,"""
    staged: Counter[int] = field(default_factory=Counter)
    """and how many parts came of it before its end."""
    mark: int = 0
    """The number of the record up to which all links are said to be with others."""
    found: dict[Key, tuple[int, ...]] = field(default_factory=dict)
    """The numbers under which each is found."""

    def forget_records(self) -> None:
        """Begins anew with what is the disk's own."""
        self.records.clear()
        self.visited.clear()
        self.changed.clear()
        self.ended.clear()
        self.numbers.clear()
        self.leases.clear()
        self.pauses.clear()
        self.queued.clear()
        self.staged.clear()
        self.found.clear()
        self.mark = 0

    def forget_copies(self) -> None:
        """Begins anew with what it holds for others, and what is kept with that."""
        self.held.clear()
        self.spool.clear()
        self.spooled.clear()
        self.standings.clear()
        self.notes.clear()
        self.accounts.clear()

    def stamp(self, key: Key) -> int:
        """Returns how far the disk knows this to be; UNKNOWN if it does not."""
        own, held = self.records.get(key), self.held.get(key)
        if own is None or held is None:
            alone = held if own is None else own
            return UNKNOWN if alone is None else alone
        return joined(own, held)

    def is_entry(self, key: Key) -> bool:
        """Tells whether the disk knows this to be a URL with which its job begins."""
        return is_entry(self.stamp(key))


class Lost(NamedTuple):
    """A disk that was lost."""

    at_s: float
    node: str
    facts: dict[Key, int]


@dataclass(slots=True)
class Stores:
    """The stores of all masters, those of the dead too as long as their disks are there."""

    of: dict[str, Store] = field(default_factory=dict)
    lost: list[Lost] = field(default_factory=list)
    bucket_of: dict[Key, int] = field(default_factory=dict)

    def store(self, node: str) -> Store:
        """Returns the store of this node."""
        if node not in self.of:
            self.of[node] = Store()
        return self.of[node]

    def lose(self, node: str, now_s: float) -> None:
        """Takes note that a disk is no more."""
        store = self.of.pop(node, None)
        if store is not None:
            self.lost.append(Lost(now_s, node, {**store.held, **store.records}))

    def having(self, key: Key) -> list[str]:
        """Returns whose disks have a fact, as their own or as a copy."""
        return [node for node, store in self.of.items() if key in store.records or key in store.held]

    def spooling(self, key: Key) -> list[str]:
        """Returns who keeps a link for want of copies elsewhere."""
        return [node for node, store in self.of.items() if store.spooled[key]]

    def lately_lost(self, key: Key, since_s: float) -> list[str]:
        """Returns whose disks had a fact and were lost since then."""
        return [lost.node for lost in self.lost if lost.at_s >= since_s and key in lost.facts]


def told(nodes: Iterable[str]) -> str:
    """Writes some names."""
    return ", ".join(sorted(nodes)) or "nobody"


def host_in(url: str) -> str:
    """Returns the host of a URL; "" of what is none, as slaves that lie tell it."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
