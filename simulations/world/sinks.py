"""The destinations of a job's items in the simulated world: databases that know a key of each item, and buckets.

Both fail as they are asked to.

Masters reach them through the door by which they reach all sinks, and so run their own code up to it. A batch takes its
time, and whoever dies in the middle leaves half of it in a database, as with an unordered bulk write. Into a bucket
masters bring part files, by their own code up to what is asked of the store itself.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from random import Random

from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.stores.address import SinkAddress
from p2pcrawl.stores.kinds import SinkPlace, register_kind
from p2pcrawl.stores.parts.manifest import MANIFESTS, decode_manifest
from p2pcrawl.stores.parts.part_address import sink_of_parts
from p2pcrawl.stores.parts.part_sink import PartSink
from p2pcrawl.stores.parts.part_store import Blob, BlobFacts, Overtaken
from p2pcrawl.stores.sink import BatchLimits, Position, RefusedItem, SinkAway, SinkPage, Written

from ..kernel.life import LIFE
from ..kernel.moments import ASKED, TOLD

SCHEME, BUCKETS = "simulated", "simulated-parts"
WRITE_S = 0.01
LOST_SHARES = (0.1, 0.1, 0.4)
"""Of the batches that are there, so many are not known to be: the answer got lost. Drawn for each database."""
PICKY_SHARE = 0.3
"""Of the databases: those that take no item whose URL ends in 7."""
UNCONFIRMED_SHARES = (0.02, 0.02, 0.12)
"""Of the files that are in a bucket, likewise; a batch is three of them."""
STEP = "sink"
"""The kind of the moments at which a sink is asked to take something, and has taken it, and told nobody."""
SECRET = "the-password-of-the-simulated-world"


@dataclass(slots=True)
class Destination:
    """One database: what is in it, how it does, and what it has refused."""

    dice: Random
    items: dict[str, str] = field(default_factory=dict)
    """The URL of each item, by its key."""
    lines: dict[str, bytes | str] = field(default_factory=dict)
    """Each item as it came, by its key."""
    visits: dict[str, int] = field(default_factory=dict)
    """The visit of each page whose items are here."""
    refused: set[str] = field(default_factory=set)
    """The URL of each item that it has refused, and not taken since."""
    away: bool = False
    slow_s: float = 0.0
    picky: bool = False
    """It takes no item whose URL ends in 7."""
    brought: int = 0
    """Items that came, as often as they did."""
    strangers: int = 0
    """Openings with a wrong password."""
    heard: Callable[[Sequence[SinkPage]], None] | None = None
    """Who is told of each batch as it comes,"""
    tried: Callable[[float], None] | None = None
    """and how long before whoever tries to open it has found it away."""
    lost_share: float = LOST_SHARES[0]

    async def take(self, pages: Sequence[SinkPage]) -> list[RefusedItem]:
        """Takes in a batch, one half after the other. Raises SinkAway in the middle of it, too."""
        if self.heard is not None:
            self.heard(pages)
        await self._answer()
        refused: list[RefusedItem] = []
        await _happens(ASKED)
        for number, page in enumerate(pages):
            if number == len(pages) // 2:
                await self._answer()
            refused += self._take(page)
        await _happens(TOLD)
        await self._answer()
        if self.dice.random() < self.lost_share:
            raise SinkAway("the answer of the simulated database got lost")
        return refused

    def has_page(self, fingerprint: str) -> bool:
        """Tells whether a page was brought here, whatever was refused of it."""
        return fingerprint in self.visits

    def has_refused(self, page: SinkPage) -> bool:
        """Tells whether an item of a page has been refused, and not taken since."""
        return any(str(json.loads(item)["url"]) in self.refused for item in page.items)

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
                del self.items[key], self.lines[key]
        self.visits[page.fingerprint] = page.visit
        for place, item in enumerate(page.items):
            self.brought += 1
            url = str(json.loads(item)["url"])
            if self.picky and url.endswith("7"):
                self.refused.add(url)
                yield RefusedItem(page, place, "its URL ends in 7")
            else:
                self.refused.discard(url)
                self.items[page.key(place)], self.lines[page.key(place)] = url, item


class SimSink:
    """One master's way to a destination."""

    limits = BatchLimits(items=20, linger_s=0.5)

    def __init__(self, destination: Destination, secret: str) -> None:
        self._destination = destination
        self._secret = secret
        self._away_s: float | None = None
        """When it was found to be away."""

    async def open(self, position: Position | None) -> Position:
        if self._away_s is not None and self._destination.tried is not None:
            self._destination.tried(asyncio.get_running_loop().time() - self._away_s)
        with self._watched():
            await self._destination._answer()
        if self._secret != SECRET:
            self._destination.strangers += 1
            raise SinkAway("the simulated database does not know this password")
        return {}

    async def write(self, pages: Sequence[SinkPage]) -> Written:
        with self._watched():
            return Written(refused=await self._destination.take(pages))

    async def finish(self) -> None:
        with self._watched():
            await self._destination._answer()

    async def close(self) -> None:
        """Lets go of nothing."""

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Takes down whether the destination is away."""
        try:
            yield
        except SinkAway:
            self._away_s = asyncio.get_running_loop().time()
            raise
        self._away_s = None


@dataclass(slots=True)
class Bucket:
    """A bucket of an object store: its files, with a tag each, and how it does. Another master sees what was written
    at once.
    """

    dice: Random
    files: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    away: bool = False
    slow_s: float = 0.0
    picky: bool = False
    """Nobody looks into what is brought there."""
    refused: set[str] = field(default_factory=set)
    strangers: int = 0
    writes: int = 0
    compares: bool = True
    unconfirmed_share: float = UNCONFIRMED_SHARES[0]

    async def get(self, name: str) -> Blob | None:
        await self._answer()
        data, tag = self.files.get(name, (b"", 0))
        return Blob(data, str(tag)) if tag else None

    async def facts(self, name: str) -> BlobFacts | None:
        blob = await self.get(name)
        return None if blob is None else BlobFacts(0.0, len(blob.data), blob.tag)

    async def put(self, name: str, data: bytes) -> None:
        await self._answer()
        await _happens(ASKED)
        self._write(name, data)
        await self._confirm()

    async def exchange(self, name: str, data: bytes, tag: str | None) -> str:
        await self._answer()
        _, now = self.files.get(name, (b"", 0))
        await _happens(ASKED)
        if (str(now) if now else None) != tag:
            raise Overtaken(name)
        self._write(name, data)
        written = str(self.writes)
        await self._confirm()
        return written

    async def names(self, folder: str) -> list[str]:
        await self._answer()
        front = f"{folder}/" if folder else ""
        inside = (name.removeprefix(front) for name in sorted(self.files) if name.startswith(front))
        return [name for name in inside if "/" not in name]

    async def delete(self, name: str) -> None:
        await self._answer()
        self.files.pop(name, None)

    async def close(self) -> None:
        """Lets go of nothing."""

    def urls(self) -> Counter[str]:
        """Counts how often each URL's item is there."""
        return Counter(str(json.loads(line)["url"]) for line in self.contents())

    def contents(self) -> list[bytes]:
        """Returns the items in the parts that some manifest lists. A part that is listed and not there, or not whole,
        has none.
        """
        found: list[bytes] = []
        for name, (data, _) in self.files.items():
            if not name.startswith(f"{MANIFESTS}/"):
                continue
            for part in decode_manifest(data, name).parts:
                there, _ = self.files.get(part.name, (b"", 0))
                if sha256(there).hexdigest() == part.sha256:
                    found += there.splitlines()
        return found

    def _write(self, name: str, data: bytes) -> None:
        self.writes += 1
        self.files[name] = data, self.writes

    async def _answer(self) -> None:
        await asyncio.sleep(WRITE_S + self.slow_s)
        if self.away:
            raise SinkAway("the simulated object store does not answer")

    async def _confirm(self) -> None:
        """Says that something is written; now and then that gets lost, once a job has begun."""
        await _happens(TOLD)
        await self._answer()
        if self.dice.random() < self.unconfirmed_share and any(name.startswith(f"{MANIFESTS}/") for name in self.files):
            raise SinkAway("the answer of the simulated object store got lost")


