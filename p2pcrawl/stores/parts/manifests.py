"""The manifests of a folder, as one of its writers deals with them: its own one, and those of others.

**An item is in one part, whoever brings it.** What was another master's before (``SinkPage.again``) is compared with
the keys of all parts of its job; but the manifests of other writers are *sealed* first, which makes a write that is
still on its way into them fail. Whoever was sealed has the sealer as a *rival*: it compares what it brings with those
parts of the rival's that have such items, and seals its manifest, too. So of two masters that bring one page at the
same time, as in a divided cluster, one is first. A manifest that is not there yet cannot be sealed: so an heir says in
its own that it is one before it looks for others, and whoever begins looks for heirs when its own is there.
``docs/sinks.md`` tells what is left of that where a store cannot compare.

**Strays** are parts that no manifest lists: a crash left them between part and manifest. A writer removes its own ones
when it opens the folder again. Those of others are removed after their writers were sealed: a name has the turn in
which it was begun, so what a living writer begins afterwards is no stray.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.parts.item_keys import KEY_BYTES, keys_among
from p2pcrawl.stores.parts.manifest import (
    MANIFESTS,
    Manifest,
    Part,
    decode_manifest,
    keys_name,
    manifest_name,
    writer_of,
)
from p2pcrawl.stores.parts.part_store import Overtaken, PartStore
from p2pcrawl.stores.sink import SinkAway

_TRIES = 8
_KEPT_BYTES = 32 * 1024 * 1024
"""Keys of parts in memory: two million items."""


class Manifests:
    """The manifests of a folder, for one writer of one job."""

    def __init__(self, store: PartStore, where: str, job: str) -> None:
        self.writer = ""
        self.manifest: Manifest | None = None
        """Our own one, as it was read or written last; None while there is none."""
        self.passed = 0
        """How many of its parts are before the position: what is in those is brought again only as such, but for"""
        self.doubtful: dict[int, set[bytes] | None] = {}
        """those parts of which a crash left unknown whether all that is in them counts as brought, by their places;
        with the keys of what may be brought again, once somebody has to know them."""
        self._store = store
        self._where = where
        self._job = job
        self._heirs: set[str] | None = None
        """Rivals that could not seal our manifest, because it was not there yet; None until we have looked."""
        self._tag: str | None = None
        self._keys: dict[str, bytes] = {}

    @property
    def listed(self) -> Manifest:
        """Returns our manifest, when it was begun."""
        assert self.manifest is not None
        return self.manifest

    async def read(self) -> None:
        """Reads our manifest. Raises ConfigurationError when parts of it are missing there."""
        blob = await self._store.get(manifest_name(self.writer))
        self.manifest = replace(self._decoded(blob.data, self.writer), job=self._job) if blob else None
        self._tag = blob.tag if blob else None
        there = len(self.manifest.parts) if self.manifest else 0
        if there < self.passed:
            raise ConfigurationError(
                f"{self._where} had {self.passed} parts of this crawl, and its manifest lists {there} now: "
                "put it back, or crawl anew into another folder"
            )
        self.doubtful.update(dict.fromkeys(range(self.passed, there)))
        self.passed = there
        if self.manifest is not None and self._heirs is None:
            await self._look_for_heirs()

    def brought(self, keys: Iterable[bytes]) -> None:
        """Notes what was brought, so that it need not be expected any more."""
        self.passed = len(self.listed.parts)
        for waiting in self.doubtful.values():
            if waiting is not None:
                waiting.difference_update(keys)
        self.doubtful = {place: waiting for place, waiting in self.doubtful.items() if waiting is None or waiting}

    async def exchange(self, manifest: Manifest) -> None:
        """Writes our manifest. Raises Overtaken when somebody sealed the one before."""
        self._tag = await self._store.exchange(manifest_name(self.writer), manifest.encode(), self._tag)
        self.manifest = manifest

    async def there(self, keys: set[bytes], again: set[bytes]) -> set[bytes]:
        """Returns those of the keys that are in a part already; ``again``: those of pages that were another master's.
        No part that may hold one of them can be added meanwhile without our hearing of it.
        """
        if again and not self.listed.heir:
            await self.exchange(self.listed.of_heir())
        if not self._store.compares:
            await self._look_for_heirs()  # They have no other way to tell us.
        found: set[bytes] = set()
        if keys != again:
            for place in self.doubtful:
                found |= keys & await self._waiting(place)
        if again:
            found |= await self._among(again, self.listed.parts)
        rivals = (self._heirs or set()).union(self.listed.rivals)
        for writer in await self._others() if again else sorted(rivals):
            if self._is_ours(await self._look(writer)):
                sealed = await self._seal(writer, self.writer)
                found |= await self._among(again, [part for part in sealed.parts if not part.again])
                found |= await self._among(keys, [part for part in sealed.parts if part.again])
        return found

    async def _waiting(self, place: int) -> set[bytes]:
        waiting = self.doubtful[place]
        if waiting is None:
            keys = await self._keys_of(self.listed.parts[place])
            waiting = self.doubtful[place] = {keys[at : at + KEY_BYTES] for at in range(0, len(keys), KEY_BYTES)}
        return waiting

    async def _among(self, keys: set[bytes], parts: Sequence[Part]) -> set[bytes]:
        found: set[bytes] = set()
        for part in parts if keys else ():
            found |= await asyncio.to_thread(keys_among, keys, await self._keys_of(part))
        return found

    async def remove_strays(self) -> None:
        """Removes our own parts that are not listed."""
        for name in await self._store.names(""):
            written = writer_of(name)
            if written and written[0] == self.writer and not self.listed.lists(name):
                await self._remove_part(name)

    async def remove_strays_of_others(self) -> None:
        """Removes parts that are in no manifest, after making sure that they never will be."""
        if not self._store.compares:
            return
        strays: dict[str, list[tuple[str, int]]] = {}
        for name in await self._store.names(""):
            if (written := writer_of(name)) and written[0] != self.writer:
                strays.setdefault(written[0], []).append((name, written[1]))
        for writer, parts in strays.items():
            manifest = await self._look(writer)
            if all(manifest.lists(name) for name, _ in parts):
                continue
            sealed = await self._seal(writer, None)
            for name, turn in parts:
                if turn < sealed.turn and not sealed.lists(name):
                    await self._remove_part(name)

    async def remove_other_jobs(self) -> None:
        """Removes all that is not of our job; manifests first, so that what is half removed does not count."""
        names = await self._store.names("")
        kept = {self.writer}
        for writer in await self._others():
            if self._job and self._is_ours(await self._look(writer)):
                kept.add(writer)
            else:
                await self._store.delete(manifest_name(writer))
        for name in names:
            written = writer_of(name)
            if written and written[0] not in kept:
                await self._remove_part(name)

    async def _others(self) -> list[str]:
        names = await self._store.names(MANIFESTS)
        return sorted(name.removesuffix(".json") for name in names if name != f"{self.writer}.json")

    def _is_ours(self, manifest: Manifest) -> bool:
        """Tells whether a manifest is of our job, as far as we know which that is."""
        return not self._job or manifest.job == self._job

    async def _look_for_heirs(self) -> None:
        manifests = [await self._look(writer) for writer in await self._others()]
        self._heirs = {each.writer for each in manifests if each.heir and self._is_ours(each)}

    async def _look(self, writer: str) -> Manifest:
        blob = await self._store.get(manifest_name(writer))
        return self._decoded(blob.data, writer) if blob else Manifest("", writer)

    async def _seal(self, writer: str, rival: str | None) -> Manifest:
        for _ in range(_TRIES):
            blob = await self._store.get(manifest_name(writer))
            manifest = self._decoded(blob.data, writer) if blob else Manifest("", writer)
            if not self._store.compares:
                return manifest
            sealed = manifest.sealed(rival)
            try:
                await self._store.exchange(manifest_name(writer), sealed.encode(), blob.tag if blob else None)
                return sealed
            except Overtaken:
                continue
        raise SinkAway(f"{self._where} is written by others all the time; trying again")

    async def _keys_of(self, part: Part) -> bytes:
        if part.name not in self._keys:
            blob = await self._store.get(keys_name(part.name))
            if blob is None:
                raise ConfigurationError(
                    f"{self._where}: {keys_name(part.name)} is gone: put it back, or give another folder"
                )
            if sum(map(len, self._keys.values())) > _KEPT_BYTES:
                self._keys.clear()
            self._keys[part.name] = blob.data
        return self._keys[part.name]

    async def _remove_part(self, name: str) -> None:
        await self._store.delete(name)
        await self._store.delete(keys_name(name))

    def _decoded(self, data: bytes, writer: str) -> Manifest:
        return decode_manifest(data, f"{self._where}: {manifest_name(writer)}")
