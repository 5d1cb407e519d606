"""The rules of acknowledgements: what has to lie on which disk at the very moment at which somebody is told so.

They are those of docs/copies.md, and of no code. What a rule excuses it excuses by what was done to machines, as
whoever did it tells: a disk that was lost a moment ago may still be counted by those who have not heard.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from .stores import DONE, DROPPED, Key, Stores, joined, phase_of, says_all, stamp_of, told

HEARD_S: Final = 60.0
"""So long after a disk was lost somebody may not have heard of it."""
PROVISIONAL: Final = 2
"""The stores of a link that has too few copies: its owner's, and that of whoever found it."""

Tell = Callable[[str], None]


class Sight(Protocol):
    """The harness's own knowledge of the machines."""

    @property
    def now_s(self) -> float: ...

    @property
    def known(self) -> int:
        """The masters that all know of: those that live, and those that may come back."""

    def away_since(self, since_s: float) -> frozenset[str]:
        """Returns the masters to which anything has happened since then, and those to which it happens still."""

    def cut_s(self, since_s: float) -> float:
        """Returns when the first of the cuts began that lasted till then or longer; that moment, if none did."""

    @property
    def lonely(self) -> bool:
        """True if one master at most was there at some time since all copies were last whole: what ended then may be
        handed over before its links are anywhere else (docs/copies.md).
        """

    def set_back(self, master: str) -> bool:
        """Tells whether a master's disk is as it was at an earlier time, and all was not copied anew since: what it
        says to have it may have had once (docs/copies.md).
        """

    def unsynced(self, master: str) -> bool:
        """Tells whether a loss of power at this moment could take away what has been committed on a disk."""

    def deleted(self, job: int) -> bool:
        """Tells whether somebody has had a job deleted."""

    def destroyed(self, key: Key) -> bool:
        """Tells whether all disks are gone that had something of a fact's bucket at some time."""

    def name(self, key: Key) -> str:
        """Returns the URL of a fact."""


