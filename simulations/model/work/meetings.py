"""The rule of meetings: whoever goes on with a bucket that others served beyond a cut lets its hosts wait their delay.

Each side has asked the same hosts at its own pace. So they wait from when the one that goes on acts in the common view,
from when another one says that it had the bucket too, and once more from when that one has let go (docs/overlay.md).

That is judged by the pages that slaves are given: what was chosen before may leave a moment later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from ..acknowledged import Tell
from ..permissions import Permissions

ON_ITS_WAY_S: Final = 0.3
"""What was chosen before the wait began leaves so much later at most,"""
ACCESSES: Final = 3
"""and so many accesses to a disk, where each takes its time."""
SHARE: Final = 0.97
"""So much of a delay is over at least when it is over by whatever clock."""
TROUBLE_S: Final = 2.0
"""What was in a machine's own way so lately may have held up what it had chosen."""


class Sight(Protocol):
    """The harness's own knowledge of the machines, and of how hosts are to be asked."""

    @property
    def now_s(self) -> float: ...

    def serves(self, master: str, bucket: int) -> bool:
        """Tells whether a master serves a bucket, or does as soon as it rests no more."""

    def disk_s(self, node: str) -> float:
        """Returns how long an access to a node's disk takes at this moment."""

    def in_trouble(self, node: str, from_s: float, until_s: float) -> bool:
        """Tells whether anything was in a machine's own way in a time: it stood still, or its disk did not do."""

    def asks_hosts(self, job: int) -> bool:
        """Tells whether a job asks hosts for its pages, and does not read stored ones."""

    def delay_s(self, host: str) -> float:
        """Returns a delay that a host has whatever job asks it; 0 where none is sure."""


class Wait(NamedTuple):
    """A wait of a bucket's hosts: it began between two moments."""

    first_s: float
    last_s: float
    why: str


@dataclass(slots=True)
class _Master:
    """One life of a master."""

    others: frozenset[str] = frozenset()
    missed: frozenset[str] = frozenset()
    """Whom it held for dead when it came to the view."""
    met: dict[str, frozenset[int]] = field(default_factory=dict)
    """Those that it has met, with the buckets that it served then, and of which it has not asked them yet,"""
    let_go_s: dict[tuple[str, int], float] = field(default_factory=dict)
    """and who has let go of which, and when that was heard, while nobody was told that all of it is here."""
    waits: dict[int, list[Wait]] = field(default_factory=lambda: defaultdict(list))


@dataclass(slots=True)
class Meetings:
    """Judges what masters have asked for when they have met others."""

    sight: Sight
    permissions: Permissions
    """Which knows the bucket of each host."""
    missing: Callable[[str], frozenset[str]]
    """Tells whom a master holds for dead."""
    tell: Tell
    _masters: dict[str, _Master] = field(default_factory=lambda: defaultdict(_Master))

    def started(self, master: str) -> None:
        """Takes in that a master begins anew."""
        self._masters.pop(master, None)

    # -- what makes hosts wait ------------------------------------------------------------------

    def acts(self, master: str, mine: frozenset[int], others: Collection[str]) -> None:
        """Takes in that a master comes to a view: which buckets are its own in that, and who else takes part in it."""
        known, now_s = self._masters[master], self.sight.now_s
        missing = self.missing(master)
        if back := (frozenset(others) - known.others) & (known.missed | missing):
            served = self._served(master, mine)
            for bucket in served:
                self._wait(known, bucket, now_s, f"met {min(back)}, which it had held for dead")
            known.met |= dict.fromkeys(back, frozenset(served))
        known.others = frozenset(others)
        # Who is held for dead no more, and takes no part, leaves or has left: it has handed over what it had.
        known.missed = missing - known.others
        known.met = {node: served & mine for node, served in known.met.items() if node in known.others}
        known.let_go_s = {place: at_s for place, at_s in known.let_go_s.items() if place[1] in mine}

    def offers(self, node: str, master: str, buckets: Collection[int]) -> None:
        """Takes in that somebody says to a master that it had buckets, too."""
        known = self._masters[master]
        for bucket in self._served(master, known.met.pop(node, frozenset()).intersection(buckets)):
            self._wait(known, bucket, self.sight.now_s, f"heard that {node} had its bucket, too")

    def claims(self, master: str, node: str, buckets: Collection[int]) -> None:
        """Takes in that a master wants somebody to let go of buckets."""
        known = self._masters[master]
        known.met[node] = known.met.get(node, frozenset()).difference(buckets)

    def hears(self, master: str, node: str, buckets: Collection[int]) -> None:
        """Takes in that a master hears that somebody has let go of buckets."""
        known = self._masters[master]
        served = self._served(master, buckets)
        known.let_go_s |= dict.fromkeys(((node, bucket) for bucket in served), self.sight.now_s)

    def tells(self, master: str, buckets: Collection[int]) -> None:
        """Takes in that a master tells under which epochs buckets go on that it serves: all is here that who has let
        go of them had.
        """
        known, now_s = self._masters[master], self.sight.now_s
        for place in [(node, bucket) for node, bucket in known.let_go_s if bucket in buckets]:
            heard_s = known.let_go_s.pop(place)
            if self.sight.serves(master, place[1]):
                known.waits[place[1]].append(Wait(heard_s, now_s, f"heard that {place[0]} has let go of its bucket"))

    # -- what is asked for ----------------------------------------------------------------------

    def granted(self, master: str, slave: str, pages: Iterable[tuple[int, str]]) -> None:
        """Judges pages, each by its job and host, that are given to a slave."""
        now_s, waits = self.sight.now_s, self._masters[master].waits
        hosts = dict.fromkeys(host for job, host in pages if self.sight.asks_hosts(job)) if waits else {}
        for host in hosts:
            bucket = self.permissions.buckets.get(host, -1)
            if bucket not in waits or not (delay_s := self.sight.delay_s(host) * SHARE):
                continue
            waits[bucket] = [wait for wait in waits[bucket] if now_s < wait.first_s + delay_s]
            grace_s = ON_ITS_WAY_S + ACCESSES * self.sight.disk_s(master)
            for wait in waits[bucket]:
                if now_s > wait.last_s + grace_s and not self.sight.in_trouble(master, now_s - TROUBLE_S, now_s):
                    text = f"has {slave} ask {host} {now_s - wait.first_s:.3f} s after it {wait.why}"
                    self.tell(f"at {now_s:.3f} s {master} {text}, and goes on with it")
                    return

    # -- inside ---------------------------------------------------------------------------------

    def _of_hosts(self, buckets: Collection[int]) -> set[int]:
        return set(self.permissions.buckets.values()).intersection(buckets)

    def _served(self, master: str, buckets: Collection[int]) -> list[int]:
        return [bucket for bucket in sorted(self._of_hosts(buckets)) if self.sight.serves(master, bucket)]

    def _wait(self, known: _Master, bucket: int, at_s: float, why: str) -> None:
        known.waits[bucket].append(Wait(at_s, at_s, why))
