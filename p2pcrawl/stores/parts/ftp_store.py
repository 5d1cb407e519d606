"""Part files on an FTP server: ``ftp://``, by ftplib in a thread.

A file is stored under another name first, and then gets its own. Servers that rename over no other file are helped by
moving that one aside; a crash in between leaves the old one there, under a name at which it is looked for. Nothing can
be compared here: what two masters write at the same time, the later one wins.

Not by fsspec, which takes every error of a server for a file that is not there: a manifest would be begun anew.
"""

from __future__ import annotations

import asyncio
import ftplib  # nosec B402  # Whoever names an FTP server has no other one.
import io
import socket
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from typing import TypeVar

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import SinkAddress
from p2pcrawl.stores.kinds import SinkPlace
from p2pcrawl.stores.parts.part_address import PartAddress, sink_of_parts
from p2pcrawl.stores.parts.part_sink import PartSink
from p2pcrawl.stores.parts.part_store import Blob, BlobFacts
from p2pcrawl.stores.sink import SinkAway

Result = TypeVar("Result")
TIMEOUT_S = 30.0
_PORT = 21
_DRAFT, _OLD = "_draft-", "_old-"
_NO_FOLDER = "501"
_LOGIN, _MISSING, _UNKNOWN = ("530", "532"), ("550", "553"), ("500", "502", "504")


def make_ftp_sink(address: SinkAddress, place: SinkPlace) -> PartSink:
    """Makes the sink of an address of an FTP server. Raises ConfigurationError."""
    return sink_of_parts(address, place, lambda split: FtpStore(split, address.secret))


