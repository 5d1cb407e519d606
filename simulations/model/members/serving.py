"""The rule of what is served on: nothing that a view has just made one's own, or made another's; nothing of all that
was one's own by one who was alone, and meets others, or is new, and meets somebody of whom it had not heard; nor what
was served before one stood still for longer than others wait, or heard that it was held dead (docs/copies.md).

All of that may be served by somebody else: first each other has to let go of it. That is judged by the very turn in
which a master comes to a view, and a moment after what casts doubt on all that it serves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple, Protocol

from ..acknowledged import Tell
from ..stores import told
from .doubts import LOOKING_S, STILL_S

FELT_S: Final = 1.0
"""Whoever stood still, or is held dead, knows it so soon."""


class Sight(Protocol):
    """The harness's own knowledge of the machines, and of what they serve."""

    @property
    def now_s(self) -> float: ...

    def others(self, master: str) -> frozenset[str]:
        """Returns the names of the other masters that take part in the view in which one acts at this moment."""

    def serves(self, master: str, bucket: int) -> bool:
        """Tells whether a master serves a bucket, or does as soon as it rests no more."""

    def stalls(self, member: str, from_s: float, until_s: float) -> list[tuple[float, float]]:
        """Returns from when until when a member stood still between two moments."""

    def is_brought(self, master: str) -> bool:
        """Tells whether a master was told, as it began, where others may be."""


class _Doubt(NamedTuple):
    """A doubt on all that a master serves: since when, and why."""

    master: str
    at_s: float
    why: str


@dataclass(slots=True)
class _Master:
    """One life of a master."""

    began_s: float = -inf
    is_new: bool = False
    """It was told where others may be: for a while it may not have heard of all of them."""
    mine: frozenset[int] = frozenset()
    others: frozenset[str] = frozenset()
    met: frozenset[str] = frozenset()
    met_s: float = inf
    """Since when it has others in its view."""
    served_s: dict[int, float] = field(default_factory=dict)
    """Since when it serves each bucket."""
    stood_s: float = -inf
    """When it last went on after it had stood still for long."""


@dataclass(slots=True)
class Serving:
    """Judges who goes on with what others may have taken over."""

    sight: Sight
    watched: Collection[int]
    """The buckets that are looked at."""
    tell: Tell
    _masters: dict[str, _Master] = field(default_factory=lambda: defaultdict(_Master))
    _due: list[_Doubt] = field(default_factory=list)

    def started(self, master: str) -> None:
        """Takes in that a master begins anew."""
        self._masters[master] = _Master(self.sight.now_s, self.sight.is_brought(master))

    def serves(self, master: str, buckets: Iterable[int]) -> None:
        """Takes in that a master serves buckets from now on."""
        served = self._masters[master].served_s
        served.update((bucket, self.sight.now_s) for bucket in buckets if bucket in self.watched)

    def acts(self, master: str, mine: frozenset[int], others: Collection[str]) -> None:
        """Judges what a master serves as it comes to a view: which buckets are its own in that, and who else takes part
        in it.
        """
        known, now_s = self._masters[master], self.sight.now_s
        served = [bucket for bucket in sorted(self.watched) if self.sight.serves(master, bucket)]
        strange = set(others) - known.met if known.is_new and now_s < known.began_s + LOOKING_S else set[str]()
        for bucket in served:
            if bucket not in mine:
                why = "which is another's in the view that it comes to"
            elif bucket not in known.mine:
                why = "which it gains in the view that it comes to"
            elif others and not known.others:
                why = f"as it was alone, and meets {told(others)}"
            elif strange:
                why = (
                    f"{now_s - known.began_s:.2f} s after it began, and meets {told(strange)}, of whom it had not heard"
                )
            else:
                continue
            self._tell(master, f"goes on with bucket {bucket}, {why}")
            break
        known.mine, known.others, known.met = mine, frozenset(others), known.met.union(others)
        known.met_s = min(known.met_s, now_s) if others else inf

    def is_held_dead(self, master: str) -> None:
        """Takes in that a master hears that others hold it for dead, in the life that it is in."""
        if self.sight.now_s > self._masters[master].began_s + LOOKING_S + FELT_S:
            self._due.append(_Doubt(master, self.sight.now_s, "heard that it was held dead"))

    def look(self) -> None:
        """Judges those on whom doubt was cast a moment ago."""
        now_s = self.sight.now_s
        for master, known in self._masters.items():
            for from_s, until_s in self.sight.stalls(master, known.began_s, now_s):
                if until_s - from_s > STILL_S and known.stood_s < until_s < now_s and known.met_s < from_s:
                    known.stood_s = until_s
                    self._due.append(_Doubt(master, until_s, f"stood still for {until_s - from_s:.1f} s"))
        due = [doubt for doubt in self._due if doubt.at_s < now_s - FELT_S]
        self._due = [doubt for doubt in self._due if doubt.at_s >= now_s - FELT_S]
        for doubt in due:
            self._judge(doubt)

    def _judge(self, doubt: _Doubt) -> None:
        master, at_s, why = doubt
        known = self._masters[master]
        if known.began_s > at_s or not self.sight.others(master) or self.sight.stalls(master, at_s, self.sight.now_s):
            return
        for bucket in sorted(self.watched):
            if known.served_s.get(bucket, inf) < at_s and self.sight.serves(master, bucket):
                text = f"goes on with bucket {bucket}, which it served already when it {why} at {at_s:.3f} s"
                self._tell(master, text)
                return

    def _tell(self, master: str, what: str) -> None:
        self.tell(f"at {self.sight.now_s:.3f} s {master} {what}")
