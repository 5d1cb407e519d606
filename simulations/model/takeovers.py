"""The rules of taking buckets over: who has to have let go, who has to have heard, and what standings come of it.

They are those of docs/copies.md and docs/overlay.md. Whoever begins an epoch has had the word of everybody in its view
that it may, in this life, and after that one took the bucket itself; and grants nothing before all have said yes. A
standing is made of what was there before: of what was joined, of the epochs that were followed or brought by a sync,
and of nothing else.

Looked at are the buckets of the web, and of all thousands one in thirty-two besides: of each the same is said.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple, Protocol, TypeVar

from .acknowledged import Sight as Machines
from .acknowledged import Tell
from .standings import TURN, Span, Standing, are_by_one, are_rivals, standing_of
from .stores import StandingRow, Stores, told

BUCKETS: Final = 4096
WATCHED: Final = 32
"""One bucket in so many is looked at, whatever is in it."""
CAME_S: Final = 1.0
"""What came no longer ago may be on its way from the copies to the records."""
AWAY_S: Final = 10.0
"""Who was away in this time may be counted by mistake, or count others so."""
Spans = tuple[Span, ...]
T = TypeVar("T")


class Sight(Machines, Protocol):
    """The harness's own knowledge of the machines, and of how they share out the buckets."""

    def others(self, master: str) -> frozenset[str]:
        """Returns the names of the other masters that take part in the view in which one acts at this moment."""

    def view(self, master: str) -> int:
        """Returns the view in which a master acts at this moment; 0 if it acts in none."""

    def follows(self, owner: str, other: str, bucket: int) -> bool:
        """Tells whether, in the view of its owner, another one is sent what is acknowledged in a bucket."""

    def owns(self, master: str, bucket: int) -> bool:
        """Tells whether a bucket is a master's own in its view."""

    def in_service(self, master: str, bucket: int) -> bool:
        """Tells whether a master serves a bucket at this moment."""

    def serves(self, master: str, bucket: int) -> bool:
        """Tells whether a master serves a bucket, or does as soon as it rests no more: while it has no consent of most,
        it goes on with what it has, and grants nothing.
        """

    def keeps(self, node: str, bucket: int) -> bool:
        """Tells whether a master need not drop what it has of a bucket: by its view it holds or owns it, or has
        something of it that its owner has not taken.
        """

    def damaged(self) -> bool:
        """Tells whether what is on a disk was ever damaged."""


class Word(NamedTuple):
    """The word of somebody that he has let go of a bucket: when it was heard, what he has of it, and when he was asked
    for it.
    """

    at_s: float
    standing: Standing | None
    asked_s: float


NEVER: Final = Word(-inf, None, -inf)


class _Rivals(NamedTuple):
    """Rivals of epochs that may have been served, of which somebody has heard in a view, and these epochs."""

    view: int
    known: frozenset[int] = frozenset()
    last: int = 0
    """The last epoch of all that it has heard of in this view."""


class Begun(NamedTuple):
    """An epoch under which a bucket goes on, and the last one before under which anything may be acknowledged."""

    epoch: int
    since: int
    rivals: tuple[int, ...] = ()
    """Epochs that were begun beside others."""