@dataclass(slots=True)
class Acknowledged:
    """Judges what is acknowledged, against the stores of that moment."""

    stores: Stores
    sight: Sight
    replicas: int
    links: Mapping[Key, Sequence[Key]]
    """The links of each page of the web, and what leads to what is the other way round:"""
    parents: Mapping[Key, Sequence[Key]]
    tell: Tell

    def synced(self, master: str, other: str, what: str) -> None:
        """Judges an acknowledgement of any kind: whatever is committed by then outlives a loss of power."""
        if self.sight.unsynced(master):
            self._tell(master, f"sent {other} {what} while a loss of power could take away what it has committed")

    # -- what a master says to another ---------------------------------------------------------

    def copied(self, holder: str, rows: Iterable[tuple[Key, int]], came_s: float) -> None:
        """Judges the word of a holder that these rows, each with its stamp, are on its disk."""
        store = self.stores.store(holder)
        for key, stamp in rows:
            left_s, was = store.left.get(key, (-1.0, -1))
            there = joined(store.stamp(key), was if left_s >= came_s else -1)
            if not says_all(there, stamp) and not self.sight.deleted(key[2]):
                self._tell(holder, f"answered that it has a copy of {self.sight.name(key)}, and has not")
                return

    def took_in(self, holder: str, owner: str, rows: Iterable[tuple[Key, int]]) -> None:
        """Judges the word of one that has copies of what is its own by its view: they are with the rest of that, for
        what lies among copies when a bucket is served already is taken in by nobody.
        """
        store = self.stores.store(holder)
        for key, stamp in rows:
            if not says_all(store.records.get(key, -1), stamp) and not self.sight.deleted(key[2]):
                text = f"answered {owner} that it has {self.sight.name(key)}, which is its own in its view"
                self._tell(holder, f"{text}, and has it not as its own")
                return

    def settled(self, owner: str, finder: str, links: Iterable[Key], entries: Collection[Key] = ()) -> None:
        """Judges the word of an owner that these links are as safe as they are to be, and those that are entries as
        such.
        """
        wanted = min(self.replicas, self.sight.known)
        for key in links:
            stores = self._stores_of(key)
            if key in entries:
                stores -= {node for node in self.stores.having(key) if not self.stores.of[node].is_entry(key)}
            if len(stores) < wanted and not self.sight.deleted(key[2]):
                text = f"settled {self.sight.name(key)} for {finder} with {wanted} stores"
                self._tell(owner, f"{text}, and it was with {told(stores)} only")
                return

    def provisional(self, owner: str, finder: str, links: Iterable[Key], entries: Collection[Key] = ()) -> None:
        """Judges the word of an owner that it has these links, if nobody else has, and knows which are entries."""
        store = self.stores.store(owner)
        for key in links:
            known = store.is_entry(key) if key in entries else store.stamp(key) >= 0
            if not known and not self.sight.deleted(key[2]):
                self._tell(owner, f"took {self.sight.name(key)} from {finder}, and has it not on its disk")
                return

    def merged(self, owner: str, teller: str, rows: Iterable[tuple[Key, int]]) -> None:
        """Judges the word of an owner that it has taken in how far these are."""
        for key, stamp in rows:
            if not says_all(self.stores.store(owner).stamp(key), stamp) and not self.sight.deleted(key[2]):
                self._tell(owner, f"took in {self.sight.name(key)} from {teller}, and has it not on its disk")
                return

    # -- what it says to a slave ---------------------------------------------------------------

    def granted(self, master: str, slave: str, leases: Iterable[tuple[int, int]]) -> None:
        """Judges leases, (record, lease) of each, at the moment at which a slave is told of them."""
        store = self.stores.store(master)
        for record, lease in leases:
            key = store.numbers.get(record)
            name = f"record {record}" if key is None else self.sight.name(key)
            if store.leases.get(record) != lease:
                self._tell(master, f"granted {name} to {slave}, and has no such lease on its disk")
                return
            if key is not None and phase_of(store.records[key]):
                self._tell(master, f"granted {name} to {slave}, which is through, as its own disk says")
                return

    def reported(self, master: str, slave: str, leases: Iterable[tuple[int, int]]) -> None:
        """Judges the word of a master that reports of these pages, which led nowhere, need not be said again."""
        store = self.stores.store(master)
        for record, lease in leases:
            key = store.numbers.get(record)
            if key is not None and store.leases.get(record) == lease:
                text = f"told {slave} that its report of {self.sight.name(key)} is durable"
                amiss = "its lease is open still" if phase_of(store.records[key]) else "it is not on its disk"
                self._tell(master, f"{text}, and {amiss}")
                return

    def paused(self, master: str, slave: str, host: str, key: int, asked_s: float) -> None:
        """Judges the word of a master that a report need not be said again in which a host asks to be left alone."""
        if key not in self.stores.store(master).pauses:
            text = f"told {slave} that its report is durable, by which {host} is left alone for {asked_s:g} s"
            self._tell(master, f"{text}, and its disk says nothing of it")

    # -- what a disk says ----------------------------------------------------------------------

    def ended(self, node: str, key: Key, *, is_copy: bool) -> None:
        """Judges a disk that knows a page to be done from now on: all that it led to is to be safe by then."""
        store = self.stores.store(node)
        stamp = store.stamp(key)
        if phase_of(stamp) != DONE or key not in self.links or self.sight.deleted(key[2]):
            return
        known = min(self.replicas, self.sight.known)
        # Who does not answer holds nothing up for long: then the others are enough.
        there = known - len(self.sight.away_since(self.sight.now_s - HEARD_S))
        for link in self.links[key]:
            stores = self._stores_of(link) | set(self.stores.spooling(link)) | self._lost_before_a_cut(link)
            alone = self._is_of_one_owner(key, link) or self.sight.lonely
            wanted = max(there, 1 if alone else min(known, PROVISIONAL))
            if len(stores) >= wanted or (node in stores and not is_copy) or self._is_told_elsewhere(link, key):
                continue
            if self.sight.destroyed(link):
                continue
            what = "has a copy that says" if is_copy else "has it on its disk"
            text = f"{what} that {self.sight.name(key)} is done, and {self.sight.name(link)} was with {told(stores)}"
            self._tell(node, f"{text} only, of {wanted}")
            return

    def unspooled(self, node: str, key: Key) -> None:
        """Judges a disk that keeps a link no more: it is settled, or the disk has it as its own."""
        if key in self.stores.store(node).records or self.sight.deleted(key[2]) or self.sight.destroyed(key):
            return
        stores, wanted = self._stores_of(key), min(self.replicas, self.sight.known)
        if len(stores) < wanted:
            text = f"keeps {self.sight.name(key)} no more, which is with {told(stores)} only, of {wanted}"
            self._tell(node, text)

    def leased_twice(self, node: str, key: Key) -> None:
        """Judges a disk that says that a URL has another lease from now on, though the one before is not over."""
        if not self.sight.deleted(key[2]):
            self._tell(node, f"leased {self.sight.name(key)} once more, which is in a slave's hands")

    def goes_back(self, node: str, key: Key, before: int, after: int) -> None:
        """Judges a disk that knows a URL to be less far than it knew before."""
        if not self.sight.deleted(key[2]):
            steps = f"{_words(before)} to {_words(after)}"
            self._tell(node, f"went back with {self.sight.name(key)} on its disk, from {steps}")

    def brought(self, pages: Iterable[tuple[Key, int]]) -> None:
        """Judges items that a sink is given, those of a visit of each page: the ends of these visits have as many
        copies as can be had.
        """
        away = self.sight.away_since(self.sight.now_s - HEARD_S)
        wanted = min(self.replicas, self.sight.known) - len(away)
        for key, visit in pages:
            stores = self._stores_of(key)
            ends = [node for node in stores if self._has_ended_at(node, key, visit)]
            if stores and len(ends) < wanted:
                text = f"a sink is given the items of {self.sight.name(key)}, whose end {told(ends)} had"
                self.tell(f"at {self.sight.now_s:.3f} s {text} only, of {wanted}")
                return

    # -- inside --------------------------------------------------------------------------------

    def _has_ended_at(self, node: str, key: Key, visit: int) -> bool:
        """Tells whether a disk knows that a visit of a page is over: none begins before the one before it is."""
        store = self.stores.of.get(node)
        return store is None or store.stamp(key) >= stamp_of(visit, DROPPED, 0, 0)

    def _stores_of(self, key: Key) -> set[str]:
        """Returns the names of all that have a fact, or had it a moment ago."""
        return {*self.stores.having(key), *self.stores.lately_lost(key, self.sight.now_s - HEARD_S)}

    def _lost_before_a_cut(self, key: Key) -> set[str]:
        """Returns whose disks had a fact, and were lost before or in a cut of which the others are not over yet: nobody
        could make good what was lost.
        """
        since_s = self.sight.now_s - HEARD_S
        if (cut_s := self.sight.cut_s(since_s)) < since_s:
            return set(self.stores.lately_lost(key, cut_s - HEARD_S))
        return set()

    def _is_of_one_owner(self, page: Key, link: Key) -> bool:
        """Tells whether somebody has both as its own: nobody keeps such a link besides."""
        return any(page in store.records and link in store.records for store in self.stores.of.values())

    def _is_told_elsewhere(self, link: Key, page: Key) -> bool:
        """Tells whether another page leads to this link that is not through: it has told it first, perhaps, and tells
        it again (docs/guarantees.md).
        """
        return any(
            other != page and (stores := self.stores.having(other))
            and not any(phase_of(self.stores.of[node].stamp(other)) for node in stores)
            for other in self.parents.get(link, ())
        )  # fmt: skip

    def _tell(self, node: str, what: str) -> None:
        self.tell(f"at {self.sight.now_s:.3f} s {node} {what}")


def _words(stamp: int) -> str:
    """Writes how far a URL is."""
    return f"visit {stamp >> 32}, phase {phase_of(stamp)}, {stamp >> 15 & 0x7FFF} attempts"
