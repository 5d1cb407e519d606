"""The rule of inherited imprints (docs/duplicates.md): one that was asked for by another master without a verdict may
have gone on to its next band there, so it is asked for without one again, and is held against nobody.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ..acknowledged import Tell
from ..stores import Key, Stores


class Sight(Protocol):
    """The harness's own knowledge of the machines."""

    @property
    def now_s(self) -> float: ...

    def set_back(self, master: str) -> bool:
        """Tells whether a master's disk is as it was at an earlier time, and all was not copied anew since."""


class Asked(NamedTuple):
    """An imprint that a master has asked for."""

    key: Key
    text: str
    """Its page and its visit,"""
    band: int
    is_last: bool
    """and whether there is a band behind this one."""
    first: str
    """The page that it is said to be a duplicate of."""


@dataclass(slots=True)
class Imprints:
    """Takes down which imprints masters ask for, and judges heirs."""

    stores: Stores
    sight: Sight
    tell: Tell
    _asked: dict[Key, tuple[str, Asked]] = field(default_factory=dict)
    """By whom each was first asked for."""
    _of_texts: dict[tuple[str, str], Asked] = field(default_factory=dict)
    """The last of each text that a master has asked for."""

    def asks(self, master: str, imprint: Asked) -> None:
        """Judges a master that asks for an imprint."""
        self._of_texts[master, imprint.text] = imprint
        who, before = self._asked.setdefault(imprint.key, (master, imprint))
        if who == master or before.first or imprint.is_last or not imprint.first:
            return
        if self._is_heir(master, imprint.key) and not any(map(self.sight.set_back, self.stores.of)):
            text = f"says that {imprint.text} is a duplicate of {imprint.first}, by band {imprint.band}"
            self.tell(f"at {self.sight.now_s:.3f} s {master} {text}, of which {who} had asked it on")

    def before(self, master: str, text: str, band: int) -> Key | None:
        """Returns the imprint that goes on when a master sends one of a later band; None where it asked for none."""
        imprint = self._of_texts.get((master, text))
        return imprint.key if imprint is not None and imprint.band < band else None

    def _is_heir(self, master: str, key: Key) -> bool:
        """Tells whether a master has an imprint from those who had it before, and not from a page that was fetched
        anew.
        """
        return key in self.stores.store(master).left or not any(key in lost.facts for lost in self.stores.lost)