@dataclass(slots=True)
class _Beginning:
    """The telling of an epoch."""

    members: frozenset[str]
    """Who has to hear of it;"""
    goes_on: bool
    """nobody, if the bucket was served already."""
    heard: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Had:
    """The word that somebody may give on a bucket."""

    epoch: int = 0
    """The last epoch that it has noted, or said to know,"""
    spans: Spans = ()
    """those of which it may have all,"""
    coming: list[tuple[int, Span]] = field(default_factory=list)
    """and those that come with epochs of which it is told, and which its disk does not know yet."""
    whole: int = 0
    """The epoch under which it was told that its copies are whole, while its disk does not say so yet;"""
    under: int = 0
    """the last one under which it was told so."""
    heard: Spans = ()
    """What those have that have let go for it since its disk last said anything."""
    named: dict[int, frozenset[int]] = field(default_factory=dict)
    """The rivals of which it was told, by the epoch with which it was, in this life."""

    @property
    def all(self) -> Spans:
        return _joined((*self.spans, *(span for _, span in self.coming)))

    def has(self, epoch: int, spans: Spans) -> None:
        """Takes in what its disk says, or itself, up to an epoch."""
        come = [span for of, span in self.coming if of <= epoch]
        self.epoch, self.spans = max(self.epoch, epoch), _joined((*self.spans, *come, *spans))
        self.coming = [(of, span) for of, span in self.coming if of > epoch]

    def has_nothing(self, epoch: int) -> None:
        """Takes in that it has nothing up to an epoch."""
        self.spans, self.coming = (), [(of, span) for of, span in self.coming if of > epoch]
        self.whole, self.heard = 0, ()

    def writes(self, epoch: int, *, is_nothing: bool) -> None:
        """Takes in what its disk says from now on. What it wrote of the epoch may have been under way when it was told
        that its copies are whole, or heard what others have.
        """
        whole, heard = self.whole, self.heard
        if is_nothing:
            self.has_nothing(epoch)
            self.spans, self.whole = _joined((*heard, *([(0, whole)] if whole else ()))), whole
        else:
            self.whole, self.heard = 0, ()


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
    _epochs: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Those that somebody has told: most numbers are no epoch's."""
    _may: dict[str, dict[int, _Had]] = field(default_factory=lambda: defaultdict(dict))
    _to_drop: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Of which buckets somebody was told to drop its copies, while its disk does not say yet that it has nothing."""
    _giving: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Of which buckets somebody was told that they are taken, and has not said that it has given them up."""
    _rivals: dict[tuple[str, int], _Rivals] = field(default_factory=dict)
    """What somebody has heard of epochs beside each other."""

    def started(self, node: str) -> None:
        """Takes in that a master begins anew, with what its disk says."""
        for parties in [parties for parties in self._let_go if parties[0] == node]:
            del self._let_go[parties]
        for known in self._begun, self._untold, self._given, self._joining, self._rivals:
            for place in [place for place in known if place[0] == node]:
                del known[place]
        self._may.pop(node, None)
        self._to_drop.pop(node, None)
        self._giving.pop(node, None)

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
            self._epochs[bucket].add(standing.epoch)
            self._hears_of_rival(claimer, bucket, standing.epoch)
            had = self._had(claimer, bucket)
            had.spans = _joined((*had.spans, *_spans_of(standing)))
            had.heard = _joined((*had.heard, *_spans_of(standing)))

    def begins(self, owner: str, other: str, epochs: Mapping[int, Begun], view: int) -> None:
        """Judges the word of an owner under which epochs it goes on, as one other is told of it, in a view."""
        others = self.sight.others(owner)
        for bucket, (epoch, since, rivals) in self._watched(epochs):
            self._epochs[bucket].update((epoch, since, *rivals))
            begun, row = self._begun[owner, bucket], self.stores.store(owner).standings.get(bucket)
            if row is None or row.epoch < epoch:
                self._tell(owner, f"tells {other} of epoch {epoch} of bucket {bucket}, which is not on its disk")
            if epoch not in begun:
                goes_on = self.sight.serves(owner, bucket)
                begun[epoch] = _Beginning(others, goes_on)
                self._names_rivals(owner, bucket, epochs[bucket])
                if not goes_on:
                    self._is_free(owner, bucket, Begun(epoch, since), others, view)
            self._untold.pop((owner, bucket), None)
            self._took_s[owner, bucket] = self.sight.now_s
            self._follows(owner, other, bucket, epoch, since)
            self._has_joined(owner, other, bucket)

    def is_heard(self, owner: str, other: str, epochs: Mapping[int, Begun]) -> None:
        """Takes in that an owner hears from another one that it has noted these epochs."""
        for bucket, (epoch, *_) in self._watched(epochs):
            if (known := self._begun[owner, bucket].get(epoch)) is not None:
                known.heard.add(other)

    def lets_go(self, master: str, claimer: str, standings: Mapping[int, Standing]) -> None:
        """Judges the word of one that lets go of buckets: they are not its own, and it has of them what it says."""
        for bucket, standing in self._watched(standings):
            if self.sight.owns(master, bucket):
                self._tell(master, f"lets {claimer} have bucket {bucket}, which is its own in its view")
            self._given[master, bucket] = standing.epoch
            if (row := self.stores.store(master).standings.get(bucket)) is not None:
                self._says(master, bucket, standing, f"told {claimer}")
                if not (bucket in self._to_drop[master] and _is_nothing(standing)):
                    self._no_less(master, bucket, _spans_of(standing), _spans_of(standing_of(row)), f"told {claimer}")
            elif not (had := self._had(master, bucket)).epoch and not had.coming:
                # Nobody has told it of any: it began these as it was alone, and they are empty.
                had.has(standing.epoch, _spans_of(standing))

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

    # -- what standings say --------------------------------------------------------------------

    def is_told(self, node: str, epochs: Mapping[int, Begun]) -> None:
        """Takes in that somebody is told of epochs, and of rivals with them."""
        for bucket, (epoch, _, rivals) in self._watched(epochs):
            self._giving[node].add(bucket)
            row = self.stores.store(node).standings.get(bucket)
            if rivals and (row is None or row.epoch < epoch):
                self._had(node, bucket).named[epoch] = frozenset(rivals)

    def notes(
        self, node: str, owner: str, epochs: Mapping[int, Begun], before: Mapping[int, StandingRow | None], view: int
    ) -> None:
        """Judges the yes of one that hears of epochs; ``before``: what its disk said when it did, in this view."""
        self._giving[node].difference_update(epochs)
        if not view == self.sight.view(node) == self.sight.view(owner):
            # By its own it may be one that follows them, or not, as it was when it was told.
            return
        for bucket, (epoch, since, rivals) in self._watched(epochs):
            had, row = before.get(bucket), self.stores.store(node).standings.get(bucket)
            standing = Standing(0) if had is None else standing_of(had)
            if row is None or standing.epoch >= epoch or _is_nothing(standing_of(row)):
                continue
            # What it has said since it was told of them with the epoch that it knew counts for those.
            known = self._had(node, bucket).named.get(standing.epoch, frozenset())
            news = tuple(each for each in rivals if each not in known)
            strange = _strange(standing.epoch, Begun(epoch, since, news))
            if are_rivals(under := self._had(node, bucket).under, standing.epoch) and under > standing.epoch:
                # Of what it knew till it was told that its copies are whole under a rival it says nothing any more.
                strange.append(standing.epoch)
            spans = _without(_spans_of(standing), strange)
            if self.sight.follows(owner, node, bucket):
                spans = (*spans, (since, epoch))
            elif since <= 0 or _covers(spans, [(since - 1, since)]):
                spans = (*spans, (min(since, epoch - 1), epoch - 1))
            wanted = _joined(spans)
            self._no_less(node, bucket, _spans_of(standing_of(row)), wanted, f"agreed to epoch {epoch} of {owner}, and")
            if row.epoch == epoch and self._had(node, bucket).under <= standing.epoch:
                self._has_dropped(node, bucket, strange, standing_of(row))

    def is_whole(self, node: str, epochs: Mapping[int, int]) -> None:
        """Takes in that a holder is told that its copies are whole under these epochs."""
        for bucket, epoch in self._watched(epochs):
            had = self._had(node, bucket)
            had.epoch, had.spans, had.under = max(had.epoch, epoch), _joined((*had.spans, (0, epoch))), epoch
            row = self.stores.store(node).standings.get(bucket)
            if row is None or not _covers(_spans_of(standing_of(row)), [(0, epoch)]):
                had.whole = epoch

    def is_to_drop(self, node: str, buckets: Iterable[int]) -> frozenset[int]:
        """Takes in that somebody is told to drop its copies: from now on it has nothing of them by its word, and by its
        disk as soon as that has noted it. Returns those that it may keep: it is just giving them up.
        """
        self._to_drop[node].update(self.watched.intersection(buckets))
        return frozenset(self._giving[node].intersection(buckets))

    def has_answered(self, node: str, buckets: Iterable[int]) -> None:
        """Takes in that somebody has dropped its copies, or has said that it does not."""
        self._to_drop[node].difference_update(buckets)

    def drops(
        self,
        node: str,
        owner: str,
        epochs: Mapping[int, int],
        before: Mapping[int, StandingRow | None],
        giving: Collection[int] = (),
    ) -> None:
        """Judges the yes of one that is told to drop its copies, under these epochs: it has heard of them, or has
        nothing, and its disk says so. ``before``: what that said when the word came; ``giving``: what it was giving up
        then, and drops when it is told again.
        """
        for bucket, epoch in self._watched(epochs):
            if bucket in giving or self.sight.keeps(node, bucket):
                continue
            row, was = self.stores.store(node).standings.get(bucket), before.get(bucket)
            self._had(node, bucket).has_nothing(epoch)
            if row is None or row.epoch < 1 or not _is_nothing(standing_of(row)):
                text = "nothing" if row is None else str(tuple(row))
                self._tell(node, f"dropped bucket {bucket} at the word of {owner}, and its disk says of it {text}")
            elif was is not None and row.epoch != epoch and not _is_nothing(standing_of(was)):
                text = f"dropped what it had of bucket {bucket} at the word of {owner}"
                self._tell(node, f"{text}, which serves it under epoch {epoch}, and knows of {was.epoch} only")

    def stood(self, node: str, bucket: int, before: StandingRow | None, row: StandingRow) -> None:
        """Judges what a disk says of a bucket from now on."""
        if bucket in self.watched:
            self._had(node, bucket, before)
            if before is not None and before.epoch < row.epoch and self.sight.serves(node, bucket):
                self.joins(node, bucket)
            if before is None or before.epoch < row.epoch:
                self._untold.pop((node, bucket), None)
                begins = self.sight.owns(node, bucket) and not self.sight.serves(node, bucket)
                if begins and self.sight.others(node):
                    self._untold[node, bucket] = row.epoch
            self._says(node, bucket, standing_of(row), "notes")
            if is_nothing := _is_nothing(standing_of(row)):
                self._to_drop[node].discard(bucket)
            self._may[node][bucket].writes(row.epoch, is_nothing=is_nothing)

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
        row = self.stores.store(owner).standings.get(bucket)
        if row is not None and not self.sight.damaged():
            wanted = _joined([span for standing in heard for span in self._sure(bucket, standing)])
            self._no_less(owner, bucket, _spans_of(standing_of(row)), wanted, what)
        self._has_its_copies(owner, bucket, what)

    def _hears_of_rival(self, claimer: str, bucket: int, epoch: int) -> None:
        """Takes in that a claimer hears of a rival of the last epoch that it knows: of one that it has served, or that
        was another's. One that it has begun in vain is empty, whether it has told somebody of it or nobody.
        """
        row, place = self.stores.store(claimer).standings.get(bucket), (claimer, bucket)
        view, heard = self.sight.view(claimer), self._rivals.get(place)
        if heard is None or heard.view != view:
            heard = _Rivals(view)
        known = heard.known
        mine = 0 if row is None else row.epoch
        in_vain = mine in self._begun[place] or self._untold.get(place) == mine
        is_empty = in_vain and self._served[bucket].get(mine) != claimer
        if are_rivals(epoch, mine) and not is_empty:
            known |= {epoch, mine}
        self._rivals[place] = _Rivals(view, known, max(heard.last, epoch))

    def _names_rivals(self, owner: str, bucket: int, begun: Begun) -> None:
        """Judges what an owner says of a new epoch: it names the rivals that it has heard of, and what it knew beside
        them. Who has heard of one only cannot have what came under the other.
        """
        heard = self._rivals.get((owner, bucket))
        if heard is None or not heard.known or begun.epoch <= max(heard.known):
            return
        del self._rivals[owner, bucket]
        unnamed = heard.known.difference((begun.since, *begun.rivals))
        # Who knows of a later turn has joined them before.
        if unnamed and heard.last <= max(heard.known) and heard.view == self.sight.view(owner):
            text = f"begins epoch {begun.epoch} of bucket {bucket}, and does not say that {min(unnamed)}"
            self._tell(owner, f"{text} had a rival, though it knew of one and has heard of the other")

    def _has_dropped(self, node: str, bucket: int, strange: Collection[int], standing: Standing) -> None:
        """Judges what a disk says of one that was told of rivals: it has nothing of those that it cannot know."""
        spans = _spans_of(standing)
        if still := [each for each in strange if _covers(spans, [(each - 1, each)])]:
            text = f"was told of epoch {still[0]} of bucket {bucket}, a rival of the last one that it knew"
            self._tell(node, f"{text}, and says that it has {_told(spans)}")

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
            here = self._sure(bucket, standing_of(row))
            self._no_less(owner, bucket, here, self._sure(bucket, standing), f"goes on with what {other} had, too, and")

    def _has_its_copies(self, owner: str, bucket: int, what: str) -> None:
        """Judges whether what somebody held of a bucket that it begins to serve is among its own."""
        store, since_s = self.stores.store(owner), self.sight.now_s - CAME_S
        for key, stamp in store.held.items():
            if self.stores.bucket_of[key] != bucket or store.records.get(key, -1) >= stamp:
                continue
            if store.came.get(key, 0.0) < since_s and not self.sight.deleted(key[2]) and not self.sight.damaged():
                self._tell(owner, f"{what}, and has {self.sight.name(key)} as a copy still, not as its own")
                return

    def _sure(self, bucket: int, standing: Standing) -> Spans:
        """Returns the epochs that somebody has by his word: of rivals of the last one that he knows it says nothing."""
        rivals = [each for each in self._epochs[bucket] if are_rivals(each, standing.epoch)]
        return _without(_spans_of(standing), rivals)

    def _follows(self, owner: str, other: str, bucket: int, epoch: int, since: int) -> None:
        """Takes in that somebody hears of an epoch, and is sent what comes or not."""
        last = epoch if self.sight.follows(owner, other, bucket) else epoch - 1
        self._had(other, bucket).coming.append((epoch, (min(since, last), last)))

    def _says(self, node: str, bucket: int, standing: Standing, how: str) -> None:
        """Judges what somebody says to have of a bucket: no more than it may."""
        had = self._had(node, bucket)
        # What it began itself and never served is empty. Who begins one before or beside another never heard of that.
        told = (of for of, _ in had.coming if of <= standing.epoch and not are_rivals(of, standing.epoch))
        known = max((had.epoch, *told))
        allowed = _joined((*had.all, (known, max(known, standing.epoch))))
        spans = _spans_of(standing)
        self._epochs[bucket].add(standing.epoch)
        if not self._is_all(bucket, allowed, self._sure(bucket, standing)):
            text = f"{how} that of bucket {bucket} it has {_told(spans)} up to {standing.epoch}"
            self._tell(node, f"{text}, and has followed, or was brought, {_told(allowed)} only")
        had.has(standing.epoch, spans)

    def _is_all(self, bucket: int, spans: Spans, wanted: Spans) -> bool:
        """Tells whether all that are epochs of some spans are among those of others."""
        return _covers(spans, wanted) or not any(
            before < each <= last and not _covers(spans, [(each - 1, each)])
            for before, last in wanted
            for each in (*self._epochs[bucket], *range(before + 1, min(last + 1, 1 << TURN)))
        )

    def _no_less(self, node: str, bucket: int, spans: Spans, wanted: Spans, how: str) -> None:
        if not self._is_all(bucket, spans, wanted) and not self.sight.damaged():
            self._tell(node, f"{how} has of bucket {bucket} {_told(spans)} only, of {_told(wanted)}")

    def _had(self, node: str, bucket: int, before: StandingRow | None = None) -> _Had:
        mine = self._may[node]
        if bucket not in mine:
            row = before or self.stores.store(node).standings.get(bucket)
            mine[bucket] = _Had() if row is None else _Had(row.epoch, _spans_of(standing_of(row)))
        return mine[bucket]

    def _watched(self, of: Mapping[int, T]) -> list[tuple[int, T]]:
        return [(bucket, each) for bucket, each in of.items() if bucket in self.watched]

    def _tell(self, node: str, what: str) -> None:
        self.tell(f"at {self.sight.now_s:.3f} s {node} {what}")