async def _happens(phase: str) -> None:
    """Tells who hears of moments of one of whoever asks a sink. Who dies of it asks for nothing more."""
    life = LIFE.get()
    if life is None:
        return
    life.node.moments.happen(life.node.name, STEP, phase)
    if life.dead:
        await asyncio.sleep(0)


Place = Destination | Bucket
_places: dict[str, Place] = {}
"""Of the running simulation, by their addresses: one runs at a time in a process."""


def make_sink(address: SinkAddress, place: SinkPlace) -> SimSink | PartSink:
    """Makes a master's way to the destination of this address."""
    there = _places[address.url]
    if isinstance(there, Destination):
        return SimSink(there, address.secret)
    sink = sink_of_parts(address, place, lambda split: there)
    sink.limits = SimSink.limits
    return sink


@contextmanager
def destinations(count: int, seed: int, buckets: int = 0) -> Iterator[dict[str, Place]]:
    """Lets so many databases and buckets be there for the block, by their addresses."""
    register_kind(SCHEME, __name__)
    register_kind(BUCKETS, __name__)
    made: dict[str, Place] = {
        f"{SCHEME}://database{n}": Destination(
            Random(f"{seed}/sink {n}"),
            picky=Random(f"{seed}/picky {n}").random() < PICKY_SHARE,
            lost_share=Random(f"{seed}/lost answers {n}").choice(LOST_SHARES),
        )
        for n in range(count)
    }
    made |= {
        f"{BUCKETS}://bucket{n}/items.jsonl": Bucket(
            Random(f"{seed}/bucket {n}"),
            unconfirmed_share=Random(f"{seed}/unconfirmed files {n}").choice(UNCONFIRMED_SHARES),
        )
        for n in range(buckets)
    }
    _places.update(made)
    try:
        yield made
    finally:
        _places.clear()


def specs_of(made: dict[str, Place]) -> list[SinkSpec]:
    """Returns the sinks that a job is submitted with to have its items there."""
    return [SinkSpec(url, secret=SECRET if isinstance(place, Destination) else "") for url, place in made.items()]


def contents(place: Place) -> Counter[str]:
    """Counts how often each URL's item is there."""
    return Counter(place.items.values()) if isinstance(place, Destination) else place.urls()


def lines(place: Place) -> list[bytes | str]:
    """Returns all items that are there, as they came."""
    return list(place.lines.values()) if isinstance(place, Destination) else [*place.contents()]
