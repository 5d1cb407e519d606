"""The rules of epochs: whose each is, and in which order masters hear of it.

An epoch of a bucket is of one owner. Who follows it hears of it before anybody hears that he lacks it, and nothing is
acknowledged under it before all have heard (docs/copies.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from .acknowledged import HEARD_S, Sight, Tell
from .standings import standing_of
from .stores import Stores, told


class Views(Sight, Protocol):
    """The harness's own knowledge of the views in which masters act, besides."""

    def holders(self, master: str, bucket: int) -> tuple[str, ...]:
        """Returns who holds a bucket by the ring, its owner first, in the view in which a master acts."""

    def fellows(self, master: str) -> frozenset[str]:
        """Returns the others that a master counts at this moment."""

    def disk_s(self, node: str) -> float:
        """Returns how long an access to a node's disk takes at this moment."""


class _Epoch(NamedTuple):
    """An epoch of a bucket that somebody has noted: whose it is, who noted it first, and when."""

    owner: str
    witness: str
    at_s: float


@dataclass(slots=True)
class Epochs:
    """Judges epochs, as masters note them."""

    stores: Stores
    sight: Views
    tell: Tell
    _begun: dict[tuple[int, int], _Epoch] = field(default_factory=dict)
    """Whose each epoch of each bucket is,"""
    _counted: dict[str, dict[tuple[int, int], frozenset[str]]] = field(default_factory=lambda: defaultdict(dict))
    """and whom its owner counted when it first told of it: who came later was not there to be told."""
    _heard: dict[str, set[tuple[int, int]]] = field(default_factory=lambda: defaultdict(set))
    """The epochs that each has ever noted; on a disk, maybe, that is lost."""

    def tells(self, owner: str, epochs: Mapping[int, int]) -> None:
        """Takes in that an owner tells somebody of epochs."""
        fellows, counted = self.sight.fellows(owner), self._counted[owner]
        for place in epochs.items():
            counted.setdefault(place, fellows)

    def lacked(self, master: str, claimer: str, epochs: dict[int, int]) -> None:
        """Judges the order in which an epoch is told: who follows it hears of it before anybody hears that he lacks
        it.
        """
        away = self.sight.away_since(self.sight.now_s - HEARD_S)
        held_by = self.sight.holders
        for bucket, epoch in epochs.items():
            # Who hears it acts in the view of the question still; who asked may be in another one by now.
            holders = held_by(master, bucket)
            if master in holders or not holders or holders[0] != claimer:
                continue
            known = self.stores.store(master).standings.get(bucket)
            if known is not None and standing_of(known).has(epoch):
                # It is sent what comes till it is gone, for those that stay are too few.
                continue
            deaf = [h for h in holders[1:] if h not in away and self._epoch_at(h, bucket) < epoch]
            if deaf and self._begins(master, claimer, (bucket, epoch)):
                text = f"heard from {claimer} that it lacks epoch {epoch} of bucket {bucket}"
                self._tell(master, f"{text} before {told(deaf)} heard of it")
                return

    def served(self, owner: str, bucket: int, epoch: int) -> None:
        """Judges an owner that acknowledges something under an epoch: all that it counts, and that were there when this
        began, have heard of that.
        """
        deaf = [other for other in self.sight.fellows(owner) if self._epoch_at(other, bucket) < epoch]
        if not deaf:
            return
        known = self._begun.get((bucket, epoch))
        began_s = self.sight.now_s if known is None else known.at_s
        counted = self._counted[owner].get((bucket, epoch), frozenset(deaf)).intersection(deaf)
        if there := counted - self.sight.away_since(began_s - HEARD_S):
            self._tell(owner, f"serves bucket {bucket} under epoch {epoch}, of which {told(there)} has not heard")

    def begun(self, witness: str, owner: str, epochs: dict[int, int]) -> None:
        """Judges the epochs under which somebody serves buckets, as another one has noted them: they are nobody
        else's, unless all were away meanwhile who knew that.
        """
        noted = _Epoch(owner, witness, self.sight.now_s)
        self._heard[witness].update(epochs.items())
        for place in epochs.items():
            known = self._begun.setdefault(place, noted)
            if known.owner == owner or {known.owner, known.witness} <= self.sight.away_since(known.at_s - HEARD_S):
                continue
            bucket, epoch = place
            text = f"has bucket {bucket} under epoch {epoch}, which was {known.owner}'s at {known.at_s:.3f} s"
            self._tell(owner, f"{text}, as {known.witness} knew")
            return

    def _begins(self, master: str, owner: str, place: tuple[int, int]) -> bool:
        """Tells whether an epoch is news to somebody, and began so lately that not all have heard of it. Of others
        whoever comes back is told anew, and those that hold them by now may have lost their disks.
        """
        counted = self._counted[owner].get(place, frozenset((master,)))
        return place not in self._heard[master] and any(place not in self._heard[other] for other in counted)

    def _epoch_at(self, node: str, bucket: int) -> int:
        row = self.stores.store(node).standings.get(bucket)
        return -1 if row is None else row.epoch

    def _tell(self, node: str, what: str) -> None:
        self.tell(f"at {self.sight.now_s:.3f} s {node} {what}")
