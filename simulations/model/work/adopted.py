"""The rules of what a slave brings from the masters before: it is safe when it is said to be, its links before its end
(docs/copies.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ..acknowledged import Tell
from ..stores import Key, Stores, phase_of


class Sight(Protocol):
    """The harness's own knowledge of the machines, and of what facts are called."""

    @property
    def now_s(self) -> float: ...

    def deleted(self, job: int) -> bool:
        """Tells whether somebody has had a job deleted."""

    def destroyed(self, key: Key) -> bool:
        """Tells whether all disks are gone that had something of a fact's bucket at some time."""

    def lies(self, slave: str) -> bool:
        """Tells whether a slave says what it should not."""

    def name(self, key: Key) -> str:
        """Returns the URL of a fact."""


class Brought(NamedTuple):
    """A page that a slave brings: whether it says how that ended, and what it led to."""

    page: Key
    ends: bool
    links: tuple[Key, ...]
    is_verdict: bool = False
    """It follows from a verdict on a text, which whoever owns that by now gives anew (docs/duplicates.md)."""


@dataclass(slots=True)
class Adoptions:
    """Judges masters that take in what slaves bring."""

    stores: Stores
    sight: Sight
    jobs: Mapping[str, Collection[int]]
    """The jobs that each disk has."""
    tell: Tell
    _brought: dict[tuple[str, str, int], list[Brought]] = field(default_factory=dict)
    _led: dict[Key, tuple[str, tuple[Key, ...]]] = field(default_factory=dict)
    """What pages led to that somebody is about to have ended, and who."""

    def comes(self, master: str, slave: str, sequence: int, pages: Iterable[Brought]) -> None:
        """Takes in what a slave brings to a master."""
        known = self.jobs.get(master, ())
        told = [each for each in pages if each.page[2] in known and not each.is_verdict]
        self._brought[master, slave, sequence] = told
        self._led.update({each.page: (master, each.links) for each in told if each.ends})

    def ends(self, master: str, pages: Iterable[Key]) -> None:
        """Judges a master that has another one end pages that a slave has brought: their links are somewhere by now."""
        for page in pages:
            who, links = self._led.get(page, ("", ()))
            if who == master and (lacking := self._nowhere(links)) is not None:
                text = f"has {self.sight.name(page)} ended, which a slave has brought, while nobody has"
                self._tell(master, f"{text} {self.sight.name(lacking)}, to which it leads")
                return

    def adopts(self, master: str, slave: str, sequence: int) -> None:
        """Judges the word of a master that what a slave has brought is safe."""
        for each in self._brought.pop((master, slave, sequence), ()):
            if self.sight.deleted(each.page[2]) or self.sight.lies(slave):
                continue
            text = f"told {slave} that what it brought of {self.sight.name(each.page)} is safe"
            if (lacking := self._nowhere(each.links)) is not None:
                self._tell(master, f"{text}, and nobody has {self.sight.name(lacking)}, to which it leads")
                return
            if each.ends and not self._has_ended(each.page):
                self._tell(master, f"{text}, and it has ended on no disk")
                return

    # -- inside --------------------------------------------------------------------------------

    def _has_ended(self, page: Key) -> bool:
        if self.sight.destroyed(page):
            return True
        stores = [self.stores.of[name] for name in self.stores.having(page)]
        lost = [lost.facts[page] for lost in self.stores.lost if page in lost.facts]
        return any(phase_of(stamp) or stamp >> 32 for stamp in (*lost, *(store.stamp(page) for store in stores)))

    def _nowhere(self, links: Iterable[Key]) -> Key | None:
        """Returns a link that is on no disk."""
        for link in links:
            there = self.stores.having(link) or self.stores.spooling(link)
            if not there and not self.sight.deleted(link[2]) and not self._was_there(link):
                return link
        return None

    def _was_there(self, link: Key) -> bool:
        return self.sight.destroyed(link) or any(link in lost.facts for lost in self.stores.lost)

    def _tell(self, node: str, what: str) -> None:
        self.tell(f"at {self.sight.now_s:.3f} s {node} {what}")
