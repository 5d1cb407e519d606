"""The raw pages that are stored on this machine, in the WARC files of its peer.

An index of them is kept in the data folder, so that a start does not read all files again. What has come since it was
made is taken in once for each job that asks, before it is answered: what a job is to read was stored before it began.
Files that slaves write at the moment are read as far as they go.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Iterable, Sequence
from math import inf
from pathlib import Path
from time import monotonic
from typing import Final

from p2pcrawl.model.errors import StorageError
from p2pcrawl.stores.warc.page_index import PageIndex, StoredPage

log = logging.getLogger(__name__)

INDEX: Final = "raw-pages.db"
"""The name of the index in the data folder of a peer."""
AGAIN_S: Final = 5.0
"""After so long files that could not be read are tried again."""
LOOK_AGAIN_S: Final = 30.0
"""So often it is looked at most whether what nobody has has come: files that were brought, pages of a job that goes on.
"""


class Shelf:
    """``folder``: with the WARC files; None: this peer keeps none."""

    def __init__(self, folder: Path | None, data: Path) -> None:
        self._folder = folder
        self._path = data / INDEX
        self._looked: set[int] = set()
        """The jobs for which was looked at what there is."""
        self._looked_at = -inf
        self._looking: asyncio.Task[None] | None = None
        self._index: PageIndex | None = None
        self._closing = False

    async def dates(self, job: int, keys: Sequence[bytes], *, again: bool = False) -> dict[bytes, str] | None:
        """Tells when the pages were answered that are here, of these keys; None: files are still gone through.
        ``again``: nobody has these; what has come since is looked at first, if that was not done lately.
        """
        if self._folder is None:
            return {}
        if job not in self._looked or (again and monotonic() - self._looked_at > LOOK_AGAIN_S):
            if self._looking is None:
                self._looking = asyncio.create_task(self._look(job))
            return None
        assert self._index is not None
        try:
            return await asyncio.to_thread(self._index.dates, keys)
        except sqlite3.Error as error:
            raise StorageError(f"{self._path} cannot be read: {error}") from error

    async def page(self, key: bytes, limit: int) -> StoredPage | None:
        """Reads a page; None where it is not here. Raises StorageError for one that cannot be read."""
        if self._index is None:
            return None
        try:
            return await asyncio.to_thread(self._index.find, key, limit)
        except sqlite3.Error as error:
            raise StorageError(f"{self._path} cannot be read: {error}") from error

    async def close(self) -> None:
        """Waits for the file that is being read, and closes the index."""
        self._closing = True
        if self._looking is not None:
            await asyncio.gather(self._looking, return_exceptions=True)
        if self._index is not None:
            self._index.close()
            self._index = None

    async def _look(self, job: int) -> None:
        assert self._folder is not None
        begun = monotonic()
        try:
            await asyncio.to_thread(self._read, self._folder)
            if self._index is None:
                self._index = PageIndex(self._path, reading=True)
            self._looked.add(job)
            self._looked_at = begun
        except (StorageError, OSError, sqlite3.Error) as error:
            if self._closing:
                return
            log.warning("raw pages cannot be looked up: %s", error)
            if isinstance(error, sqlite3.DatabaseError):
                # It holds nothing that the files do not.
                await asyncio.to_thread(self._begin_anew)
            await asyncio.sleep(AGAIN_S)
        finally:
            self._looking = None

    def _begin_anew(self) -> None:
        self._looked.clear()
        if self._index is not None:
            self._index.close()
            self._index = None
        for ending in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + ending).unlink(missing_ok=True)

    def _read(self, folder: Path) -> None:
        index = PageIndex(self._path)
        try:
            index.read_all(folder, self._tell)
            for path, place in index.damaged():
                log.warning("%s is damaged: no raw page is read from byte %d on", path, place)
        finally:
            index.close()

    def _tell(self, name: str, left: int, pages: int) -> None:
        if self._closing:
            raise StorageError("the reading was given up")
        log.info("reading %s; %d files left, %d raw pages so far", name, left, pages)


def keys_told(texts: Iterable[str]) -> list[bytes]:
    """Reads keys as they travel."""
    return [bytes.fromhex(text) for text in texts]
