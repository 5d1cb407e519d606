"""The order that loses nothing (docs/copies.md): links have their copies before the end of the page that led to them
goes to any, and its items go out when that has its own.

Of a holder that was whole by the word of its owner before something was new, and by a view that has been the same
since then, there is nothing to excuse: one that does not answer holds up all that comes behind. What a host has asked
for goes to these as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from ..acknowledged import Tell
from ..stores import DONE, UNKNOWN, Key, Store, Stores, phase_of

HEARD_S: Final = 60.0
"""So long after a disk was lost somebody may not have heard of it."""
NEVER_S: Final = float("inf")
ON_ITS_WAY_S: Final = 8.0
"""What a host has asked for is with the holders after so long, if nothing is in anybody's way,"""
ROUNDED_S: Final = 2.0
"""and ends there earlier by so much at most."""


class Sight(Protocol):
    """The harness's own knowledge of the machines."""

    @property
    def now_s(self) -> float: ...

    def view(self, master: str) -> int:
        """Returns the view in which a master acts at this moment; 0 if it acts in none."""

    def life(self, node: str) -> int:
        """Returns which life a node is in; 0 if it is down."""

    def away_since(self, since_s: float) -> frozenset[str]:
        """Returns the masters to which anything has happened since then, and those to which it happens still."""

    def holders(self, master: str, bucket: int) -> tuple[str, ...]:
        """Returns who holds a bucket by the ring, its owner first, in the view in which a master acts."""

    def fellows(self, master: str) -> frozenset[str]:
        """Returns the others that a master counts at this moment."""

    def follows(self, owner: str, other: str, bucket: int) -> bool:
        """Tells whether, in the view of its owner, another one is sent what is acknowledged in a bucket."""

    def in_service(self, master: str, bucket: int) -> bool:
        """Tells whether a master serves a bucket at this moment."""

    def set_back(self, master: str) -> bool:
        """Tells whether a master's disk is as it was at an earlier time, and all was not copied anew since."""

    def deleted(self, job: int) -> bool:
        """Tells whether somebody has had a job deleted."""

    def name(self, key: Key) -> str:
        """Returns the URL of a fact."""


class _Acting(NamedTuple):
    """The view in which a master acts, in which life, and since when."""

    view: int
    life: int
    since_s: float