def _spans_of(standing: Standing) -> Spans:
    """Returns the epochs of which all is there: behind the first of each pair, up to the second."""
    if not standing.lack:
        return ((0, standing.epoch),)
    return _joined(((0, standing.base), *standing.pieces, (standing.lack, standing.epoch)))


def _without(spans: Iterable[Span], epochs: Iterable[int]) -> Spans:
    """Returns what is left of spans without some epochs."""
    left = list(spans)
    for epoch in epochs:
        left = [
            part
            for before, last in left
            for part in (((before, epoch - 1), (epoch, last)) if before < epoch <= last else ((before, last),))
        ]
    return tuple(span for span in left if span[0] < span[1])


def _strange(last: int, begun: Begun) -> list[int]:
    """Returns the epochs of which somebody knows nothing who is told of rivals, and knew of ``last`` until then."""
    rivals = [each for each in (begun.since, *begun.rivals) if are_rivals(each, last)]
    return rivals + [each for each in begun.rivals if each < last and are_by_one(last, begun.epoch)]


def _is_nothing(standing: Standing) -> bool:
    return bool(standing.lack) and not any(before < last for before, last in _spans_of(standing))


def _joined(spans: Iterable[Span]) -> Spans:
    """Returns spans in order, those that meet as one."""
    joined: list[Span] = []
    for before, last in sorted(span for span in spans if span[0] < span[1]):
        if joined and before <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((before, last))
    return tuple(joined)


def _covers(spans: Spans, wanted: Iterable[Span]) -> bool:
    """Tells whether all epochs of some spans are among those of others, which are joined."""
    return all(
        before >= last or any(first <= before and last <= end for first, end in spans) for before, last in wanted
    )


def _told(spans: Spans) -> str:
    return " and ".join(f"{before + 1} to {last}" for before, last in spans) or "nothing"
