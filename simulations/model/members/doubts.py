"""The rules of doubt: what a master's view calls its own it does not serve till all who may have served it have let go.

Who gains a bucket, or was alone and meets others, stood still for longer than a session lasts, hears that it was held
dead, or had no consent of most for a while, has the word of each other in its view again before it grants anything,
but of those who are silent, where somebody vouches that nobody has served it since (docs/copies.md). Who begins, and
knows of others, looks for them first, and while some are missing serves for half a minute only what is whole with it;
where pages were in hand in its life before, it lets go of nothing till those slaves have stopped.
No bucket changes hands before those who are there are on the disk.

That is judged a moment later: what was granted before may be on its way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Final, Protocol

from ..acknowledged import Tell
from ..stores import Stores, told
from ..taking.sight import Word

GRACE_S: Final = 3.0
"""What was about to be granted may leave so much later, and longer where the disk takes long to note it."""
AT_ONCE_S: Final = 0.2
"""What was about to be told others, so much."""
STILL_S: Final = 5.2
"""Who stood still for so long knows it, by whatever clock."""
LOOKING_S: Final = 4.9
"""So long one that begins looks for those that it knew,"""
EARLIER_S: Final = 4.9
"""so long slaves of its life before may be at work,"""
PATIENCE_S: Final = 29.4
"""and for so long it serves what is whole only."""


class LetGo(Protocol):
    """The interface that knows who has let go of what."""

    def word(self, claimer: str, giver: str, bucket: int) -> Word:
        """Returns what a claimer has heard last of one that let go of a bucket."""


class Sight(Protocol):
    """The harness's own knowledge of the machines."""

    @property
    def now_s(self) -> float: ...

    def others(self, master: str) -> frozenset[str]:
        """Returns the names of the other masters that take part in the view in which one acts at this moment."""

    def stalls(self, member: str, from_s: float, until_s: float) -> list[tuple[float, float]]:
        """Returns from when until when a member stood still between two moments."""

    def damaged(self) -> bool:
        """Tells whether what is on a disk was ever damaged."""

    def disk_s(self, node: str) -> float:
        """Returns how long an access to a node's disk takes at this moment."""

    def may_not_grant(self, master: str) -> bool:
        """Tells whether a master has no consent of most at this moment, and knows it."""


@dataclass(slots=True)
class _Master:
    """One life of a master."""

    began_s: float = 0.0
    in_hand: bool = False
    """Pages were in slaves' hands when its life before ended."""
    mine: frozenset[int] = frozenset()
    gained_s: dict[int, float] = field(default_factory=dict)
    """Since when each of these is its own."""
    had: dict[int, int] = field(default_factory=dict)
    """The last epoch that it knew of each that was its own, when that became another's."""
    others_s: dict[str, float] = field(default_factory=dict)
    """Since when it counts each other in its view,"""
    met: frozenset[str] = frozenset()
    """and all that it ever did."""
    doubted_s: float = -inf
    why: str = ""
    anew_s: float = -inf
    """When it had to claim all of its own anew, at once: who has no consent goes on with what it has begun, and serves
    nothing of it, till most agree again."""
    silent_s: dict[str, float] = field(default_factory=dict)
    """When it last held each other for suspect."""
    dead: frozenset[str] = frozenset()
    """Whom it holds for dead at this moment,"""
    missing: frozenset[str] = frozenset()
    """whom it did at its last turn,"""
    waits: bool = True
    """and whether it has done so of somebody ever since it began."""


