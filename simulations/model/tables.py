"""The rules of one disk: what its tables say of each other, and what they said before, after each transaction.

A URL has one record and is found by its fingerprint, once; it is in a queue as long as it is queued, once; parts of a
page that is not over belong to a lease, and its items are written with its end (docs/architecture.md). What a host has
asked for, and what another master has counted, is not replaced by what was said before. Whatever is otherwise is lost,
or done twice, some time later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from .acknowledged import Tell
from .stores import Key, Store, Stores, phase_of

QUEUED: Final = 0
Has = Callable[[str], bool]


class Names(Protocol):
    """The harness's own knowledge of what facts are called."""

    @property
    def now_s(self) -> float: ...

    def deleted(self, job: int) -> bool:
        """Tells whether somebody has had a job deleted."""

    def name(self, key: Key) -> str:
        """Returns the URL of a fact."""


@dataclass(slots=True)
class Tables:
    """Judges disks, each by itself."""

    stores: Stores
    sight: Names
    tell: Tell

    def stored(self, node: str, numbers: Collection[int], keys: Collection[Key]) -> None:
        """Judges a frontier of which a transaction has changed these records, by their numbers there and their keys."""
        store = self.stores.store(node)
        amiss = [*(self._stands(store, number) for number in numbers), *(self._is_found(store, key) for key in keys)]
        if what := next(filter(None, amiss), ""):
            self._tell(node, f"has {what}")

    def items_anew(self, node: str, key: Key) -> None:
        """Judges a disk that writes the items of a page which it knows to be no further than before."""
        if not self.sight.deleted(key[2]):
            self._tell(node, f"has items of {self.sight.name(key)} written anew, which is no further than it was")

    def shortened(self, node: str, before_s: float, until_s: float) -> None:
        """Judges a disk by which a host is left alone until some moment, and which knew of a later one."""
        self._tell(node, f"has a host left alone until {until_s:g}, which was to be left alone until {before_s:g}")

    def older_account(self, node: str, whose: str, before: int, after: int) -> None:
        """Judges a disk that knows what somebody has counted as it was before."""
        self._tell(node, f"has version {after} of what {whose} has counted, after {before}")

    def _stands(self, store: Store, number: int) -> str:
        """Says what is wrong with how a record stands."""
        key, queued = store.numbers.get(number), store.queued[number]
        if key is None:
            return f"record {number} in its queue, and there is none" if queued else ""
        is_queued = phase_of(store.records[key]) == QUEUED
        if queued != is_queued:
            return f"{self.sight.name(key)} {'queued' if is_queued else 'through'}, and {queued} times in its queue"
        if store.staged[number] and number not in store.leases:
            return f"parts of {self.sight.name(key)}, which is in nobody's hands"
        return ""

    def _is_found(self, store: Store, key: Key) -> str:
        """Says what is wrong with how a URL is found."""
        found = store.found.get(key, ())
        there = tuple(number for number in found if store.numbers.get(number) == key)
        if len(found) == len(there) == (key in store.records):
            return ""
        count = f"{len(there)} times" if there else "no more"
        return f"{self.sight.name(key)} {count} as a record, and finds {found} by its fingerprint"

    def _tell(self, node: str, what: str) -> None:
        self.tell(f"at {self.sight.now_s:.3f} s {node} {what}")


@dataclass(slots=True)
class Marks:
    """Judges what disks say of sinks: one that is said to have the items of a page has been brought it (docs/sinks.md).
    What is marked is brought by nobody any more: a mark that is lost costs a repeat, one that is wrong the items.
    """

    sight: Names
    tell: Tell
    sinks: dict[int, Sequence[Has | None]] = field(default_factory=dict)
    """By job: whether each of its sinks has a page; None for one of which nobody can say."""

    def marked(self, node: str, key: Key, fingerprint: str, marks: int) -> None:
        """Judges a disk that says from now on which sinks have the items of a page, a bit for each."""
        for place, has in enumerate(self.sinks.get(key[2], ())):
            if marks >> place & 1 and has is not None and not has(fingerprint):
                what = f"says that sink {place} has the items of {self.sight.name(key)}, which it has not"
                self.tell(f"at {self.sight.now_s:.3f} s {node} {what}")
