"""The law of rivals: of epochs begun beside each other, all that a master has heard of are named as it goes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ..acknowledged import Tell
from ..standings import are_rivals
from .sight import Begun, Sight


class _Heard(NamedTuple):
    """Rivals of epochs that may have been served, of which somebody has heard in a view, and these epochs."""

    view: int
    known: frozenset[int] = frozenset()
    last: int = 0
    """The last epoch of all that it has heard of in this view."""


@dataclass(slots=True)
class Rivals:
    """Judges whether epochs that were begun beside others are named with those that follow."""

    sight: Sight
    tell: Tell
    _heard: dict[tuple[str, int], _Heard] = field(default_factory=dict)
    """What somebody has heard of epochs beside each other."""

    def started(self, node: str) -> None:
        """Takes in that a master begins anew, and knows of none."""
        for place in [place for place in self._heard if place[0] == node]:
            del self._heard[place]

    def hears(self, claimer: str, bucket: int, epoch: int, mine: int, *, is_empty: bool) -> None:
        """Takes in that a claimer hears of an epoch, and knows ``mine`` as the last one: a rival of that, unless that
        is empty. One that it has begun in vain is, whether it has told somebody of it or nobody.
        """
        view, heard = self.sight.view(claimer), self._heard.get((claimer, bucket))
        if heard is None or heard.view != view:
            heard = _Heard(view)
        known = heard.known
        if are_rivals(epoch, mine) and not is_empty:
            known |= {epoch, mine}
        self._heard[claimer, bucket] = _Heard(view, known, max(heard.last, epoch))

    def names(self, owner: str, bucket: int, begun: Begun) -> None:
        """Judges what an owner says of a new epoch: it names the rivals that it has heard of, and what it knew beside
        them. Who has heard of one only cannot have what came under the other.
        """
        heard = self._heard.get((owner, bucket))
        if heard is None or not heard.known or begun.epoch <= max(heard.known):
            return
        del self._heard[owner, bucket]
        unnamed = heard.known.difference((begun.since, *begun.rivals))
        # Who knows of a later turn has joined them before.
        if unnamed and heard.last <= max(heard.known) and heard.view == self.sight.view(owner):
            text = f"begins epoch {begun.epoch} of bucket {bucket}, and does not say that {min(unnamed)}"
            text = f"{text} had a rival, though it knew of one and has heard of the other"
            self.tell(f"at {self.sight.now_s:.3f} s {owner} {text}")
