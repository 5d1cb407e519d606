"""The rule of links first (docs/copies.md#links-first): what a master found while nobody else had it is with others
before they hear that a page is done, before their copies are called whole, and before it lets go of anything.

A master that dies between a commit and its copies comes back with pages that are done, and with links of theirs that
are on its disk alone; so does one that was the only one, and meets others. Which these are is seen from outside, when
it begins, and when it meets somebody: of what was with others at some time, and is not any more, nobody has to know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from ..acknowledged import Tell
from ..stores import DONE, Key, Stores, phase_of

WAITED_S: Final = 100.0
"""All else waits for two minutes, by any clock, for somebody who does not take the links."""


class Sight(Protocol):
    """The harness's own knowledge of the machines, and of whom they count."""

    @property
    def now_s(self) -> float: ...

    def fellows(self, master: str) -> frozenset[str]:
        """Returns the others that a master counts at this moment."""

    def holders(self, master: str, bucket: int) -> tuple[str, ...]:
        """Returns who holds a bucket by the ring, its owner first, in the view in which a master acts."""

    def set_back(self, master: str) -> bool:
        """Tells whether a master's disk is as it was at an earlier time, and all was not copied anew since."""

    def damaged(self) -> bool:
        """Tells whether what is on a disk was ever damaged."""

    def deleted(self, job: int) -> bool:
        """Tells whether somebody has had a job deleted."""

    def name(self, key: Key) -> str:
        """Returns the URL of a fact."""


class _Behind(NamedTuple):
    """The links that one master alone has, each with a page that it knows to be done and that leads to it; and since
    when that is so.
    """

    since_s: float
    links: dict[Key, Key]


@dataclass(slots=True)
class LinksFirst:
    """Judges masters that have something which nobody else has."""

    stores: Stores
    sight: Sight
    links: Mapping[Key, Sequence[Key]]
    """The links of each page of the web."""
    tell: Tell
    _behind: dict[str, _Behind] = field(default_factory=dict)
    _alone_s: dict[str, float] = field(default_factory=dict)
    """When a master was last seen to count nobody else."""
    _gone: set[Key] = field(default_factory=set)
    """What was on any disk that was lost."""

    def started(self, master: str) -> None:
        """Takes in that a master begins anew, with what is on its disk."""
        self._alone_s.pop(master, None)
        self._take_down(master, self.sight.now_s)

    def looks(self, master: str) -> None:
        """Takes down whether a master counts others; it is called with each of its transactions."""
        if not self.sight.fellows(master):
            self._alone_s[master] = self.sight.now_s
        elif (alone_s := self._alone_s.pop(master, None)) is not None:
            self._take_down(master, alone_s)

    def lost(self) -> None:
        """Takes in that a disk is no more."""
        self._gone.update(self.stores.lost[-1].facts if self.stores.lost else ())

    def copies(self, master: str, holder: str, rows: Iterable[tuple[Key, int]]) -> None:
        """Judges what a master tells a holder: no page is done, while it has links that are nowhere else."""
        done = next((key for key, stamp in rows if phase_of(stamp) == DONE and not self.sight.deleted(key[2])), None)
        if done is not None:
            self._judge(master, f"told {holder} that {self.sight.name(done)} is done")

    def lets_go(self, master: str, claimer: str) -> None:
        """Judges a master that lets another one have buckets."""
        self._judge(master, f"let {claimer} have buckets")

    def syncs(self, master: str, holder: str) -> None:
        """Judges a master that says to a holder that its copies are whole."""
        self._judge(master, f"told {holder} that its copies are whole")

    # -- inside --------------------------------------------------------------------------------

    def _take_down(self, master: str, until_s: float) -> None:
        """Takes down what a master alone has, of what it knew by then."""
        store = self.stores.store(master)
        found: dict[Key, Key] = {}
        for page, stamp in store.records.items():
            for link in self.links.get(page, ()) if phase_of(stamp) == DONE else ():
                known = link in store.records and store.came.get(link, 0.0) <= until_s
                if known and link not in self._gone and self._is_alone(master, link):
                    found[link] = page
        self._behind[master] = _Behind(self.sight.now_s, found)

    def _judge(self, master: str, said: str) -> None:
        behind = self._behind.get(master)
        if behind is None or not behind.links:
            return
        for link in [link for link in behind.links if not self._is_still(master, link)]:
            del behind.links[link]
        late = self.sight.now_s > behind.since_s + WAITED_S
        if late or self.sight.damaged() or any(map(self.sight.set_back, self.stores.of)):
            return
        for link, page in behind.links.items():
            # With nobody else who is to hold it there is nobody to send it to.
            if len(self.sight.holders(master, self.stores.bucket_of[link])) > 1:
                what = f"{self.sight.name(link)}, to which {self.sight.name(page)} leads"
                self.tell(f"at {self.sight.now_s:.3f} s {master} {said}, while it alone had {what}")
                return

    def _is_still(self, master: str, link: Key) -> bool:
        """Tells whether a link is still on one disk only, and nobody had it meanwhile."""
        return (
            link in self.stores.store(master).records
            and link not in self._gone
            and not self.sight.deleted(link[2])
            and self._is_alone(master, link)
        )

    def _is_alone(self, master: str, link: Key) -> bool:
        return not ({*self.stores.having(link), *self.stores.spooling(link)} - {master})
