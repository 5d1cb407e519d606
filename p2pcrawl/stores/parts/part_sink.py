"""The sink of part files: each batch becomes one part, which counts once its writer's manifest lists it.

The order of a write is: columns, keys, part, manifest. The manifest is exchanged only if nobody changed it since it
was read, so a part counts from one moment on, or never; then the position is how many parts it lists. The parts that
are listed behind the position when the place is opened again hold what will be brought once more, perhaps cut into
other batches: they are *doubtful* until all of it has been. Other writers are the matter of ``manifests``.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.parts.item_keys import short_key, sorted_keys
from p2pcrawl.stores.parts.manifest import MANIFESTS, Manifest, Part, keys_name, part_name, writer_name
from p2pcrawl.stores.parts.manifests import Manifests
from p2pcrawl.stores.parts.part_formats import Encoded, PartFormat
from p2pcrawl.stores.parts.part_store import Overtaken, PartStore
from p2pcrawl.stores.parts.shared_columns import SCHEMA, SharedColumns
from p2pcrawl.stores.parts.told_beside import Beside
from p2pcrawl.stores.sink import BatchLimits, Position, RefusedItem, SinkAway, SinkPage, Written
from p2pcrawl.stores.tables.column_types import Columns

PART_LIMITS = BatchLimits(items=100_000, bytes=16 * 1024 * 1024, linger_s=60.0)
"""A part of this size is 2 to 4 MB when it is compressed, and costs 100 MB of memory as Parquet in the making."""
_TRIES = 8


@dataclass(frozen=True, slots=True)
class PartPlan:
    """The plan of one sink of parts: how they are named, and what is in them."""

    where: str
    """For people."""
    ending: str
    format: PartFormat
    beside: Beside = field(default_factory=Beside)
    types: Columns = field(default_factory=dict)
    limits: BatchLimits = PART_LIMITS
    job: str = ""
    store: str = ""
    """The writer's; "" where there is no other, so that a name is drawn."""
    replace: bool = False


@dataclass(frozen=True, slots=True)
class _Brought:
    page: SinkPage
    place: int
    key: bytes


class PartSink:
    """A :class:`~p2pcrawl.stores.sink.Sink` of part files in one folder, for one master."""

    def __init__(self, store: PartStore, plan: PartPlan) -> None:
        self.limits = plan.limits
        self._store = store
        self._plan = plan
        self._manifests = Manifests(store, plan.where, plan.job)
        self._columns = SharedColumns(store, plan.where, plan.types)

    async def open(self, position: Position | None) -> Position:
        manifests, plan, stored = self._manifests, self._plan, position or {}
        manifests.writer = stored.get("writer") or writer_name(plan.job, plan.store or secrets.token_hex(16))
        manifests.passed, manifests.doubtful = stored.get("parts", 0), dict.fromkeys(stored.get("doubtful", ()))
        await self._probe()
        await manifests.read()
        if manifests.manifest is not None:
            await manifests.remove_strays()
        return self._position()

    async def write(self, pages: Sequence[SinkPage]) -> Written:
        rows = [
            _Brought(page, place, short_key(page.key(place, history=True)))
            for page in pages
            for place in range(len(page.items))
        ]
        try:
            for attempt in range(_TRIES):
                try:
                    await self._begin()
                    refused = await self._write(rows)
                except Overtaken:
                    await asyncio.sleep(0.01 * attempt * (1 + secrets.randbelow(10)))
                    await self._manifests.read()
                    continue
                self._manifests.brought({row.key for row in rows})
                return Written(self._position(), refused)
        except ConfigurationError as error:
            raise SinkAway(str(error)) from error  # It worked before, so somebody may put it right again.
        raise SinkAway(f"{self._plan.where} is written by others all the time; trying again")

    async def finish(self) -> None:
        try:
            if self._plan.replace:
                await self._begin()
            if self._manifests.manifest is not None:
                await self._manifests.remove_strays()
            await self._manifests.remove_strays_of_others()
        except Overtaken:
            raise SinkAway(f"{self._plan.where} is written by others; trying again") from None
        except ConfigurationError as error:
            raise SinkAway(str(error)) from error

    async def close(self) -> None:
        await self._store.close()

    async def _probe(self) -> None:
        """Tries all that will be asked of the place. Raises ConfigurationError and SinkAway."""
        name = f"_probe-{secrets.token_hex(8)}"
        await self._store.names(MANIFESTS)
        await self._store.put(name, b"?")
        seen = name in await self._store.names("") and await self._store.get(name)
        await self._store.delete(name)
        if not seen:
            raise ConfigurationError(f"{self._plan.where}: what is written there cannot be seen: let it be read, too")

    async def _begin(self) -> None:
        """Makes the manifest before the first part, and room for it where what was there is to go."""
        if self._manifests.manifest is not None:
            return
        if self._plan.replace:
            await self._manifests.remove_other_jobs()
            if not await self._store.names(MANIFESTS):
                await self._store.delete(SCHEMA)
        await self._manifests.exchange(Manifest(self._plan.job, self._manifests.writer))
        await self._manifests.read()

    async def _write(self, rows: Sequence[_Brought]) -> list[RefusedItem]:
        """Brings rows, but for those that are there. Raises Overtaken when somebody sealed our manifest meanwhile."""
        there = await self._manifests.there({row.key for row in rows}, {row.key for row in rows if row.page.again})
        rows = [row for row in rows if row.key not in there]
        if not rows:
            return []
        items = [self._plan.beside.told(row.page, row.place) for row in rows]
        if self._plan.format.columned:
            await self._columns.learn(items)
        encoded = await asyncio.to_thread(self._plan.format.encode, items, self._columns.known)
        if len(encoded.refused) < len(rows):
            await self._put([row for at, row in enumerate(rows) if at not in encoded.refused], encoded)
        return [RefusedItem(rows[at].page, rows[at].place, why) for at, why in sorted(encoded.refused.items())]

    async def _put(self, rows: Sequence[_Brought], encoded: Encoded) -> None:
        manifest, keys = self._manifests.listed, sorted_keys(row.key for row in rows)
        name = part_name(self._manifests.writer, manifest.turn, keys, self._plan.ending)
        digest = hashlib.sha256(encoded.data).hexdigest()
        again = sum(row.page.again for row in rows)
        await self._store.put(keys_name(name), keys)
        await self._store.put(name, encoded.data)
        await self._manifests.exchange(manifest.with_part(Part(name, len(rows), len(encoded.data), digest, again)))

    def _position(self) -> Position:
        position: Position = {"writer": self._manifests.writer, "parts": self._manifests.passed}
        return {**position, "doubtful": sorted(self._manifests.doubtful)} if self._manifests.doubtful else position
