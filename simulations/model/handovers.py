"""The rules of buckets that change hands: what is said of a bucket has to be so, and nothing is let go of too soon.

They are those of docs/copies.md. A standing says of which epochs somebody has all that was acknowledged; who lets go of
a bucket keeps what it had until others have it; who takes it has all of that; and copies are dropped only where enough
others have them.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from .acknowledged import HEARD_S, Tell
from .epochs import Epochs, Views
from .standings import Standing, in_words, less_of, standing_of
from .stores import Key, StandingRow, Store, Stores, told

ON_ITS_WAY_S: Final = 10.0
"""So long something that is sent to one that is there may be under way."""
COUNTING_S: Final = 1.0
"""So long before somebody tells how much it has it may have counted, and longer where its disk takes long for that."""


class _Fact(NamedTuple):
    """A fact that was acknowledged: when, under which epoch, who was away then, and who had it."""

    at_s: float
    epoch: int
    away: frozenset[str]
    having: frozenset[str] = frozenset()


@dataclass(slots=True)
class Handovers:
    """Judges what masters say of buckets, against the stores of that moment."""

    stores: Stores
    sight: Views
    replicas: int
    tell: Tell
    _facts: dict[int, dict[Key, _Fact]] = field(default_factory=lambda: defaultdict(dict))
    """What was acknowledged, by bucket."""
    _released: dict[tuple[str, str], dict[Key, int]] = field(default_factory=dict)
    """What somebody had of what it has let go of for somebody else."""
    _synced: dict[tuple[str, int], tuple[float, int]] = field(default_factory=dict)
    """When a holder was last told that its copies of a bucket are whole, and under which epoch."""
    _epochs: Epochs = field(init=False)
    _dropping: dict[str, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    """When somebody was last told to drop its copies of each bucket: what it says of it falls before its disk does."""
    _due: deque[tuple[float, Callable[[], None]]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._epochs = Epochs(self.stores, self.sight, self.tell)

    # -- what is acknowledged ------------------------------------------------------------------

    def acknowledged(self, owner: str, keys: Iterable[Key]) -> None:
        """Takes in that an owner has said of these that they are settled."""
        self._look_again()
        standings, now_s = self.stores.store(owner).standings, self.sight.now_s
        away = self.sight.away_since(now_s - HEARD_S)
        for key in keys:
            bucket = self.stores.bucket_of.get(key)
            if bucket is not None and bucket in standings:
                having = frozenset(self.stores.having(key))
                self._facts[bucket].setdefault(key, _Fact(now_s, standings[bucket].epoch, away, having))
                self._epochs.served(owner, bucket, standings[bucket].epoch)

    def settled(self, job: int) -> list[Key]:
        """Returns all that was ever settled of a job."""
        return [key for facts in self._facts.values() for key in facts if key[2] == job]

    def agrees(self, master: str, asker: str, what: str, view: int, acted_in: Collection[int]) -> None:
        """Judges a yes to what was asked in a view: whoever says it acts in that one, or did when it was asked."""
        if view not in acted_in:
            self._tell(master, f"agreed to a {what} of {asker} in view {view:016x}, and acts in another one")

    # -- who lets go ---------------------------------------------------------------------------

    def released(self, master: str, claimer: str, standings: dict[int, Standing], rows: Sequence[int]) -> None:
        """Judges the word of one that lets go of buckets: what it says to have of each, in their order."""
        store = self.stores.store(master)
        here = dict(_in_buckets(self.stores, store, standings))
        sizes = dict(zip(sorted(standings), rows, strict=True)) if rows else {}
        for key in here:
            fresh = store.came.get(key, 0.0) > self.sight.now_s - COUNTING_S - self.sight.disk_s(master)
            if not fresh and not sizes.get(bucket := self.stores.bucket_of[key]):
                self._tell(master, f"told {claimer} that it has nothing of bucket {bucket}, and has {self._name(key)}")
                break
        dropping = self._dropping.get(master, {})
        since_s = self.sight.now_s - ON_ITS_WAY_S
        for bucket, standing in standings.items():
            if (lacking := self._missing(master, store, bucket, standing)) is not None:
                text = f"told {claimer} that of bucket {bucket} it has {in_words(standing)}"
                self._tell(master, f"{text}, and lacks {self._name(lacking)}")
                break
            if dropping and dropping.get(bucket, -ON_ITS_WAY_S) >= since_s:
                continue
            if (row := store.standings.get(bucket)) is not None and (less := less_of(standing, standing_of(row))):
                text = f"told {claimer} that of bucket {bucket} it has {in_words(standing)}"
                self._tell(master, f"{text}, and its disk says that it has epoch {less}, too")
                break
        for record, lease in store.leases.items():
            if (held := store.numbers.get(record)) in here:
                self._tell(
                    master, f"let {claimer} have {self._name(held)}, and it is in a slave's hands, lease {lease}"
                )
                break
        # What it had when it let go of them the last time it may have dropped since, or lost with its disk.
        before = self._released.get((master, claimer), {})
        kept = {key: stamp for key, stamp in before.items() if self.stores.bucket_of[key] not in standings}
        self._released[master, claimer] = kept | here

    def acts(self, master: str, mine: frozenset[int]) -> None:
        """Takes in which buckets are a master's own by the view that it comes to. A word that it gave on these before
        is none any more: whoever takes them by it is offered what is here, and claims it.
        """
        for (giver, _), had in self._released.items():
            if giver == master:
                for key in [key for key in had if self.stores.bucket_of[key] in mine]:
                    del had[key]

    def lost(self, master: str) -> None:
        """Takes in that a master's disk is no more: what it had let go of is gone, and so is what it had taken."""
        for parties in [parties for parties in self._released if master in parties]:
            del self._released[parties]

    def forgotten(self, master: str, claimer: str, epochs: dict[int, int], *, in_view: bool = True) -> None:
        """Judges the word of one that has noted that buckets of its own are another's now, under these epochs.
        ``in_view``: it acts in the view in which it was told that still, so that this says who is to hold them.
        """
        store, had = self.stores.store(master), self._released.pop((master, claimer), {})
        for key, stamp in had.items():
            if self.stores.bucket_of[key] not in epochs or self.sight.deleted(key[2]):
                continue
            if key in store.records:
                self._tell(master, f"gave up {self._name(key)} to {claimer}, and has it still as its own")
                return
            if store.held.get(key, -1) < stamp and self._elsewhere(master, key) < self._wanted():
                self._tell(master, f"gave up {self._name(key)} to {claimer}, and kept no copy of it")
                return
        for bucket, epoch in epochs.items():
            known = store.standings.get(bucket)
            if known is None or known.epoch < epoch:
                self._tell(master, f"agreed to epoch {epoch} of bucket {bucket} with {claimer}, and has not noted it")
                return
        if in_view:
            self._epochs.lacked(master, claimer, epochs)
        self._epochs.begun(master, claimer, epochs)

    def leaves(self, master: str) -> None:
        """Judges the word of one that it goes, and has handed everything over: others have all, and know as much."""
        store, since_s = self.stores.store(master), self.sight.now_s - HEARD_S
        for key in dict.fromkeys((*store.records, *store.held)):
            having = [other for other in self.stores.having(key) if other != master]
            others = [self.stores.of[other] for other in having]
            if any(map(self.sight.set_back, having)):
                continue
            if any(other.stamp(key) >= store.stamp(key) for other in others) or self.sight.deleted(key[2]):
                continue
            if not self.stores.lately_lost(key, since_s):
                text = "which is with nobody else" if not others else "of which it knows more than all others"
                self._tell(master, f"says that it has left and handed over everything, {self._name(key)} too, {text}")
                return

    # -- who takes -----------------------------------------------------------------------------

    def taken(self, claimer: str, master: str, epochs: Mapping[int, int]) -> None:
        """Judges the word of one that has all that another had of buckets which that has let go of, and serves them
        under these epochs.
        """
        buckets = epochs.keys()
        self._epochs.tells(claimer, epochs)
        self._look_again()
        # What it had let go of itself is its own once more: an older word to take that, which comes late, is none.
        for (giver, _), had in self._released.items():
            if giver == claimer:
                for key in [key for key in had if self.stores.bucket_of[key] in buckets]:
                    del had[key]
        store = self.stores.store(claimer)
        for key, stamp in self._released.get((master, claimer), {}).items():
            if self.stores.bucket_of[key] in buckets and store.stamp(key) < stamp and not self.sight.deleted(key[2]):
                self._tell(claimer, f"told {master} that it has all of its buckets, and lacks {self._name(key)}")
                return

    # -- who holds copies ----------------------------------------------------------------------

    def whole(self, owner: str, epochs: Mapping[int, int]) -> None:
        """Judges an owner that says to a holder that its copies are whole under these epochs: it has all that was
        acknowledged itself. It may have heard meanwhile of a later one, which it lacks. Who has lost its disk asks
        those whom it has met since.
        """
        now_s, store = self.sight.now_s, self.stores.store(owner)
        away = self.sight.away_since(now_s - HEARD_S) - {owner}
        if any(lost.node == owner and lost.at_s >= now_s - HEARD_S for lost in self.stores.lost):
            away |= self.stores.of.keys() - {owner, *self.sight.fellows(owner)}
        for bucket, epoch in epochs.items():
            if (row := store.standings.get(bucket)) is not None and 0 < row.lack <= epoch:
                self._tell(owner, f"says that copies of bucket {bucket} are whole, of which it lacks epoch {row.lack}")
                return
            for key, fact in self._facts.get(bucket, {}).items():
                if fact.at_s > now_s - ON_ITS_WAY_S or store.stamp(key) >= 0 or self.sight.deleted(key[2]):
                    continue
                if there := set(self.stores.having(key)) - away:
                    text = (
                        f"serves bucket {bucket} without {self._name(key)}, which was acknowledged at {fact.at_s:.3f} s"
                    )
                    self._tell(owner, f"{text} and is with {told(there)}")
                    return

    def own(self, master: str, buckets: Iterable[int]) -> frozenset[int]:
        """Returns those of these buckets which a master takes for its own."""
        return frozenset(bucket for bucket in buckets if self.sight.holders(master, bucket)[:1] == (master,))

    def noted(self, holder: str, owner: str, epochs: dict[int, int], own: frozenset[int] = frozenset()) -> None:
        """Judges the word of a holder that it knows its copies to be whole under these epochs; ``own`` it took for its
        own as it was told so.
        """
        store = self.stores.store(holder)
        if own := own & self.own(holder, own):
            self._tell(holder, f"agreed with {owner} that its copies of bucket {min(own)} are whole, which is its own")
        now_s = self.sight.now_s
        for bucket, epoch in epochs.items():
            known = store.standings.get(bucket)
            if known is None or known.epoch < epoch:
                self._tell(holder, f"agreed that bucket {bucket} is whole under epoch {epoch}, and has not noted it")
                return
            self._synced[holder, bucket] = now_s, epoch
        self._epochs.begun(holder, owner, epochs)
        owners = self.stores.store(owner)
        mine = [key for key in owners.records if self.stores.bucket_of[key] in epochs and key not in store.held]
        lacking = [key for key in mine if key not in store.records]
        if lacking:
            self._later(lambda: self._lacks_still(holder, owner, store, owners, lacking))

    def drops(self, holder: str, buckets: Iterable[int]) -> None:
        """Takes in that somebody is told to drop its copies of these."""
        self._dropping[holder].update(dict.fromkeys(buckets, self.sight.now_s))

    def dropped(self, holder: str, key: Key) -> None:
        """Judges a disk from which a copy is gone: enough others have it, and the disk said first that it is not whole
        any more.
        """
        self._look_again()
        store, bucket = self.stores.store(holder), self.stores.bucket_of[key]
        if key in store.records or self.sight.deleted(key[2]):
            return
        _, stamp = store.left[key]
        others = set(self.stores.having(key)) - {holder}
        if self._elsewhere(holder, key) < self._wanted():
            self._tell(holder, f"dropped its copy of {self._name(key)}, which is with {told(others)} besides")
        elif others and all(self.stores.of[other].stamp(key) < stamp for other in others):
            self._tell(holder, f"dropped its copy of {self._name(key)}, which is further than with {told(others)}")
        elif (standing := store.standings.get(bucket)) is not None and not standing.lack:
            self._tell(holder, f"dropped {self._name(key)}, and its disk says that bucket {bucket} is whole there")

    def gave_up(self, node: str, key: Key) -> None:
        """Judges a disk from which a record is gone: a copy of it is there in its place, or enough others have it."""
        store = self.stores.store(node)
        if key in store.held or self.sight.deleted(key[2]):
            return
        if self._elsewhere(node, key) < self._wanted():
            others = set(self.stores.having(key)) - {node}
            self._tell(node, f"forgot its own record of {self._name(key)}, which is with {told(others)} besides")

    # -- what disks say ------------------------------------------------------------------------

    def stood(self, node: str, bucket: int, before: StandingRow | None, row: StandingRow) -> None:
        """Judges a disk that says from now on of which epochs it has all of a bucket."""
        if before is not None and row.epoch < before.epoch:
            self._tell(node, f"went back in bucket {bucket} from epoch {before.epoch} to {row.epoch}")
        if row.lack or bucket not in self._facts:
            return
        # One that was no holder then may not have heard that there was anything (docs/copies.md).
        lacking = self._missing(node, self.stores.store(node), bucket, Standing(row.epoch), among_its_own=True)
        if lacking is not None:
            self._tell(node, f"notes that it has all of bucket {bucket} up to epoch {row.epoch}, and lacks "
                       f"{self._name(lacking)}")  # fmt: skip

    # -- inside --------------------------------------------------------------------------------

    def _missing(
        self, master: str, store: Store, bucket: int, standing: Standing, *, among_its_own: bool = False
    ) -> Key | None:
        """Returns a fact that somebody with this standing should have of a bucket, and has not; ``among_its_own``: of
        those that it had when they were acknowledged.
        """
        if (facts := self._facts.get(bucket)) is None or self.sight.set_back(master):
            return None
        for key, fact in facts.items():
            if not standing.has(fact.epoch) or store.stamp(key) >= 0 or master in fact.away:
                continue
            if self._was_replaced(master, bucket, fact) or (among_its_own and master not in fact.having):
                continue
            if not self.sight.deleted(key[2]) and self.stores.having(key):
                return key
        return None

    def _was_replaced(self, master: str, bucket: int, fact: _Fact) -> bool:
        """Tells whether a fact came under an epoch of which this master's copies had been whole, and went to others: it
        held them no more, while their owner stayed, and nobody has told it yet (docs/copies.md).
        """
        at_s, epoch = self._synced.get((master, bucket), (0.0, 0))
        return epoch == fact.epoch and at_s < fact.at_s and len(fact.having - {master}) >= self._wanted()

    def _elsewhere(self, but: str, key: Key) -> int:
        lost = self.stores.lately_lost(key, self.sight.now_s - HEARD_S)
        return len({*self.stores.having(key), *lost} - {but})

    def _wanted(self) -> int:
        return min(self.replicas, self.sight.known)

    def _lacks_still(self, holder: str, owner: str, store: Store, owners: Store, keys: list[Key]) -> None:
        if self.stores.of.get(holder) is not store or {holder, owner} & self.sight.away_since(
            self.sight.now_s - HEARD_S
        ):
            return
        for key in keys:
            if key in owners.records and store.stamp(key) < 0 and key not in store.left:
                self._tell(owner, f"told {holder} that its copies are whole, and {self._name(key)} is not among them")
                return

    def _later(self, look: Callable[[], None]) -> None:
        self._due.append((self.sight.now_s + ON_ITS_WAY_S, look))

    def _look_again(self) -> None:
        """Looks at what was to be there by now."""
        while self._due and self._due[0][0] <= self.sight.now_s:
            self._due.popleft()[1]()

    def _name(self, key: Key) -> str:
        return self.sight.name(key)

    def _tell(self, node: str, what: str) -> None:
        self.tell(f"at {self.sight.now_s:.3f} s {node} {what}")


def _in_buckets(stores: Stores, store: Store, buckets: Collection[int]) -> Iterator[tuple[Key, int]]:
    """Yields all that a store has of some buckets, and how far it is."""
    for part in store.held, store.records:
        for key, stamp in part.items():
            if stores.bucket_of[key] in buckets:
                yield key, stamp