@dataclass(slots=True)
class Order:
    """Judges what goes to copies, and to sinks, before it may."""

    stores: Stores
    sight: Sight
    links: Mapping[Key, Sequence[Key]]
    """The links of each page of the web."""
    tell: Tell
    _acting: dict[str, _Acting] = field(default_factory=dict)
    _whole: dict[tuple[str, str, int], float] = field(default_factory=dict)
    """When a holder was last told that its copies of an owner's bucket are whole: holder, owner, bucket."""

    _pauses: list[tuple[float, str, str, int, int, float]] = field(default_factory=list)
    """What hosts have asked for: when, of whom, its name, key and bucket, and for how long."""

    _tenures: dict[tuple[str, int], float] = field(default_factory=dict)
    """Since when what comes to a bucket of an owner was found while it was its own."""
    _started: dict[str, float] = field(default_factory=dict)

    def looks(self, master: str) -> None:
        """Takes down in which view a master acts; it is called with each of its transactions."""
        here = self.sight.view(master), self.sight.life(master)
        if (acting := self._acting.get(master)) is None or acting[:2] != here:
            self._acting[master] = _Acting(*here, self.sight.now_s)
            # Whoever comes to own it again, or to hold it, begins anew: meanwhile it may have been told to drop it.
            for place in [place for place in self._whole if place[1] == master and not self._is_held(place)]:
                del self._whole[place]

    def whole(self, holder: str, owner: str, buckets: Iterable[int]) -> None:
        """Takes in that a holder knows its copies to be whole."""
        for bucket in buckets:
            self._whole[holder, owner, bucket] = self.sight.now_s

    def takes(self, owner: str, buckets: Collection[int]) -> None:
        """Takes in that a master has taken over what others had of some buckets: its copies are compared anew."""
        for place in [place for place in self._whole if place[1] == owner and place[2] in buckets]:
            del self._whole[place]
        self._tenures.update(((owner, bucket), self.sight.now_s) for bucket in buckets)

    def started(self, owner: str) -> None:
        """Takes in that a master begins anew."""
        self._started[owner] = self.sight.now_s
        for place in [place for place in self._whole if place[1] == owner]:
            del self._whole[place]

    def lost(self, master: str) -> None:
        """Takes in that a disk is no more."""
        for place in [place for place in self._whole if place[0] == master]:
            del self._whole[place]

    def copied(self, holder: str, key: Key) -> None:
        """Judges a copy that says from now on that a page is done: all that it led to has its copies."""
        if phase_of(self.stores.store(holder).held.get(key, 0)) != DONE or self.sight.deleted(key[2]):
            return
        owner = self._owner_of(key)
        store = self.stores.of.get(owner)
        if store is None:
            return
        for link in self.links.get(key, ()):
            # What it held for another one, and has taken in since, it has not found.
            came_s = store.known.get(link, NEVER_S)
            # What came when the page had ended came from elsewhere, or by another page.
            if link not in store.records or came_s > store.changed.get(key, -NEVER_S):
                continue
            if lacking := next(iter(self._lacking(owner, link, came_s, 0)), "") or self._alone(owner, link, came_s):
                text = f"has a copy that says that {self.sight.name(key)} is done, and {lacking} has nothing of"
                self._tell(holder, f"{text} {self.sight.name(link)}, which {owner} has had since {came_s:.3f} s")
                return

    def goes_on(self, owner: str, key: Key, where: str) -> None:
        """Judges an imprint that goes on to its next band, be it another's: it has its copies itself, so that whoever
        inherits it knows of it (docs/duplicates.md).
        """
        store = self.stores.of.get(owner)
        if store is None or key not in store.records or self.sight.deleted(key[2]):
            return
        came_s = store.known.get(key, NEVER_S)
        if lacking := next(iter(self._lacking(owner, key, came_s, 0)), "") or self._alone(owner, key, came_s):
            self._tell(
                owner, f"lets {where} go on, which it has since {came_s:.3f} s, and of which {lacking} has nothing"
            )

    def followed(self, owner: str, finder: str, links: Iterable[Key], came_s: float) -> None:
        """Judges the word of an owner that it has links that were new to it, be it provisionally: all who follow their
        buckets have answered that they have them, also who leaves, where those that stay are too few.
        """
        store, acting = self.stores.store(owner), self._acting.get(owner)
        began_s = self._started.get(owner, 0.0)
        if acting is None or max(acting.since_s, began_s) >= came_s or acting[:2] != self._here(owner):
            return
        fellows = self.sight.fellows(owner)
        for key in links:
            bucket = self.stores.bucket_of.get(key, -1)
            is_new = store.known.get(key, -NEVER_S) >= came_s > self._tenures.get((owner, bucket), 0.0)
            if not is_new or not self.sight.in_service(owner, bucket) or self.sight.deleted(key[2]):
                continue
            for other in sorted(fellows):
                there = self.stores.of.get(other)
                if there is None or not self.sight.follows(owner, other, bucket) or self._is_excused(other, key):
                    continue
                if there.stamp(key) < 0 and there.left.get(key, (-NEVER_S, 0))[0] < came_s:
                    text = f"told {finder} that it has {self.sight.name(key)}, of which {other} has nothing"
                    self._tell(owner, f"{text}, that is to be sent all that comes to bucket {bucket}")
                    return

    def brought(self, keys: Iterable[Key]) -> None:
        """Judges items that a sink is given: the end of their page is with all who hold it."""
        for key in keys:
            owner = self._owner_of(key)
            store = self.stores.of.get(owner)
            if store is None or not phase_of(store.records[key]) or self.sight.deleted(key[2]):
                continue
            ended_s = store.changed.get(key, NEVER_S)
            # That somebody has put it into the job since is no part of its end.
            for lacking in self._lacking(owner, key, ended_s, store.records[key] & ~1):
                text = f"a sink is given the items of {self.sight.name(key)}, of whose end {lacking} has no copy"
                self.tell(f"at {self.sight.now_s:.3f} s {text}, and {owner} has it since {ended_s:.3f} s")
                return

    # -- what hosts ask for --------------------------------------------------------------------

    def noted(self, holder: str, owner: str, notes: Iterable[tuple[int, float]], came_s: float) -> None:
        """Judges the word of a holder that it has on its disk what hosts ask for, by their keys."""
        there = self.stores.store(holder).notes
        for key, pause_s in notes:
            if there.get(key, (-1.0, 0.0))[0] < came_s:
                text = f"told {owner} that it knows what a host asks, which is to be left alone for {pause_s:g} s"
                self._tell(holder, f"{text}, and its disk says nothing of it")
                return

    def paused(self, master: str, host: str, key: int, bucket: int, asked_s: float) -> None:
        """Takes in that a master has on its disk that a host asks to be left alone for a time."""
        self._pauses.append((self.sight.now_s, master, host, key, bucket, asked_s))

    def look(self) -> None:
        """Judges whether holders know what hosts have asked for a while ago."""
        now_s = self.sight.now_s
        while self._pauses and self._pauses[0][0] <= now_s - ON_ITS_WAY_S:
            since_s, owner, host, key, bucket, asked_s = self._pauses.pop(0)
            away = self.sight.away_since(since_s - ON_ITS_WAY_S)
            acting, holders = self._acting.get(owner), self.sight.holders(owner, bucket)
            if owner in away or acting is None or since_s < acting.since_s or acting[:2] != self._here(owner):
                continue
            for holder in holders[1:] if holders[:1] == (owner,) else ():
                whole_s = self._whole.get((holder, owner, bucket), NEVER_S)
                if holder in away or whole_s >= since_s or self.sight.set_back(holder):
                    continue
                written_s, pause_s = self.stores.store(holder).notes.get(key, (0.0, 0.0))
                if written_s + pause_s < since_s + asked_s - ROUNDED_S:
                    text = f"{host} asked {owner} at {since_s:.3f} s to be left alone for {asked_s:g} s"
                    self._tell(holder, f"does not know {ON_ITS_WAY_S:g} s later that {text}")
                    return

    # -- inside --------------------------------------------------------------------------------

    def _owner_of(self, key: Key) -> str:
        """Returns who has a fact as its own; "" if nobody has, or several."""
        owners = [name for name, store in self.stores.of.items() if key in store.records]
        return owners[0] if len(owners) == 1 else ""

    def _lacking(self, owner: str, key: Key, since_s: float, stamp: int) -> Iterable[str]:
        """Yields who should have known since then how far a fact is, and does not."""
        acting = self._acting.get(owner)
        if acting is None or not acting.view or since_s < acting.since_s or acting[:2] != self._here(owner):
            return
        bucket = self.stores.bucket_of[key]
        for holder in self.sight.holders(owner, bucket)[1:]:
            there: Store | None = self.stores.of.get(holder)
            if self._whole.get((holder, owner, bucket), NEVER_S) >= since_s or there is None:
                continue
            if there.stamp(key) >= stamp or self._is_excused(holder, key):
                continue
            if self.sight.view(holder) == acting.view or not self._has_let_go(there, owner, key, since_s, stamp):
                yield holder

    def _has_let_go(self, there: Store, owner: str, key: Key, since_s: float, stamp: int) -> bool:
        """Tells whether a store had as much of a fact, and has dropped it, and yet another one has it."""
        left_s, was = there.left.get(key, (-NEVER_S, UNKNOWN))
        if left_s < since_s or was < stamp:
            return False
        mine = self.stores.store(owner)
        return any(
            each.stamp(key) >= stamp for each in self.stores.of.values() if each is not there and each is not mine
        )

    def _alone(self, owner: str, link: Key, since_s: float) -> str:
        """Returns a holder that lacks a link which its owner has found by itself, and has alone; whatever the views."""
        bucket = self.stores.bucket_of[link]
        begun_s = max(self._started.get(owner, NEVER_S), self._tenures.get((owner, bucket), 0.0))
        if since_s <= begun_s or self.sight.set_back(owner):
            return ""
        others = {*self.stores.having(link), *self.stores.spooling(link)} - {owner}
        # What had its copies once was sent first, whatever became of these: when others are made is another matter.
        if others or self.stores.lately_lost(link, since_s):
            return ""
        return next(iter(self.sight.holders(owner, bucket)[1:]), "")

    def _is_held(self, place: tuple[str, str, int]) -> bool:
        """Tells whether a holder, an owner and a bucket are these by the view in which the owner acts."""
        holder, owner, bucket = place
        first, *others = self.sight.holders(owner, bucket) or ("",)
        return first == owner and holder in others

    def _here(self, master: str) -> tuple[int, int]:
        return self.sight.view(master), self.sight.life(master)

    def _is_excused(self, holder: str, key: Key) -> bool:
        return holder in self.stores.lately_lost(key, self.sight.now_s - HEARD_S) or self.sight.set_back(holder)

    def _tell(self, node: str, what: str) -> None:
        self.tell(f"at {self.sight.now_s:.3f} s {node} {what}")