@dataclass(slots=True)
class Doubts:
    """Judges what masters grant, against what has cast doubt on it."""

    stores: Stores
    sight: Sight
    words: LetGo
    tell: Tell
    held_dead: Callable[[str], None] = lambda master: None
    """Is told of a master that hears that others hold it for dead."""
    _masters: dict[str, _Master] = field(default_factory=lambda: defaultdict(_Master))

    def started(self, master: str) -> None:
        """Takes in that a master begins anew, with what its disk says."""
        disk = self.stores.store(master)
        # Whose disk is empty knows of nobody whom to wait for.
        self._masters[master] = _Master(self.sight.now_s, bool(disk.leases), waits=bool(disk.standings))

    # -- what casts doubt ----------------------------------------------------------------------

    def acts(self, master: str, mine: frozenset[int], others: Collection[str]) -> None:
        """Takes in that a master acts in another view from now on, with whom, and which buckets are its own in that."""
        known, now_s = self._masters[master], self.sight.now_s
        if others and not known.others_s:
            self._doubt(master, now_s, "met others")
        known.gained_s = {bucket: at_s for bucket, at_s in known.gained_s.items() if bucket in mine}
        known.gained_s |= dict.fromkeys(mine - known.mine, now_s)
        standings = self.stores.store(master).standings
        known.had |= {bucket: standings[bucket].epoch for bucket in known.mine - mine if bucket in standings}
        known.mine, known.met = mine, known.met.union(others)
        known.others_s = {other: known.others_s.get(other, now_s) for other in others}

    def is_held_dead(self, master: str) -> None:
        """Takes in that a master hears that others hold it for dead, in the life that it is in."""
        self._masters[master].anew_s = self.sight.now_s
        self.held_dead(master)
        self._doubt(master, self.sight.now_s, "heard that it was held dead")

    def lapsed(self, master: str, over_s: float) -> None:
        """Takes in that a master has no consent of most any more."""
        self._doubt(master, over_s, "had no consent of most")

    def holds(self, master: str, suspect: Iterable[str], dead: Iterable[str]) -> None:
        """Takes in whom a master holds for suspect, and for dead, at this moment."""
        known = self._masters[master]
        known.silent_s.update(dict.fromkeys(suspect, self.sight.now_s))
        known.missing = frozenset(dead)
        known.waits = known.waits and bool(known.missing)

    def misses(self, master: str, dead: Iterable[str]) -> None:
        """Takes in whom a master holds for dead from this moment on, by what it has heard or thinks."""
        self._masters[master].dead = frozenset(dead)

    def missing(self, master: str) -> frozenset[str]:
        """Returns whom a master holds for dead at this moment."""
        return self._masters[master].dead

    # -- what is granted -----------------------------------------------------------------------

    def grants(self, master: str, buckets: Collection[int]) -> None:
        """Judges pages of buckets that a slave is given."""
        self._begins(master, self._masters[master], buckets)
        self._goes_on(master, buckets, GRACE_S + self.sight.disk_s(master), "grants from")

    def resumes(self, master: str, buckets: Collection[int]) -> None:
        """Judges buckets that a master serves again, under the epochs that they had. Who has no consent of most claims
        all anew when it has that again, before it grants anything.
        """
        if not self.sight.may_not_grant(master):
            self._goes_on(master, buckets, AT_ONCE_S, "goes on with")

    def _goes_on(self, master: str, buckets: Collection[int], grace_s: float, what: str) -> None:
        """Judges what a master does with buckets so long after anything cast doubt on them."""
        known, now_s, others = self._masters[master], self.sight.now_s, self.sight.others(master)
        for from_s, until_s in self.sight.stalls(master, known.began_s, now_s):
            if until_s - from_s > STILL_S and until_s > known.doubted_s and known.others_s:
                self._doubt(master, until_s, f"stood still for {until_s - from_s:.1f} s")
        for bucket in buckets:
            gained_s = known.gained_s.get(bucket, -inf)
            since_s = max(gained_s, known.doubted_s)
            if now_s < since_s + grace_s:
                continue
            asked = {other for other in others if known.others_s.get(other, inf) <= since_s}
            # Who came later need not be waited for, and may vouch all the same; who has vouched may be gone by now.
            words = {other: self.words.word(master, other, bucket) for other in known.met.union(others)}
            # What somebody says to an older question he has said before.
            silent = {other for other in asked if words[other].asked_s < since_s}
            if self._is_vouched_for(master, bucket, since_s, words):
                silent = {other for other in silent if known.silent_s.get(other, -inf) < since_s}
            if silent:
                why = known.why if since_s > gained_s else "gained it"
                text = f"{what} bucket {bucket}, and {why} at {since_s:.3f} s"
                self._tell(master, f"{text}: {told(silent)} has not let go of it since")
                return

    def lets_go(self, master: str, claimer: str) -> None:
        """Judges a master that lets go of buckets: slaves of its life before have stopped."""
        known = self._masters[master]
        since_s = self.sight.now_s - known.began_s
        # Whose file was damaged, and set aside, knows nothing of them.
        if known.in_hand and since_s < EARLIER_S and not self.sight.damaged():
            text = f"lets {claimer} have buckets {since_s:.2f} s after it began"
            self._tell(master, f"{text}, and slaves of its life before may still be at work")

    def hands_over(self, master: str, acquainted: frozenset[str]) -> None:
        """Judges a master that lets go of buckets, or begins epochs of them: after a crash it would miss all that are
        in its view. ``acquainted``: whom it knows by its disk.
        """
        if unknown := self.sight.others(master) - acquainted:
            text = "lets go of buckets, or takes them, and would know nothing after a crash"
            self._tell(master, f"{text} of {told(unknown)}, whom it counts")

    def begins(self, master: str, epochs: Collection[int]) -> None:
        """Judges a master that tells others under which epochs it begins to serve buckets: who has let go of them has
        been asked since anything cast doubt on them. An answer to an older question is none.
        """
        known, now_s, others = self._masters[master], self.sight.now_s, self.sight.others(master)
        for from_s, until_s in self.sight.stalls(master, known.began_s, now_s - AT_ONCE_S):
            if until_s - from_s > STILL_S and known.others_s:
                known.anew_s = max(known.anew_s, until_s)
        for bucket in epochs:
            since_s = max(known.gained_s.get(bucket, -inf), known.anew_s)
            if now_s < since_s + AT_ONCE_S:
                continue
            asked = {other for other in others if known.others_s.get(other, inf) <= since_s}
            if late := {other for other in asked if self.words.word(master, other, bucket).asked_s < since_s}:
                why = "claimed all anew" if since_s == known.anew_s else "gained it"
                text = f"begins an epoch of bucket {bucket}, and {why} at {since_s:.3f} s"
                self._tell(master, f"{text}: {told(late)} has not been asked for it since, and let go of it")
                return

    # -- inside --------------------------------------------------------------------------------

    def _doubt(self, master: str, at_s: float, why: str) -> None:
        known = self._masters[master]
        if at_s > known.doubted_s:
            known.doubted_s, known.why = at_s, why

    def _begins(self, master: str, known: _Master, buckets: Collection[int]) -> None:
        """Judges what a master grants that has begun a moment ago."""
        since_s = self.sight.now_s - known.began_s
        if since_s < LOOKING_S and not known.met and known.missing:
            text = f"grants {since_s:.2f} s after it began, alone"
            self._tell(master, f"{text}, and knows that {told(known.missing)} may be there")
        standings = self.stores.store(master).standings
        if since_s < PATIENCE_S and known.waits:
            for bucket in buckets:
                if (row := standings.get(bucket)) is not None and row.lack:
                    text = f"grants from bucket {bucket} {since_s:.2f} s after it began, and lacks epoch {row.lack}"
                    self._tell(master, f"{text} of it, which {told(known.missing)} may bring")
                    return

    def _is_vouched_for(self, master: str, bucket: int, since_s: float, words: dict[str, Word]) -> bool:
        """Tells whether somebody who has let go since knows no other epoch than the one that is served, which this
        master knew before: also of what was another's for a while, and is gained again.
        """
        known, row = self._masters[master], self.stores.store(master).standings.get(bucket)
        if row is None or (since_s == known.gained_s.get(bucket) and known.had.get(bucket) != row.epoch):
            return False
        heard = [word.standing for word in words.values() if word.at_s >= since_s and word.standing is not None]
        return any(standing.epoch == row.epoch for standing in heard)

    def _tell(self, master: str, what: str) -> None:
        self.tell(f"at {self.sight.now_s:.3f} s {master} {what}")
