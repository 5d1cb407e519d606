"""The rule of the mark (docs/copies.md#links-first): up to the record that a disk names, all that was found there was
with others, and as what it was, entries as entries.

What is behind the mark is sent ahead when a master is back, and what is not behind it is not: so a link up to the mark
that nobody else has ever had comes behind the page that led to it. What was with others once is no matter of the mark.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final, Protocol

from ..acknowledged import Tell
from ..stores import Key, Store, Stores, is_entry

WAITED_S: Final = 100.0
"""Who does not take a link is waited for two minutes, by any clock, and then the mark goes on."""


class Sight(Protocol):
    """The harness's own knowledge of the machines, and of what facts are called."""

    @property
    def now_s(self) -> float: ...

    def set_back(self, master: str) -> bool:
        """Tells whether a master's disk is as it was at an earlier time, and all was not copied anew since."""

    def damaged(self) -> bool:
        """Tells whether what is on a disk was ever damaged."""

    def deleted(self, job: int) -> bool:
        """Tells whether somebody has had a job deleted."""

    def name(self, key: Key) -> str:
        """Returns the URL of a fact."""


@dataclass(slots=True)
class Marked:
    """Judges disks by their marks, each time that one moves, and that something below it becomes an entry."""

    stores: Stores
    sight: Sight
    tell: Tell
    _marks: dict[str, int] = field(default_factory=dict)
    _began_s: dict[str, float] = field(default_factory=dict)

    def started(self, node: str) -> None:
        """Takes in that a master begins anew, with the mark that is on its disk."""
        self._began_s[node] = self.sight.now_s
        self._marks[node] = self.stores.store(node).mark

    def stored(self, node: str, entered: Collection[int]) -> None:
        """Judges a disk of which a transaction has moved the mark, maybe; ``entered``: the records that are entries
        since this one, and were there before.
        """
        store = self.stores.store(node)
        before = self._marks.get(node, store.mark)
        self._marks[node] = store.mark
        passed = [number for number in store.numbers if before < number <= store.mark] if store.mark > before else []
        for number in (*passed, *(number for number in entered if number <= store.mark)):
            if (key := store.numbers.get(number)) is not None and (what := self._unknown(node, store, key)):
                text = f"says with its mark at record {store.mark} that all up to there is with others"
                self.tell(f"at {self.sight.now_s:.3f} s {node} {text}, and {what}")
                return

    # -- inside --------------------------------------------------------------------------------

    def _unknown(self, node: str, store: Store, key: Key) -> str:
        """Says what nobody else has ever known of a URL; "" if all of it was known, or nobody can say."""
        since_s = max(store.came.get(key, 0.0), self._began_s.get(node, 0.0))
        late = self.sight.now_s > since_s + WAITED_S
        if late or self.sight.deleted(key[2]) or self.sight.damaged() or any(map(self.sight.set_back, self.stores.of)):
            return ""
        known = self._stamps_elsewhere(node, key)
        if not known:
            return f"nobody else ever had {self.sight.name(key)}"
        if is_entry(store.records[key]) and not any(map(is_entry, known)):
            return f"nobody else ever knew that {self.sight.name(key)} is an entry"
        return ""

    def _stamps_elsewhere(self, node: str, key: Key) -> list[int]:
        """Returns how far all others know, or have known, a URL to be."""
        others = [store for name, store in self.stores.of.items() if name != node]
        here = self.stores.store(node)
        stamps = [store.stamp(key) for store in others]
        stamps += [store.left[key][1] for store in (*others, here) if key in store.left]
        stamps += [here.held[key]] if key in here.held else []
        stamps += [lost.facts[key] for lost in self.stores.lost if key in lost.facts]
        return [stamp for stamp in stamps if stamp >= 0] + [0 for store in others if store.spooled[key]]
