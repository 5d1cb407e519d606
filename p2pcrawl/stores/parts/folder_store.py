"""Part files in a folder of this machine, or of a file server that it has mounted: ``file://``."""

from __future__ import annotations

import asyncio
import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.private.folders import sync_folder
from p2pcrawl.stores.address import SinkAddress
from p2pcrawl.stores.kinds import SinkPlace
from p2pcrawl.stores.parts.part_address import PartAddress, sink_of_parts
from p2pcrawl.stores.parts.part_sink import PartSink
from p2pcrawl.stores.parts.part_store import Blob, BlobFacts, Overtaken
from p2pcrawl.stores.sink import SinkAway

Result = TypeVar("Result")
_LOCK = "_lock"
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG}


def make_folder_sink(address: SinkAddress, place: SinkPlace) -> PartSink:
    """Makes the sink of an address of a folder of this machine. Raises ConfigurationError."""

    def opened(split: PartAddress) -> FolderStore:
        if split.host not in ("", "localhost"):
            raise ConfigurationError(f"{address.url} names another machine: write file:/// and a folder of this one")
        return FolderStore(Path("/", split.folder))

    return sink_of_parts(address, place, opened)


class FolderStore:
    """A :class:`~p2pcrawl.stores.parts.part_store.PartStore` in a folder, which is made when something is written."""

    compares = sys.platform != "win32"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def get(self, name: str) -> Blob | None:
        return await self._run(self._read, name)

    async def facts(self, name: str) -> BlobFacts | None:
        return await self._run(self._facts, name)

    async def put(self, name: str, data: bytes) -> None:
        await self._run(self._write, name, data)

    async def exchange(self, name: str, data: bytes, tag: str | None) -> str:
        return await self._run(self._exchange, name, data, tag)

    async def names(self, folder: str) -> list[str]:
        return await self._run(self._names, folder)

    async def delete(self, name: str) -> None:
        await self._run((self._folder / name).unlink, True)

    async def close(self) -> None:
        return

    async def _run(self, function: Callable[..., Result], *arguments: object) -> Result:
        try:
            return await asyncio.to_thread(function, *arguments)
        except OSError as error:
            reason = f"cannot write {self._folder}: {error.strerror or error}"
            if error.errno in _REFUSED:
                raise ConfigurationError(reason) from None
            raise SinkAway(reason) from None

    def _read(self, name: str) -> Blob | None:
        try:
            data = (self._folder / name).read_bytes()
        except FileNotFoundError:
            return None
        return Blob(data, sha256(data).hexdigest())

    def _facts(self, name: str) -> BlobFacts | None:
        try:
            found = (self._folder / name).stat()
        except FileNotFoundError:
            return None
        return BlobFacts(found.st_mtime, found.st_size)

    def _write(self, name: str, data: bytes) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            with draft.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)

    def _exchange(self, name: str, data: bytes, tag: str | None) -> str:
        self._folder.mkdir(parents=True, exist_ok=True)
        with _locked(self._folder / _LOCK):
            there = self._read(name)
            if (there.tag if there else None) != tag:
                raise Overtaken(name)
            # Nobody else is at it: what lies beside it was left by one that was killed.
            path = self._folder / name
            for draft in path.parent.glob(f".{path.name}.*"):
                draft.unlink(missing_ok=True)
            self._write(name, data)
        return sha256(data).hexdigest()

    def _names(self, folder: str) -> list[str]:
        try:
            return [entry.name for entry in os.scandir(self._folder / folder) if entry.is_file()]
        except FileNotFoundError:
            return []


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("wb") as file:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield
