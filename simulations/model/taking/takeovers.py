"""The rules of taking buckets over: who has to have let go, who has to have heard, and what standings come of it.

They are those of docs/copies.md and docs/overlay.md. Whoever begins an epoch has had the word of everybody in its view
that it may, in this life, and after that one took the bucket itself; and grants nothing before all have said yes. A
standing is made of what was there before: of what was joined, of the epochs that were followed or brought by a sync,
and of nothing else.

Looked at are the buckets of the web, and of all thousands one in thirty-two besides: of each the same is said.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final, TypeVar

from ..acknowledged import Tell
from ..standings import Standing, standing_of
from ..stores import StandingRow, Stores, told
from .rivals import Rivals
from .sayings import Sayings
from .sight import NEVER, Begun, Sight, Word
from .spans import joined, spans_of

BUCKETS: Final = 4096
WATCHED: Final = 32
"""One bucket in so many is looked at, whatever is in it."""
CAME_S: Final = 1.0
"""What came no longer ago may be on its way from the copies to the records."""
AWAY_S: Final = 10.0
"""Who was away in this time may be counted by mistake, or count others so."""
T = TypeVar("T")


@dataclass(slots=True)
class _Beginning:
    """The telling of an epoch."""

    members: frozenset[str]
    """Who has to hear of it;"""
    goes_on: bool
    """nobody, if the bucket was served already."""
    at_s: float = 0.0
    heard: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Takeovers:
    """Judges how buckets are taken over, and what is said of their epochs."""

    stores: Stores
    sight: Sight
    tell: Tell
    joins: Callable[[str, int], None] = lambda owner, bucket: None
    """Is told of an owner that goes on with a bucket under another epoch, for it has joined what somebody had of it."""
    watched: set[int] = field(default_factory=lambda: set(range(0, BUCKETS, WATCHED)))
    """The buckets that are looked at."""
    _let_go: dict[tuple[str, str], dict[int, Word]] = field(default_factory=lambda: defaultdict(dict))
    """What a claimer has heard of somebody who has let go, by bucket."""
    _joining: dict[tuple[str, int], set[str]] = field(default_factory=lambda: defaultdict(set))
    """Who has let go of a bucket that is served already, and was not told yet that all he had is there."""
    _took_s: dict[tuple[str, int], float] = field(default_factory=dict)
    """When somebody last told others that it takes a bucket."""
    _begun: dict[tuple[str, int], dict[int, _Beginning]] = field(default_factory=lambda: defaultdict(dict))
    """What somebody tells of a bucket, by epoch: some may hear of the last one while others hear of the one before."""
    _untold: dict[tuple[str, int], int] = field(default_factory=dict)
    """The epochs that somebody has written down, with others there, and told nobody of yet."""
    _given: dict[tuple[str, int], int] = field(default_factory=dict)
    """The epoch that somebody knew of a bucket when it last let go of it."""
    _served: dict[int, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    """The epochs of each bucket under which something was granted, and whose they are."""
    _told_s: dict[tuple[str, int], float] = field(default_factory=dict)
    """When somebody was last told of an epoch of another one."""
    sayings: Sayings = field(init=False)
    """Judges what is said of them."""
    _rivals: Rivals = field(init=False)

    def __post_init__(self) -> None:
        self.sayings = Sayings(self.stores, self.sight, self.tell, self.watched)
        self._rivals = Rivals(self.sight, self.tell)

    def started(self, node: str) -> None:
        """Takes in that a master begins anew, with what its disk says."""
        for parties in [parties for parties in self._let_go if parties[0] == node]:
            del self._let_go[parties]
        for known in self._begun, self._untold, self._given, self._joining:
            for place in [place for place in known if place[0] == node]:
                del known[place]
        self._rivals.started(node)
        self.sayings.started(node)

    def go_on(self, owner: str, buckets: Iterable[int]) -> bool:
        """Tells whether an owner serves any of these all along, and tells of no epoch that begins."""
        return any(self.sight.serves(owner, bucket) for bucket in buckets)

    def word(self, claimer: str, giver: str, bucket: int) -> Word:
        """Returns what a claimer has heard last of one that let go of a bucket."""
        return self._let_go.get((claimer, giver), {}).get(bucket, NEVER)

    # -- who has to let go, and to hear --------------------------------------------------------

    def hears(self, claimer: str, giver: str, standings: Mapping[int, Standing], asked_s: float) -> None:
        """Takes in that a claimer hears from one that has let go, as it was asked at that moment."""
        now_s = self.sight.now_s
        for bucket, standing in self._watched(standings):
            self._let_go[claimer, giver][bucket] = Word(now_s, standing, asked_s)
            if self.sight.serves(claimer, bucket):
                self._joining[claimer, bucket].add(giver)
            self._hears_of_rival(claimer, bucket, standing.epoch)
            self.sayings.hears(claimer, bucket, standing)

    def begins(self, owner: str, other: str, epochs: Mapping[int, Begun], view: int) -> None:
        """Judges the word of an owner under which epochs it goes on, as one other is told of it, in a view."""
        others = self.sight.others(owner)
        for bucket, (epoch, since, rivals) in self._watched(epochs):
            self.sayings.knows_of(bucket, epoch, since, *rivals)
            begun, row = self._begun[owner, bucket], self.stores.store(owner).standings.get(bucket)
            if row is None or row.epoch < epoch:
                self._tell(owner, f"tells {other} of epoch {epoch} of bucket {bucket}, which is not on its disk")
            if epoch not in begun:
                goes_on = self.sight.serves(owner, bucket)
                begun[epoch] = _Beginning(others, goes_on, self.sight.now_s)
                self._rivals.names(owner, bucket, epochs[bucket])
                if not goes_on:
                    self._is_free(owner, bucket, Begun(epoch, since), others, view)
            self._untold.pop((owner, bucket), None)
            self._took_s[owner, bucket] = self.sight.now_s
            self.sayings.follows(owner, other, bucket, epoch, since)
            self._has_joined(owner, other, bucket)

    def is_heard(self, owner: str, other: str, epochs: Mapping[int, Begun]) -> None:
        """Takes in that an owner hears from another one that it has noted these epochs."""
        for bucket, (epoch, *_) in self._watched(epochs):
            if (known := self._begun[owner, bucket].get(epoch)) is not None:
                known.heard.add(other)

    def is_told(self, node: str, epochs: Mapping[int, Begun]) -> None:
        """Takes in that somebody is told of epochs of another one."""
        self._told_s.update(((node, bucket), self.sight.now_s) for bucket, _ in self._watched(epochs))
        self.sayings.is_told(node, epochs)

    def serves(self, owner: str, buckets: Iterable[int]) -> None:
        """Judges an owner that serves buckets from now on, under the epochs on its disk: all others have heard of
        these.
        """
        others = self.sight.others(owner)
        for bucket in self.watched.intersection(buckets) if others else ():
            row = self.stores.store(owner).standings.get(bucket)
            known = None if row is None else self._begun[owner, bucket].get(row.epoch)
            unheard = others if known is None else (known.members & others) - known.heard
            if row is not None and unheard:
                text = f"serves bucket {bucket} under epoch {row.epoch}"
                self._tell(owner, f"{text}, of which {told(unheard)} has not said to have heard")
                return

    def lets_go(self, master: str, claimer: str, standings: Mapping[int, Standing]) -> None:
        """Judges the word of one that lets go of buckets: they are not its own, and it has of them what it says."""
        for bucket, standing in self._watched(standings):
            if self.sight.owns(master, bucket):
                self._tell(master, f"lets {claimer} have bucket {bucket}, which is its own in its view")
            self._given[master, bucket] = standing.epoch
            self.sayings.lets_go(master, claimer, bucket, standing)

    def grants(self, master: str, buckets: Iterable[int]) -> None:
        """Judges pages of buckets that a slave is given: all have heard of the epoch, nobody else serves them, and
        nobody was let have them under that epoch, who may have everything, and say so.
        """
        others = self.sight.others(master)
        for bucket in self.watched.intersection(buckets):
            row = self.stores.store(master).standings.get(bucket)
            known = None if row is None else self._begun[master, bucket].get(row.epoch)
            if row is not None and known is not None and not known.goes_on and (unheard := known.members - known.heard):
                text = f"grants from bucket {bucket} under epoch {row.epoch}"
                self._tell(master, f"{text}, of which {told(unheard)} has not said to have heard")
            if row is not None and self._untold.get((master, bucket)) == row.epoch:
                self._tell(master, f"grants from bucket {bucket} under epoch {row.epoch}, of which it has told nobody")
            if row is not None and self._given.get((master, bucket)) == row.epoch:
                text = f"grants from bucket {bucket} under epoch {row.epoch}"
                self._tell(master, f"{text}, under which it has let another one have it since")
            if row is not None:
                self._served[bucket][row.epoch] = master
            away = self.sight.away_since(self.sight.now_s - AWAY_S)
            for other in sorted(others - away if master not in away else ()):
                if self.sight.in_service(other, bucket) and master in self.sight.others(other):
                    self._tell(master, f"grants from bucket {bucket}, which {other} serves at the same time")

    def stood(self, node: str, bucket: int, before: StandingRow | None, row: StandingRow) -> None:
        """Takes in what a disk says of a bucket from now on, and judges it."""
        if bucket in self.watched:
            if before is None or before.epoch < row.epoch:
                self._knows(node, bucket, row.epoch, is_first=before is None)
            self.sayings.stood(node, bucket, before, row)

    def leaves(self, master: str) -> None:
        """Judges the word of one that it goes: it has nothing of what is acknowledged from now on."""
        others = self.sight.others(master)
        for bucket, row in self.stores.store(master).standings.items():
            if bucket not in self.watched or not (served := self._served.get(bucket)):
                continue
            epoch = max(served)
            if served[epoch] in others and row.epoch == epoch and standing_of(row).has(epoch):
                text = f"says that it has left, and its disk that it has all of epoch {epoch} of bucket {bucket}"
                self._tell(master, f"{text}, under which {served[epoch]} goes on")
                return

    # -- inside --------------------------------------------------------------------------------

    def _is_free(self, owner: str, bucket: int, begun: Begun, others: frozenset[str], view: int) -> None:
        """Judges an epoch that begins: all have let go, and what they had is joined."""
        epoch, since, _ = begun
        what = f"begins epoch {epoch} of bucket {bucket}"
        heard: list[Standing] = []
        for other in sorted(others):
            at_s, standing, _ = self.word(owner, other, bucket)
            if standing is None:
                self._tell(owner, f"{what}, which {other} has not let go of")
                continue
            # Who acts in another view by now is asked in vain: it says no.
            if at_s < self._took_s.get((other, bucket), -1.0) and self.sight.view(other) == view:
                self._tell(owner, f"{what}, which {other} has taken since it let go of it")
            heard.append(standing)
        if beyond := [standing.epoch for standing in heard if standing.epoch >= epoch]:
            self._tell(owner, f"{what}, and was told of epoch {max(beyond)}")
        known = max((standing.epoch for standing in heard), default=0)
        served = (each for each in self._served[bucket] if each < epoch and each <= known)
        last = max(served, default=0)
        if since < last:
            self._tell(owner, f"{what}, says that nothing was acknowledged behind {since}, and {last} was served")
        self._is_no_try(owner, bucket, begun, what)
        row = self.stores.store(owner).standings.get(bucket)
        if row is not None and not self.sight.damaged():
            wanted = joined([span for standing in heard for span in self.sayings.sure(bucket, standing)])
            self.sayings.no_less(owner, bucket, spans_of(standing_of(row)), wanted, what)
        self._has_its_copies(owner, bucket, what)

    def _is_no_try(self, owner: str, bucket: int, begun: Begun, what: str) -> None:
        """Judges what an owner says to have been served before: not what it began itself, and served never, for not all
        have heard of that. Who missed such an epoch lacks nothing.
        """
        tried = self._begun[owner, bucket].get(begun.since)
        if tried is None or begun.since == begun.epoch or tried.goes_on or not (unheard := tried.members - tried.heard):
            return
        if self._served[bucket].get(begun.since) != owner and self._told_s.get((owner, bucket), -inf) < tried.at_s:
            text = f"says that something may have been acknowledged under {begun.since}"
            self._tell(owner, f"{what}, {text}, which it began itself, and of which {told(unheard)} has not heard")

    def _knows(self, node: str, bucket: int, epoch: int, *, is_first: bool) -> None:
        """Takes in that a disk says of an epoch that it did not know; ``is_first``: it knew of none."""
        serves = self.sight.serves(node, bucket)
        if serves and not is_first:
            self.joins(node, bucket)
        self._untold.pop((node, bucket), None)
        if self.sight.owns(node, bucket) and not serves and self.sight.others(node):
            self._untold[node, bucket] = epoch

    def _hears_of_rival(self, claimer: str, bucket: int, epoch: int) -> None:
        """Takes in that a claimer hears of an epoch: what it has begun itself in vain is empty."""
        row, place = self.stores.store(claimer).standings.get(bucket), (claimer, bucket)
        mine = 0 if row is None else row.epoch
        in_vain = mine in self._begun[place] or self._untold.get(place) == mine
        is_empty = in_vain and self._served[bucket].get(mine) != claimer
        self._rivals.hears(claimer, bucket, epoch, mine, is_empty=is_empty)

    def _has_joined(self, owner: str, other: str, bucket: int) -> None:
        """Judges whether a disk says that all is there which one had that lets go of a bucket that is served all along,
        as he is told so: he is about to note that he lacks the rest.
        """
        joining = self._joining[owner, bucket]
        # What another one had, who has let go at the same time, may be on its way.
        is_all = joining == {other} and self.sight.serves(owner, bucket)
        joining.discard(other)
        row, (_, standing, _) = self.stores.store(owner).standings.get(bucket), self.word(owner, other, bucket)
        if is_all and row is not None and standing is not None:
            here = self.sayings.sure(bucket, standing_of(row))
            self.sayings.no_less(
                owner, bucket, here, self.sayings.sure(bucket, standing), f"goes on with what {other} had, too, and"
            )

    def _has_its_copies(self, owner: str, bucket: int, what: str) -> None:
        """Judges whether what somebody held of a bucket that it begins to serve is among its own."""
        store, since_s = self.stores.store(owner), self.sight.now_s - CAME_S
        for key, stamp in store.held.items():
            if self.stores.bucket_of[key] != bucket or store.records.get(key, -1) >= stamp:
                continue
            if store.came.get(key, 0.0) < since_s and not self.sight.deleted(key[2]) and not self.sight.damaged():
                self._tell(owner, f"{what}, and has {self.sight.name(key)} as a copy still, not as its own")
                return

    def _watched(self, of: Mapping[int, T]) -> list[tuple[int, T]]:
        return [(bucket, each) for bucket, each in of.items() if bucket in self.watched]

    def _tell(self, node: str, what: str) -> None:
        self.tell(f"at {self.sight.now_s:.3f} s {node} {what}")
