"""The contract of every sink: what it is brought, what it promises, and what whoever brings it may rely on.

A sink is one destination of the items of one job, as seen from one master. A master brings it the pages that it owns
and that are done, in the order in which they became durable, and keeps a durable cursor of how far that has come. The
cursor is stored *after* the sink has taken a batch, so whatever crashes, pages are brought again rather than never.
A sink makes that harmless in one of two ways:

* **It is keyed**: each item has a key that is the same whenever and by whomever it is brought (``SinkPage.key``), and
  what is there already under a key is replaced, or left alone, never added to. A later visit of a page replaces what
  its earlier ones gave (``upsert``), unless these are to be kept beside each other (``history``).
* **It is cut back**: it returns a position with each batch, which is stored with the cursor, and ``open`` cuts off what
  was written behind that.

``docs/sinks.md`` tells why it is so, and what was rejected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from p2pcrawl.model.errors import P2PCrawlError

Position = dict[str, Any]
"""Plain JSON data by which a sink goes on where it was; empty for one that needs none."""


class SinkAway(P2PCrawlError):
    """Raised when a sink can take nothing now: unreachable, stepping down, full, busy. The same pages are brought again
    later; nothing else is held up by it. The message is one line without a password.
    """


@dataclass(frozen=True, slots=True)
class SinkPage:
    """The items of one page on their way to a sink, with what is told beside them."""

    job: str
    """A name of the job that no other job in the world has, in hex."""
    fingerprint: str
    """The page, within its job, in hex."""
    url: str
    visit: int
    """0 for the first turn of the page; a later one replaces what earlier ones gave."""
    fetched_at: int
    """Seconds since 1970."""
    items: Sequence[bytes]
    """JSON objects in UTF-8, one for each item. A page may have none: a later visit that found nothing any more."""
    numbers: Sequence[int] | None = None
    """The number of each item on its page, where some of the page's items were left out by the sink's filter; None:
    0, 1, 2, ... What an earlier visit gave is told by its visit, therefore, and not by numbers from some number on."""
    again: bool = False
    """Another master may have brought it already: it was that one's, or there may have been one that is out of reach.
    A sink whose destination knows every key need
    not care; one that only adds to it asks first (``docs/sinks.md``, part files)."""

    def number_of(self, place: int) -> int:
        """Returns the number, on its page, of the item at this place of ``items``."""
        return place if self.numbers is None else self.numbers[place]

    def key(self, place: int, *, history: bool = False) -> str:
        """Returns the key of the item at this place of ``items``: the same however often it is brought, and by whom.

        With ``history`` each visit's items have keys of their own.
        """
        key = f"{self.job}-{self.fingerprint}-{self.number_of(place)}"
        return f"{key}-{self.visit}" if history else key


@dataclass(frozen=True, slots=True)
class RefusedItem:
    """One item that a sink will never take, and why, in one line: it goes to the dead letters."""

    page: SinkPage
    """The page as it was brought: that object, for another one may have its name."""
    place: int
    """Of the item in ``page.items``."""
    reason: str


@dataclass(frozen=True, slots=True)
class Written:
    """The end of a batch: it is durable at its destination, all but what was refused."""

    position: Position = field(default_factory=dict)
    refused: Sequence[RefusedItem] = ()
    left_out: int = 0
    """Items that a filter kept back: neither brought nor refused."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The size of the batches that a sink wants: one is brought when the first of these is reached."""

    items: int = 1000
    bytes: int = 4 * 1024 * 1024
    linger_s: float = 0.5
    """For how long a batch that is not full is waited for. When a job has ended, nothing is waited for."""


class Sink(Protocol):
    """One destination of one job's items. All methods run on the master's loop and never block it; one at a time."""

    limits: BatchLimits

    async def open(self, position: Position | None) -> Position:
        """Makes sure that the destination is there and would take items, as far as that can be known; goes on at
        ``position``, or begins where that is None. Returns the position now.

        May be called again, and is after a SinkAway. Raises ConfigurationError, one line without a password, for what
        can never work (a wrong address, password, table, no right to write), SinkAway for what may pass.
        """
        ...

    async def write(self, pages: Sequence[SinkPage]) -> Written:
        """Brings pages, in order; returns when their items are durable there. Raises SinkAway: then all of them are
        brought again.
        """
        ...

    async def finish(self) -> None:
        """Leaves the destination whole: the job has ended, and all its items were brought. May be repeated, and items
        may follow after all. Raises SinkAway.
        """
        ...

    async def close(self) -> None:
        """Lets go of the destination as it is. May be repeated; raises nothing."""
        ...
