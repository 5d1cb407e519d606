"""The law of standings: they say no more than somebody has followed or was brought, and no less than it had."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from ..acknowledged import Tell
from ..standings import TURN, Standing, are_by_one, are_rivals, standing_of
from ..stores import StandingRow, Stores
from .had import Had
from .sight import Begun, Sight
from .spans import Spans, covers, is_nothing, joined, spans_of, told_of, without

T = TypeVar("T")


@dataclass(slots=True)
class Sayings:
    """Judges what disks and masters say that they have of buckets."""

    stores: Stores
    sight: Sight
    tell: Tell
    watched: set[int]
    """The buckets that are looked at."""
    _epochs: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Those that somebody has told: most numbers are no epoch's."""
    _may: dict[str, dict[int, Had]] = field(default_factory=lambda: defaultdict(dict))
    _to_drop: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Of which buckets somebody was told to drop its copies, while its disk does not say yet that it has nothing."""
    _giving: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Of which buckets somebody was told that they are taken, and has not said that it has given them up."""

    def started(self, node: str) -> None:
        """Takes in that a master begins anew, with what its disk says."""
        self._may.pop(node, None)
        self._to_drop.pop(node, None)
        self._giving.pop(node, None)

    def is_told(self, node: str, epochs: Mapping[int, Begun]) -> None:
        """Takes in that somebody is told of epochs, and of rivals with them."""
        for bucket, (epoch, _, rivals) in self._watched(epochs):
            self._giving[node].add(bucket)
            self.had(node, bucket).told.add(epoch)
            row = self.stores.store(node).standings.get(bucket)
            if rivals and (row is None or row.epoch < epoch):
                self.had(node, bucket).named[epoch] = frozenset(rivals)

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
            if row is None or standing.epoch >= epoch or is_nothing(standing_of(row)):
                continue
            # What it has said since it was told of them with the epoch that it knew counts for those.
            known = self.had(node, bucket).named.get(standing.epoch, frozenset())
            news = tuple(each for each in rivals if each not in known)
            strange = _strange(standing.epoch, Begun(epoch, since, news))
            if are_rivals(under := self.had(node, bucket).under, standing.epoch) and under > standing.epoch:
                # Of what it knew till it was told that its copies are whole under a rival it says nothing any more.
                strange.append(standing.epoch)
            spans = without(spans_of(standing), strange)
            if self.sight.follows(owner, node, bucket):
                spans = (*spans, (since, epoch))
            elif since <= 0 or covers(spans, [(since - 1, since)]):
                spans = (*spans, (min(since, epoch - 1), epoch - 1))
            wanted = joined(spans)
            self.no_less(node, bucket, spans_of(standing_of(row)), wanted, f"agreed to epoch {epoch} of {owner}, and")
            if row.epoch == epoch and self.had(node, bucket).under <= standing.epoch:
                self._has_dropped(node, bucket, strange, standing_of(row))

    def is_whole(self, node: str, epochs: Mapping[int, int]) -> None:
        """Takes in that a holder is told that its copies are whole under these epochs."""
        for bucket, epoch in self._watched(epochs):
            had = self.had(node, bucket)
            had.epoch, had.spans, had.under = max(had.epoch, epoch), joined((*had.spans, (0, epoch))), epoch
            row = self.stores.store(node).standings.get(bucket)
            if row is None or not covers(spans_of(standing_of(row)), [(0, epoch)]):
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
            self.had(node, bucket).has_nothing(epoch)
            if row is None or row.epoch < 1 or not is_nothing(standing_of(row)):
                text = "nothing" if row is None else str(tuple(row))
                self._tell(node, f"dropped bucket {bucket} at the word of {owner}, and its disk says of it {text}")
            elif was is not None and row.epoch != epoch and not is_nothing(standing_of(was)):
                text = f"dropped what it had of bucket {bucket} at the word of {owner}"
                self._tell(node, f"{text}, which serves it under epoch {epoch}, and knows of {was.epoch} only")

    def stood(self, node: str, bucket: int, before: StandingRow | None, row: StandingRow) -> None:
        """Judges what a disk says of a bucket from now on."""
        self.had(node, bucket, before)
        self.says(node, bucket, standing_of(row), "notes")
        if nothing := is_nothing(standing_of(row)):
            self._to_drop[node].discard(bucket)
        self._may[node][bucket].writes(row.epoch, is_nothing=nothing)

    def lets_go(self, master: str, claimer: str, bucket: int, standing: Standing) -> None:
        """Judges what one says that lets go of a bucket: it has of it what it says."""
        if (row := self.stores.store(master).standings.get(bucket)) is not None:
            self.says(master, bucket, standing, f"told {claimer}")
            if not (bucket in self._to_drop[master] and is_nothing(standing)):
                self.no_less(master, bucket, spans_of(standing), spans_of(standing_of(row)), f"told {claimer}")
        elif not (had := self.had(master, bucket)).epoch and not had.coming:
            # Nobody has told it of any: it began these as it was alone, and they are empty.
            had.has(standing.epoch, spans_of(standing))

    def hears(self, claimer: str, bucket: int, standing: Standing) -> None:
        """Takes in what a claimer hears that somebody has who has let go: it may have that, too, from now on."""
        self.knows_of(bucket, standing.epoch)
        had = self.had(claimer, bucket)
        had.spans = joined((*had.spans, *spans_of(standing)))
        had.heard = joined((*had.heard, *spans_of(standing)))

    def knows_of(self, bucket: int, *epochs: int) -> None:
        """Takes in epochs of which somebody speaks."""
        self._epochs[bucket].update(epochs)

    def sure(self, bucket: int, standing: Standing) -> Spans:
        """Returns the epochs that somebody has by his word: of rivals of the last one that he knows it says nothing."""
        rivals = [each for each in self._epochs[bucket] if are_rivals(each, standing.epoch)]
        return without(spans_of(standing), rivals)

    def follows(self, owner: str, other: str, bucket: int, epoch: int, since: int) -> None:
        """Takes in that somebody hears of an epoch, and is sent what comes or not."""
        last = epoch if self.sight.follows(owner, other, bucket) else epoch - 1
        self.had(other, bucket).coming.append((epoch, (min(since, last), last)))

    def says(self, node: str, bucket: int, standing: Standing, how: str) -> None:
        """Judges what somebody says to have of a bucket: no more than it may."""
        had = self.had(node, bucket)
        # What it began itself and never served is empty. Who begins one before or beside another never heard of that.
        # What it begins after that begins from its own, until it is told of the other one after all.
        unheard = {of for of, _ in had.coming if are_rivals(of, standing.epoch)} | (had.strange - had.told)
        tellings = (of for of, _ in had.coming if of <= standing.epoch and of not in unheard)
        known = max((had.epoch, *tellings))
        allowed = joined((*had.all, (known, max(known, standing.epoch))))
        spans = spans_of(standing)
        self.knows_of(bucket, standing.epoch)
        if not self._is_all(bucket, allowed, self.sure(bucket, standing)):
            text = f"{how} that of bucket {bucket} it has {told_of(spans)} up to {standing.epoch}"
            self._tell(node, f"{text}, and has followed, or was brought, {told_of(allowed)} only")
        had.strange.update(of for of in unheard if of > standing.epoch > had.epoch)
        had.has(standing.epoch, spans)

    def _is_all(self, bucket: int, spans: Spans, wanted: Spans) -> bool:
        """Tells whether all that are epochs of some spans are among those of others."""
        return covers(spans, wanted) or not any(
            before < each <= last and not covers(spans, [(each - 1, each)])
            for before, last in wanted
            for each in (*self._epochs[bucket], *range(before + 1, min(last + 1, 1 << TURN)))
        )

    def no_less(self, node: str, bucket: int, spans: Spans, wanted: Spans, how: str) -> None:
        """Judges whether somebody has all of what it has to have."""
        if not self._is_all(bucket, spans, wanted) and not self.sight.damaged():
            self._tell(node, f"{how} has of bucket {bucket} {told_of(spans)} only, of {told_of(wanted)}")

    def had(self, node: str, bucket: int, before: StandingRow | None = None) -> Had:
        """Returns the word that somebody may give on a bucket, made of what its disk says, or did before."""
        mine = self._may[node]
        if bucket not in mine:
            row = before or self.stores.store(node).standings.get(bucket)
            mine[bucket] = Had() if row is None else Had(row.epoch, spans_of(standing_of(row)))
        return mine[bucket]

    def _has_dropped(self, node: str, bucket: int, strange: Collection[int], standing: Standing) -> None:
        """Judges what a disk says of one that was told of rivals: it has nothing of those that it cannot know."""
        spans = spans_of(standing)
        if still := [each for each in strange if covers(spans, [(each - 1, each)])]:
            text = f"was told of epoch {still[0]} of bucket {bucket}, a rival of the last one that it knew"
            self._tell(node, f"{text}, and says that it has {told_of(spans)}")

    def _watched(self, of: Mapping[int, T]) -> list[tuple[int, T]]:
        return [(bucket, each) for bucket, each in of.items() if bucket in self.watched]

    def _tell(self, node: str, what: str) -> None:
        self.tell(f"at {self.sight.now_s:.3f} s {node} {what}")


def _strange(last: int, begun: Begun) -> list[int]:
    """Returns the epochs of which somebody knows nothing who is told of rivals, and knew of ``last`` until then."""
    rivals = [each for each in (begun.since, *begun.rivals) if are_rivals(each, last)]
    return rivals + [each for each in begun.rivals if each < last and are_by_one(last, begun.epoch)]