class FtpStore:
    """A :class:`~p2pcrawl.stores.parts.part_store.PartStore` on an FTP server, below a folder of whoever logs in."""

    compares = False

    def __init__(self, address: PartAddress, secret: str) -> None:
        """Raises ConfigurationError for an address that names no server."""
        host, colon, port = address.host.partition(":")
        if not host or ((colon and not port.isascii()) or (port and not port.isdigit())):
            raise ConfigurationError(
                f"ftp://{address.host} names no server: write ftp://user@host:port/folder/name.jsonl"
            )
        if any(sign in address.folder + address.user + secret for sign in "\r\n\0"):
            raise ConfigurationError(f"ftp://{host}: no folder, user or password has a line's end in it")
        self._where = f"ftp://{address.host}/{address.folder}"
        self._server = (host, int(port or _PORT))
        self._login = (address.user, secret)
        self._folder = address.folder
        self._ftp: ftplib.FTP | None = None

    async def get(self, name: str) -> Blob | None:
        data = await self._run(lambda ftp: self._read(ftp, name))
        return None if data is None else Blob(data, sha256(data).hexdigest())

    async def facts(self, name: str) -> BlobFacts | None:
        return await self._run(lambda ftp: self._facts(ftp, name))

    async def put(self, name: str, data: bytes) -> None:
        await self._run(lambda ftp: self._write(ftp, name, data))

    async def exchange(self, name: str, data: bytes, tag: str | None) -> str:
        await self.put(name, data)
        return sha256(data).hexdigest()

    async def names(self, folder: str) -> list[str]:
        return await self._run(lambda ftp: self._names(ftp, self._path(folder)))

    async def delete(self, name: str) -> None:
        def delete(ftp: ftplib.FTP) -> None:
            for each in (name, _beside(name, _OLD)):
                try:
                    ftp.delete(self._path(each))
                except ftplib.error_perm as error:
                    if not _says(error, _MISSING) or self._is_there(ftp, each):
                        raise

        await self._run(delete)

    async def close(self) -> None:
        await asyncio.to_thread(self._hang_up)

    async def _run(self, task: Callable[[ftplib.FTP], Result]) -> Result:
        return await asyncio.to_thread(self._in_thread, task)

    def _in_thread(self, task: Callable[[ftplib.FTP], Result]) -> Result:
        """Does a task, over a new connection if the old one was ended meanwhile."""
        kept = self._ftp is not None
        try:
            return task(self._connected())
        except (OSError, EOFError, ftplib.Error) as error:
            self._hang_up()
            if not kept or isinstance(error, ftplib.error_perm):
                raise self._explained(error) from None
        try:
            return task(self._connected())
        except (OSError, EOFError, ftplib.Error) as error:
            self._hang_up()
            raise self._explained(error) from None

    def _connected(self) -> ftplib.FTP:
        if self._ftp is None:
            self._ftp = ftp = ftplib.FTP(timeout=TIMEOUT_S, encoding="utf-8")  # nosec B321  # The user has no other server.
            ftp.connect(*self._server)
            ftp.login(*self._login)
        return self._ftp

    def _hang_up(self) -> None:
        ftp, self._ftp = self._ftp, None
        if ftp is not None:
            ftp.close()

    def _read(self, ftp: ftplib.FTP, name: str) -> bytes | None:
        for each in (name, _beside(name, _OLD)):
            content = io.BytesIO()
            try:
                ftp.retrbinary(f"RETR {self._path(each)}", content.write)
                return content.getvalue()
            except ftplib.error_perm as error:
                if not _says(error, _MISSING) or self._is_there(ftp, each):
                    raise
        return None

    def _facts(self, ftp: ftplib.FTP, name: str) -> BlobFacts | None:
        try:
            told = ftp.voidcmd(f"MDTM {self._path(name)}").split()[1]
            ftp.voidcmd("TYPE I")
            size = ftp.size(self._path(name)) or 0
        except ftplib.error_perm as error:
            if not _says(error, _MISSING):
                raise
            return None
        return BlobFacts(datetime.strptime(told[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp(), size)

    def _write(self, ftp: ftplib.FTP, name: str, data: bytes) -> None:
        draft, path, old = self._path(_beside(name, _DRAFT)), self._path(name), self._path(_beside(name, _OLD))
        try:
            ftp.storbinary(f"STOR {draft}", io.BytesIO(data))
        except ftplib.error_perm as error:
            if not _says(error, _MISSING):
                raise
            self._make_folders(ftp, draft)
            ftp.storbinary(f"STOR {draft}", io.BytesIO(data))
        try:
            ftp.rename(draft, path)
        except ftplib.error_perm:
            with suppress(ftplib.error_perm):
                ftp.delete(old)
            ftp.rename(path, old)
            ftp.rename(draft, path)
            ftp.delete(old)

    def _make_folders(self, ftp: ftplib.FTP, path: str) -> None:
        parts = path.split("/")
        for depth in range(1, len(parts)):
            with suppress(ftplib.error_perm):  # It is there, or storing says what is amiss.
                ftp.mkd("/".join(parts[:depth]))

    def _names(self, ftp: ftplib.FTP, path: str) -> list[str]:
        try:
            try:
                return [name for name, facts in ftp.mlsd(path, ["type"]) if facts["type"] == "file"]
            except ftplib.error_perm as error:
                if not _says(error, _UNKNOWN):
                    raise
                return [name.rpartition("/")[2] for name in ftp.nlst(path)]
        except ftplib.error_perm as error:
            if not _says(error, (*_MISSING, _NO_FOLDER)):
                raise
            return []

    def _is_there(self, ftp: ftplib.FTP, name: str) -> bool:
        folder, _, last = self._path(name).rpartition("/")
        return last in self._names(ftp, folder)

    def _path(self, name: str) -> str:
        return f"{self._folder}/{name}" if name else self._folder

    def _explained(self, error: Exception) -> ConfigurationError | SinkAway:
        said = " ".join(str(error).split())[:200]
        if isinstance(error, socket.gaierror) and error.errno == socket.EAI_NONAME:
            return ConfigurationError(f"{self._where}: there is no host of this name")
        if isinstance(error, ftplib.error_perm) and _says(error, _LOGIN):
            return ConfigurationError(f"{self._where}: the user or the password is wrong ({said})")
        if isinstance(error, ftplib.error_perm) and _says(error, _MISSING):
            return ConfigurationError(f"{self._where}: that cannot be written there ({said})")
        if isinstance(error, ftplib.Error):
            return SinkAway(f"{self._where}: {said}")
        reason = getattr(error, "strerror", None) or said or "hung up"
        return SinkAway(f"{self._where}: it cannot be reached ({reason})")


def _beside(name: str, prefix: str) -> str:
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}{prefix}{last}"


def _says(error: Exception, codes: tuple[str, ...]) -> bool:
    return str(error)[:3] in codes
