"""The place where files of items are kept: a folder, a bucket, a server. The clients are those of part files."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import replace
from hashlib import md5
from pathlib import Path
from typing import IO, Any

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.loading.parked import FileException
from p2pcrawl.stores.address import SinkAddress, parse_sink, shows_password
from p2pcrawl.stores.parts.folder_store import FolderStore
from p2pcrawl.stores.parts.part_address import split_folder
from p2pcrawl.stores.parts.part_store import BlobFacts, PartStore

NAME_MAX = 1_000
"""Characters of a path."""
_MD5 = re.compile(r"[0-9a-f]{32}\Z")
_writes: ContextVar[list[asyncio.Task[None]]] = ContextVar("_writes")


class MediaStore:
    """A place for files. ``basedir``: its folder, if it is of this machine; ``serial``: one thing is done at a time."""

    def __init__(self, store: PartStore, basedir: str = "", *, serial: bool = False) -> None:
        self.basedir = basedir
        self._store = store
        self._lock = asyncio.Lock() if serial else nullcontext()

    async def facts(self, path: str) -> BlobFacts | None:
        """Returns what is known of a file, without reading it. Raises SinkAway, FileException, ConfigurationError."""
        name = _checked(path)
        async with self._lock:
            return await self._store.facts(name)

    async def checksum(self, path: str, facts: BlobFacts) -> str:
        """Returns the MD5 of a file that is there, in hexadecimal; it is read if its place does not tell."""
        if _MD5.match(facts.tag):
            return facts.tag
        async with self._lock:
            blob = await self._store.get(_checked(path))
        return md5(blob.data if blob is not None else b"", usedforsecurity=False).hexdigest()

    async def stat_file(self, path: str, info: Any = None) -> dict[str, Any]:
        """Returns when a file was written and its checksum; an empty dict where there is none."""
        facts = await self.facts(path)
        if facts is None:
            return {}
        return {"last_modified": facts.modified_at, "checksum": await self.checksum(path, facts)}

    def persist_file(
        self,
        path: str,
        buf: IO[bytes],
        info: Any = None,
        meta: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> asyncio.Task[None]:
        """Begins to write a file. What a pipeline begins while it makes something of an answer is waited for before the
        item goes on, so this need not be awaited. Raises FileException for a path that leads elsewhere.
        """
        buf.seek(0)
        task = asyncio.ensure_future(self._write(_checked(path), buf.read()))
        begun = _writes.get(None)
        if begun is not None:
            begun.append(task)
        return task

    async def close(self) -> None:
        await self._store.close()

    async def _write(self, name: str, data: bytes) -> None:
        async with self._lock:
            await self._store.put(name, data)


@contextmanager
def writes_begun() -> Iterator[list[asyncio.Task[None]]]:
    """Yields the list of the writes that the running task begins meanwhile."""
    begun: list[asyncio.Task[None]] = []
    token = _writes.set(begun)
    try:
        yield begun
    finally:
        _writes.reset(token)


def open_media_store(url: str, credentials: Mapping[str, str] | None = None) -> MediaStore:
    """Opens the place that a folder's path or an address names. ``credentials``: by the names of Scrapy's settings.
    Raises ConfigurationError.
    """
    if shows_password(url):
        raise ConfigurationError("an address for files is kept with the job: write ?password_env=NAME, and no password")
    address = parse_sink(url)
    known = credentials or {}
    if address.scheme in ("", "file"):
        folder = Path(address.url if not address.scheme else "/" + split_folder(address).folder).expanduser().absolute()
        return MediaStore(FolderStore(folder), str(folder))
    if address.scheme in ("s3", "gs", "az"):
        return MediaStore(_object_store(address, known))
    if address.scheme == "ftp":
        from p2pcrawl.stores.parts.ftp_store import FtpStore

        split = split_folder(address)
        user, secret = split.user or known.get("FTP_USER", ""), address.secret or known.get("FTP_PASSWORD", "")
        return MediaStore(FtpStore(replace(split, user=user), secret), serial=True)
    if address.scheme == "sftp":
        try:
            from p2pcrawl.stores.parts.sftp_store import SftpStore
        except ImportError:
            raise ConfigurationError("sftp:// needs paramiko: pip install 'p2pcrawl[sftp]'") from None
        return MediaStore(SftpStore(split_folder(address), address.secret), serial=True)
    raise ConfigurationError(f"{address.url}: files are kept in a folder, or at s3, gs, az, ftp or sftp://")


def _object_store(address: SinkAddress, known: Mapping[str, str]) -> PartStore:
    try:
        from p2pcrawl.stores.parts.object_store import OPTIONS, ObjectStore
    except ImportError:
        raise ConfigurationError(f"{address.scheme}:// needs obstore: pip install 'p2pcrawl[objects]'") from None
    split, secret = split_folder(address, OPTIONS[address.scheme]), address.secret
    if address.scheme == "s3":
        given = {"endpoint": known.get("AWS_ENDPOINT_URL", ""), "region": known.get("AWS_REGION_NAME", "")}
        options = {**{name: value for name, value in given.items() if value}, **split.options}
        split = replace(split, user=split.user or known.get("AWS_ACCESS_KEY_ID", ""), options=options)
        secret = secret or known.get("AWS_SECRET_ACCESS_KEY", "")
    return ObjectStore(split, address.scheme, secret)


def _checked(path: str) -> str:
    """Returns a path as it is, if it stays below its place. Raises FileException."""
    parts = path.replace("\\", "/").split("/")
    if not path or len(path) > NAME_MAX or path.startswith(("/", "\\")) or ":" in parts[0] or "\0" in path:
        raise FileException(f"not a path for a file: {path[:200]!r}")
    if any(part in ("..", ".", "") for part in parts):
        raise FileException(f"a path that leads elsewhere: {path[:200]!r}")
    return path
