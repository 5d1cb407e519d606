"""The rule of links that are kept: who keeps one for want of copies elsewhere says it until its owner has it.

So it has two stores even while its owner has no copy (docs/copies.md#provisional-links). Who has not answered is asked
again, and whoever owns it by another view is told as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Protocol

from ..acknowledged import Tell
from ..stores import Key, Stores

SAID_S: Final = 30.0
"""What is kept is said every few seconds: so long into a calm its owner has it."""


class Sight(Protocol):
    """The harness's own knowledge of the machines, and of how they share out the buckets."""

    @property
    def now_s(self) -> float: ...

    def awake(self) -> frozenset[str]:
        """Returns the masters that are there."""

    def holders(self, master: str, bucket: int) -> tuple[str, ...]:
        """Returns who holds a bucket by the ring, its owner first, in the view in which a master acts."""

    def away_since(self, since_s: float) -> frozenset[str]:
        """Returns the masters to which anything has happened since then, and those to which it happens still."""

    def deleted(self, job: int) -> bool:
        """Tells whether somebody has had a job deleted."""

    def name(self, key: Key) -> str:
        """Returns the URL of a fact."""


@dataclass(slots=True)
class Kept:
    """Judges what lies in spools."""

    stores: Stores
    sight: Sight
    tell: Tell
    _since_s: float = 0.0
    """Since when nothing is in anybody's way,"""
    _lacking: dict[tuple[str, Key], float] = field(default_factory=dict)
    """and since when, of that, something is kept that its owner has not."""

    def look(self, *, calm: bool) -> None:
        """Judges the disks of this moment; ``calm``: nothing is in anybody's way."""
        now_s, up = self.sight.now_s, self.sight.awake()
        if not calm:
            self._since_s = now_s
        if now_s < self._since_s + SAID_S / 2:
            self._lacking.clear()
            return
        lacking = {
            (keeper, key): owner
            for keeper in up
            for key, times in (self.stores.of[keeper].spooled.items() if keeper in self.stores.of else ())
            if times > 0
            and (owner := self._owner(keeper, key)) in up - {keeper}
            and self.stores.store(owner).stamp(key) < 0
        }
        self._lacking = {place: self._lacking.get(place, now_s) for place in lacking}
        late = [place for place, since_s in self._lacking.items() if since_s < now_s - SAID_S / 2]
        away = self.sight.away_since(now_s - SAID_S) if late else frozenset()
        for place in late:
            (keeper, key), owner = place, lacking[place]
            if not away & {keeper, owner} and not self.sight.deleted(key[2]):
                text = f"keeps {self.sight.name(key)} for {owner}, which owns it, and has nothing of it"
                self.tell(f"at {now_s:.3f} s {keeper} {text} after {now_s - self._since_s:.0f} s in calm")
                return

    def _owner(self, keeper: str, key: Key) -> str:
        bucket = self.stores.bucket_of.get(key)
        return "" if bucket is None else next(iter(self.sight.holders(keeper, bucket)), "")
