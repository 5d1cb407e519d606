"""The rule of a good-bye in order: whoever says that it has left, and handed everything over, was told of each bucket
by its owner, in the very view in which it goes, that others have what they should, after that one took it last.

That nothing is its own any more is no proof: who took a bucket from it has the only copy till it has made others, and
may die meanwhile; and owners of an earlier view have said nothing of what others own by now (docs/copies.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Final, Protocol

from ..acknowledged import Tell

LATE_S: Final = 1.0
"""Who has seen that others have everything goes so much later at most,"""
WAITS_S: Final = 9.0
"""For so long an answer is waited for, at least;"""
ACCESSES: Final = 3
"""and so many accesses to its disk: a view that it came to meanwhile it need not heed."""


class Sight(Protocol):
    """The harness's own knowledge of the machines, and of how they share out the buckets."""

    @property
    def now_s(self) -> float: ...

    def view(self, master: str) -> int:
        """Returns the view in which a master acts at this moment; 0 if it acts in none."""

    def others(self, master: str) -> frozenset[str]:
        """Returns the names of the other masters that take part in the view in which one acts at this moment."""

    def holders(self, master: str, bucket: int) -> tuple[str, ...]:
        """Returns who holds a bucket by the ring, its owner first, in the view in which a master acts."""

    def away_since(self, since_s: float) -> frozenset[str]:
        """Returns the masters to which anything has happened since then, and those to which it happens still."""

    def disk_s(self, node: str) -> float:
        """Returns how long an access to a node's disk takes at this moment."""


@dataclass(slots=True)
class _Master:
    """The word of others to one master, in one life of it."""

    since_s: float = -inf
    """Since when it acts in its view."""
    view: int = 0
    """The view in which it was told of these buckets that others have them."""
    safe: set[int] = field(default_factory=set)
    voided: list[tuple[float, frozenset[int]]] = field(default_factory=list)
    """Of these: those that others took after that, and when: who is about to go may not heed it any more."""
    asked: dict[tuple[str, int], tuple[int, frozenset[int]]] = field(default_factory=dict)
    """What owners have told it, and it has not answered: an answer that nobody can hear any more does not leave."""
    telling: dict[tuple[str, int], float] = field(default_factory=dict)
    """The links that it has told others of, which have not answered: to whom, under which number, and when."""


@dataclass(slots=True)
class Farewells:
    """Judges good-byes."""

    sight: Sight
    watched: Collection[int]
    """The buckets that are looked at."""
    tell: Tell
    _masters: dict[str, _Master] = field(default_factory=dict)

    def started(self, master: str) -> None:
        """Takes in that a master begins anew."""
        self._masters.pop(master, None)

    def acts(self, master: str) -> None:
        """Takes in that a master comes to a view."""
        self._of(master).since_s = self.sight.now_s

    def is_asked(self, master: str, owner: str, number: int, buckets: Iterable[int]) -> None:
        """Takes in that an owner tells a master that others have these buckets."""
        self._of(master).asked[owner, number] = self.sight.view(master), frozenset(buckets)

    def answers(self, master: str, owner: str, number: int) -> None:
        """Takes in that a master says yes or no to that."""
        self._of(master).asked.pop((owner, number), None)

    def confirms(self, master: str, owner: str, buckets: Iterable[int]) -> None:
        """Takes in that a master says yes to an owner that tells it that others have these buckets."""
        known, view = self._of(master), self.sight.view(master)
        if known.view != view:
            known.view = view
            known.safe.clear()
            known.voided.clear()
        known.safe.update(b for b in buckets if b in self.watched and self.sight.holders(master, b)[:1] == (owner,))

    def is_taken(self, master: str, buckets: Collection[int]) -> None:
        """Takes in that a master hears that another one has taken these: that one has them, and maybe nobody else."""
        known = self._of(master)
        known.voided.append((self.sight.now_s, frozenset(known.safe.intersection(buckets))))
        known.safe.difference_update(buckets)

    def tells(self, master: str, other: str, number: int) -> None:
        """Takes in that a master tells another one of links."""
        self._of(master).telling[other, number] = self.sight.now_s

    def is_answered(self, master: str, other: str, number: int) -> None:
        """Takes in that it is answered."""
        self._of(master).telling.pop((other, number), None)

    def leaves(self, master: str) -> None:
        """Judges the word of one that it goes, and has handed everything over."""
        known, now_s = self._of(master), self.sight.now_s
        late_s = now_s - LATE_S - ACCESSES * self.sight.disk_s(master)
        if not self.sight.others(master) or known.since_s > late_s:
            return
        view = self.sight.view(master)
        unsaid = set(self.watched) - (known.safe if known.view == view else set())
        if known.view == view:
            unsaid -= {bucket for at_s, buckets in known.voided if at_s > late_s for bucket in buckets}
        unsaid -= {bucket for seen_in, buckets in known.asked.values() if seen_in == view for bucket in buckets}
        for (other, _), at_s in known.telling.items():
            # What was said to one that is out of reach by now is kept, and said anew.
            if at_s > now_s - WAITS_S and other in self.sight.others(master) - self.sight.away_since(at_s - WAITS_S):
                text = f"says that it has left and handed over everything, and {other} has not answered it"
                self.tell(f"at {now_s:.3f} s {master} {text}, whom it told of links at {at_s:.3f} s")
                return
        if unsaid:
            first = min(unsaid)
            (owner, *_) = self.sight.holders(master, first) or ("nobody",)
            text = f"says that it has left and handed over everything, and {owner} has not said of bucket {first}"
            self.tell(f"at {now_s:.3f} s {master} {text}, in this view, that others have it")

    def _of(self, master: str) -> _Master:
        return self._masters.setdefault(master, _Master())
