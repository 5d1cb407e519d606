"""The word that somebody may give on a bucket: what it has followed, was brought, or was told that it has."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..standings import Span
from .spans import Spans, joined


@dataclass(slots=True)
class Had:
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
    strange: set[int] = field(default_factory=set)
    """Those of them beside which it began another one: it was not told of them, or not yet."""
    told: set[int] = field(default_factory=set)
    """The epochs of which it was told, in this life."""
    named: dict[int, frozenset[int]] = field(default_factory=dict)
    """The rivals of which it was told, by the epoch with which it was, in this life."""

    @property
    def all(self) -> Spans:
        return joined((*self.spans, *(span for _, span in self.coming)))

    def has(self, epoch: int, spans: Spans) -> None:
        """Takes in what its disk says, or itself, up to an epoch."""
        come = [span for of, span in self.coming if of <= epoch]
        self.epoch, self.spans = max(self.epoch, epoch), joined((*self.spans, *come, *spans))
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
            self.spans, self.whole = joined((*heard, *([(0, whole)] if whole else ()))), whole
        else:
            self.whole, self.heard = 0, ()
