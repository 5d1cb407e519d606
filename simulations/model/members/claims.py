"""The rule of claims that came to nothing: who was told no asks again, for as long as both are in its view.

A claim is refused while views differ, or something is open where it comes to; most often that is over a moment later.
One that is not repeated leaves a bucket that nobody serves, until something else casts the dice anew (docs/overlay.md).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from ..acknowledged import Tell

REPEATED_S: Final = 1.6
"""Who was told no asks again after a second at most, by any clock; what is not claimed is offered after two,"""
TROUBLE_S: Final = 0.5
"""what befell somebody so lately may not have been felt yet,"""
CALM_S: Final = 20.0
"""and what was said to somebody out of reach is given up so long after nothing is in its way any more."""


class Sight(Protocol):
    """The harness's own knowledge of the machines, and of whom they count."""

    @property
    def now_s(self) -> float: ...

    def view(self, master: str) -> int:
        """Returns the view in which a master acts at this moment; 0 if it acts in none."""

    def life(self, node: str) -> int:
        """Returns which life a node is in; 0 if it is down."""

    def fellows(self, master: str) -> frozenset[str]:
        """Returns the others that a master counts at this moment."""

    def away_since(self, since_s: float) -> frozenset[str]:
        """Returns the masters to which anything has happened since then, and those to which it happens still."""

    def struck(self, node: str, from_s: float, until_s: float) -> bool:
        """Tells whether anything that befell a node began or ended in a time, or it stood still."""

    def serves(self, master: str, bucket: int) -> bool:
        """Tells whether a master serves a bucket, or does as soon as it rests no more."""

    def owned(self, master: str) -> frozenset[int]:
        """Returns the buckets that are a master's own in its view."""


class _Refused(NamedTuple):
    """A claim that was refused: of which buckets, in which view and life, and when that was heard."""

    buckets: Collection[int]
    view: int
    life: int
    at_s: float


@dataclass(slots=True)
class Claims:
    """Judges who gives up too early."""

    sight: Sight
    tell: Tell
    _refused: dict[tuple[str, str], _Refused] = field(default_factory=dict)
    """By the claimer, and who has refused."""
    _last: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """The number of the last claim that one has made of another, and in which view that was."""
    _troubled_s: float = 0.0
    """When anything was in anybody's way."""

    def acts(self, claimer: str) -> None:
        """Takes in that somebody comes to another view, in which it asks anew: it may come back to this one later."""
        for place in [place for place in self._refused if place[0] == claimer]:
            del self._refused[place]

    def claims(self, claimer: str, other: str, number: int) -> None:
        """Takes in that somebody asks another one to let go of buckets."""
        refused = self._refused.pop((claimer, other), None)
        if refused is not None and self._waits(claimer, other, refused):
            self._is_in_time(claimer, other, refused)
        self._last[claimer, other] = number, self.sight.view(claimer)

    def claims_in(self, claimer: str, other: str, buckets: Collection[int], view: int) -> None:
        """Judges a claim: in the view in which it was made, all of these are the claimer's own."""
        if view == self.sight.view(claimer) and (strange := set(buckets) - self.sight.owned(claimer)):
            text = f"asks {other} to let go of bucket {min(strange)}, which is another's in its own view"
            self.tell(f"at {self.sight.now_s:.3f} s {claimer} {text}")

    def is_refused(self, claimer: str, other: str, number: int, buckets: Collection[int]) -> None:
        """Takes in that a claimer hears that another one does not let go of them now."""
        if self._last.get((claimer, other)) != (number, self.sight.view(claimer)):
            # Its view is another one by now, in which it has asked again, or need not.
            return
        here = self.sight.view(claimer), self.sight.life(claimer)
        self._refused[claimer, other] = _Refused(buckets, *here, self.sight.now_s)

    def look(self, *, calm: bool) -> None:
        """Judges all who were told no a while ago, and have not asked again, if it has been ``calm`` for long."""
        if not calm:
            self._troubled_s = self.sight.now_s
        if self.sight.now_s < self._troubled_s + CALM_S:
            return
        late = [place for place, each in self._refused.items() if each.at_s < self.sight.now_s - REPEATED_S]
        for claimer, other in late:
            refused = self._refused.pop((claimer, other))
            unserved = [bucket for bucket in refused.buckets if not self.sight.serves(claimer, bucket)]
            if not unserved or not self._waits(claimer, other, refused):
                continue
            if claimer not in self.sight.away_since(refused.at_s - CALM_S):
                text = f"was told at {refused.at_s:.3f} s by {other} that it does not let go of bucket {unserved[0]}"
                self.tell(f"at {self.sight.now_s:.3f} s {claimer} {text}, and has not asked again")

    def _is_in_time(self, claimer: str, other: str, refused: _Refused) -> None:
        """Judges one that asks again; those two were in touch as it was told no."""
        at_s, now_s = refused.at_s, self.sight.now_s
        is_struck = any(self.sight.struck(node, at_s - TROUBLE_S, now_s) for node in (claimer, other))
        if now_s > at_s + REPEATED_S and not is_struck:
            text = f"was told at {at_s:.3f} s by {other} that it does not let go of its buckets"
            self.tell(f"at {now_s:.3f} s {claimer} {text}, and asks again {now_s - at_s:.2f} s later only")

    def _waits(self, claimer: str, other: str, refused: _Refused) -> bool:
        """Tells whether a claimer acts in the view of its claim still, and counts the one that has refused it."""
        here = self.sight.view(claimer), self.sight.life(claimer)
        return here == refused[1:3] and other in self.sight.fellows(claimer)
