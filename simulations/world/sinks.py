"""The destinations of a job's items in the simulated world: databases that know a key of each item, and fail as asked.

Masters reach them through the door by which they reach all sinks, and so run their own code up to it. A batch takes its
time, and whoever dies in the middle leaves half of it there, as with an unordered bulk write.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.stores.address import SinkAddress
from p2pcrawl.stores.kinds import SinkPlace, register_kind
from p2pcrawl.stores.sink import BatchLimits, Position, RefusedItem, SinkAway, SinkPage, Written

SCHEME = "simulated"
WRITE_S = 0.01
LOST_SHARE = 0.1
"""Of the batches that are there, so many are not known to be: the answer got lost."""
SECRET = "the-password-of-the-simulated-world"


@dataclass(slots=True)
class Destination:
    """One database: what is in it, how it does, and what it has refused."""

    dice: Random
    items: dict[str, str] = field(default_factory=dict)
    """The URL of each item, by its key."""
    visits: dict[str, int] = field(default_factory=dict)
    """The visit of each page whose items are here."""
    refused: set[str] = field(default_factory=set)
    away: bool = False
    slow_s: float = 0.0
    picky: bool = False
    """It takes no item whose URL ends in 7."""
    brought: int = 0
    """Items that came, as often as they did."""
    strangers: int = 0
    """Openings with a wrong password."""

    async def take(self, pages: Sequence[SinkPage]) -> list[RefusedItem]:
        """Takes in a batch, one half after the other. Raises SinkAway in the middle of it, too."""
        await self._answer()
        refused: list[RefusedItem] = []
        for number, page in enumerate(pages):
            if number == len(pages) // 2:
                await self._answer()
            refused += self._take(page)
        await self._answer()
        if self.dice.random() < LOST_SHARE:
            raise SinkAway("the answer of the simulated database got lost")
        return refused

    async def _answer(self) -> None:
        await asyncio.sleep(WRITE_S + self.slow_s)
        if self.away:
            raise SinkAway("the simulated database is away")

    def _take(self, page: SinkPage) -> Iterator[RefusedItem]:
        known = self.visits.get(page.fingerprint, page.visit)
        if page.visit < known:
            return
        if page.visit > known:
            for key in [key for key in self.items if key.startswith(f"{page.job}-{page.fingerprint}-")]:
                del self.items[key]
        self.visits[page.fingerprint] = page.visit
        for place, item in enumerate(page.items):
            self.brought += 1
            url = str(json.loads(item)["url"])
            if self.picky and url.endswith("7"):
                self.refused.add(url)
                yield RefusedItem(page, place, "its URL ends in 7")
            else:
                self.items[page.key(place)] = url


class SimSink:
    """One master's way to a destination."""

    limits = BatchLimits(items=20, linger_s=0.5)

    def __init__(self, destination: Destination, secret: str) -> None:
        self._destination = destination
        self._secret = secret

    async def open(self, position: Position | None) -> Position:
        await self._destination._answer()
        if self._secret != SECRET:
            self._destination.strangers += 1
            raise SinkAway("the simulated database does not know this password")
        return {}

    async def write(self, pages: Sequence[SinkPage]) -> Written:
        return Written(refused=await self._destination.take(pages))

    async def finish(self) -> None:
        await self._destination._answer()

    async def close(self) -> None:
        """Lets go of nothing."""


_destinations: dict[str, Destination] = {}
"""Of the running simulation, by their addresses: one runs at a time in a process."""


def make_sink(address: SinkAddress, place: SinkPlace) -> SimSink:
    """Makes a master's way to the destination of this address."""
    return SimSink(_destinations[address.url], address.secret)


@contextmanager
def destinations(count: int, seed: int) -> Iterator[dict[str, Destination]]:
    """Lets so many destinations be there for the block, by their addresses."""
    register_kind(SCHEME, __name__)
    made = {f"{SCHEME}://database{n}": Destination(Random(f"{seed}/sink {n}")) for n in range(count)}
    _destinations.update(made)
    try:
        yield made
    finally:
        _destinations.clear()


def specs_of(made: dict[str, Destination]) -> list[SinkSpec]:
    """Returns the sinks that a job is submitted with to have its items there."""
    return [SinkSpec(url, secret=SECRET) for url in made]


def contents(destination: Destination) -> Counter[str]:
    """Counts how often each URL's item is there."""
    return Counter(destination.items.values())
