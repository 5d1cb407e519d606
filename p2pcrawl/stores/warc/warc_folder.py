"""Raw pages on their way into WARC files of one folder, as one process writes them.

* **A page is written before anybody hears of it**: :meth:`WarcFolder.keep` returns when its records have been handed to
  the system, so no death of a process takes them away. They are synced to the disk every second, and when a file ends.
* **A payload is written once**: what an answer has in common with one before, byte by byte, is told by a short record
  that refers to that one. So many payloads are remembered as fit into some megabytes.
* **Memory is bounded**: by the lines of one file's index, and by the payloads that are remembered.

What takes long (large bodies, syncing, ending a file) is done in threads, so that the loop goes on.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import re
import socket
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Final

from p2pcrawl.model.crawl.raw_page import RawPage
from p2pcrawl.model.errors import StorageError
from p2pcrawl.stores.files.disk import storage_errors
from p2pcrawl.stores.warc.cdxj import REVISIT, index_line, mime_of
from p2pcrawl.stores.warc.mending import mend
from p2pcrawl.stores.warc.place import WarcPlace
from p2pcrawl.stores.warc.warc_file import ENDING, WarcFile
from p2pcrawl.stores.warc.warc_records import Original, PackedPage, pack_page, warcinfo

log = logging.getLogger(__name__)

SYNC_S: Final = 1.0
PAGES_MAX: Final = 50_000
"""Of one file, as its index is sorted in memory: some 15 MB."""
PAYLOADS_MAX: Final = 30_000
"""That are remembered: some 12 MB."""
LARGE: Final = 256 * 1024
"""Bytes of a body that is packed in a thread."""

_NO_NAME: Final = re.compile(r"[^A-Za-z0-9.]+")


class WarcFolder:
    """Keeps raw pages. Make it on the loop that uses it; :meth:`close` ends the file."""

    def __init__(self, place: WarcPlace) -> None:
        self._place = place
        self._numbers = count(1)
        self._host = _NO_NAME.sub("-", socket.gethostname())[:64] or "host"
        self._file: WarcFile | None = None
        self._payloads: OrderedDict[bytes, Original] = OrderedDict()
        self._failure: StorageError | None = None
        self._sync_timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "warc")

    def mend(self) -> None:
        """Begins to end what processes left open that are gone. What cannot be ended is logged."""
        self._thread.submit(mend, self._place.folder)

    async def keep(self, page: RawPage) -> None:
        """Writes a page; returns when no death of this process takes it away. Raises StorageError, now and from then
        on.
        """
        if len(page.body) > LARGE:
            sha1, original, packed = await asyncio.to_thread(self._packed, page)
        else:
            sha1, original, packed = self._packed(page)
        if self._failure is not None:
            raise self._failure
        try:
            with storage_errors(str(self._place.folder)):
                file = self._file_with_room()
                offset = file.append(packed.answer + packed.request)
        except StorageError as error:
            self._failure = error
            raise
        file.pages += 1
        if original is None and page.body and not page.truncated:
            self._remember(sha1, Original(packed.id, page.url, packed.date))
        if page.method == "GET":
            line = index_line(
                page.url,
                packed.date,
                mime=mime_of(page.content_type) if original is None else REVISIT,
                status=str(page.status),
                digest=packed.digest,
                offset=offset,
                length=len(packed.answer),
                filename=file.path.name,
            )
            file.list_in_index(line)
        if self._sync_timer is None:
            self._sync_timer = self._loop.call_later(SYNC_S, self._sync)

    async def close(self) -> None:
        """Ends the file that is open. What goes wrong is logged; the file is ended by whoever comes next."""
        if self._sync_timer is not None:
            self._sync_timer.cancel()
        self._end_file()
        await asyncio.to_thread(self._thread.shutdown)

    # -- records ------------------------------------------------------------------------------

    def _packed(self, page: RawPage) -> tuple[bytes, Original | None, PackedPage]:
        sha1 = hashlib.sha1(page.body, usedforsecurity=False).digest()
        original = self._payloads.get(sha1) if page.body and not page.truncated else None
        return sha1, original, pack_page(page, sha1, original)

    def _remember(self, sha1: bytes, original: Original) -> None:
        self._payloads[sha1] = original
        if len(self._payloads) > PAYLOADS_MAX:
            self._payloads.popitem(last=False)

    # -- files --------------------------------------------------------------------------------

    def _file_with_room(self) -> WarcFile:
        file = self._file
        if file is None or file.size >= self._place.size_max or file.pages >= PAGES_MAX:
            self._end_file()
            self._file = file = self._new_file()
            file.append(warcinfo(file.path.name, time.time()))
        return file

    def _new_file(self) -> WarcFile:
        while True:
            stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime())
            name = f"{self._place.prefix}-{stamp}-{next(self._numbers):05}-{self._host}-{os.getpid()}{ENDING}"
            try:
                return WarcFile(self._place.folder, name)
            except FileExistsError:
                continue

    def _end_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            self._do(file.finish)

    def _sync(self) -> None:
        self._sync_timer = None
        if self._file is not None:
            self._do(self._file.sync)

    def _do(self, work: Callable[[], object]) -> None:
        """Does work in the thread, after what it was given before."""

        def done() -> None:
            try:
                with storage_errors(str(self._place.folder)):
                    work()
            except StorageError as error:
                log.warning("%s", error)
                self._failure = self._failure or error

        self._thread.submit(done)
