"""Part files on a server that one logs in to by SSH: ``sftp://``, by paramiko in a thread.

The server's key has to be known (``~/.ssh/known_hosts``); whoever logs in has a password in the address, or a key where
ssh looks for one. A file is stored under another name first, and then gets its own, over an older one in one step where
the server is OpenSSH's; elsewhere that one is moved aside first. Nothing can be compared here: of what two masters
write at the same time, the later one stays.

Not by fsspec, which takes the key of any server for the right one.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from stat import S_ISREG
from typing import Any, TypeVar

import paramiko

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import SinkAddress
from p2pcrawl.stores.kinds import SinkPlace
from p2pcrawl.stores.parts.part_address import PartAddress, sink_of_parts
from p2pcrawl.stores.parts.part_sink import PartSink
from p2pcrawl.stores.parts.part_store import Blob, BlobFacts
from p2pcrawl.stores.sink import SinkAway

Result = TypeVar("Result")
TIMEOUT_S = 30.0
_PORT = 22
_DRAFT, _OLD = "_draft-", "_old-"


def make_sftp_sink(address: SinkAddress, place: SinkPlace) -> PartSink:
    """Makes the sink of an address of an SFTP server. Raises ConfigurationError."""
    return sink_of_parts(address, place, lambda split: SftpStore(split, address.secret))


class SftpStore:
    """A :class:`~p2pcrawl.stores.parts.part_store.PartStore` on an SFTP server, below a folder of whoever logs in."""

    compares = False

    def __init__(self, address: PartAddress, secret: str) -> None:
        """Raises ConfigurationError for an address that names no server."""
        host, _, port = address.host.partition(":")
        if not host or (port and not (port.isascii() and port.isdigit())):
            raise ConfigurationError(
                f"sftp://{address.host} names no server: write sftp://user@host:port/folder/name.csv"
            )
        self._where = f"sftp://{address.host}/{address.folder}"
        self._server = (host, int(port or _PORT))
        self._login = {"username": address.user or None, "password": secret or None}
        self._folder = address.folder
        self._client: Any = None
        self._sftp: Any = None

    async def get(self, name: str) -> Blob | None:
        data = await self._run(lambda sftp: self._read(sftp, name))
        return None if data is None else Blob(data, sha256(data).hexdigest())

    async def facts(self, name: str) -> BlobFacts | None:
        def facts(sftp: Any) -> BlobFacts | None:
            try:
                found = sftp.stat(self._path(name))
            except FileNotFoundError:
                return None
            return BlobFacts(found.st_mtime or 0.0, found.st_size or 0)

        return await self._run(facts)

    async def put(self, name: str, data: bytes) -> None:
        await self._run(lambda sftp: self._write(sftp, name, data))

    async def exchange(self, name: str, data: bytes, tag: str | None) -> str:
        await self.put(name, data)
        return sha256(data).hexdigest()

    async def names(self, folder: str) -> list[str]:
        def listed(sftp: Any) -> list[str]:
            try:
                return [each.filename for each in sftp.listdir_attr(self._path(folder)) if S_ISREG(each.st_mode)]
            except FileNotFoundError:
                return []

        return await self._run(listed)

    async def delete(self, name: str) -> None:
        def delete(sftp: Any) -> None:
            for prefix in ("", _OLD):
                with suppress(FileNotFoundError):
                    sftp.remove(self._path(name, prefix))

        await self._run(delete)

    async def close(self) -> None:
        await asyncio.to_thread(self._hang_up)

    async def _run(self, task: Callable[[Any], Result]) -> Result:
        return await asyncio.to_thread(self._in_thread, task)

    def _in_thread(self, task: Callable[[Any], Result]) -> Result:
        """Does a task, over a new connection if the old one was ended meanwhile."""
        kept = self._sftp is not None
        try:
            return task(self._connected())
        except (OSError, EOFError, paramiko.SSHException) as error:
            self._hang_up()
            if not kept or isinstance(error, PermissionError):
                raise self._explained(error) from None
        try:
            return task(self._connected())
        except (OSError, EOFError, paramiko.SSHException) as error:
            self._hang_up()
            raise self._explained(error) from None

    def _connected(self) -> Any:
        if self._sftp is None:
            self._client = client = paramiko.SSHClient()
            client.load_system_host_keys()
            client.set_missing_host_key_policy(paramiko.RejectPolicy())
            waits = dict.fromkeys(("timeout", "banner_timeout", "auth_timeout", "channel_timeout"), TIMEOUT_S)
            client.connect(*self._server, **self._login, **waits)
            self._sftp = client.open_sftp()
            self._sftp.get_channel().settimeout(TIMEOUT_S)
        return self._sftp

    def _hang_up(self) -> None:
        client, self._client, self._sftp = self._client, None, None
        if client is not None:
            client.close()

    def _read(self, sftp: Any, name: str) -> bytes | None:
        for prefix in ("", _OLD):
            with suppress(FileNotFoundError), sftp.open(self._path(name, prefix), "rb") as file:
                file.prefetch()
                content: bytes = file.read()
                return content
        return None

    def _write(self, sftp: Any, name: str, data: bytes) -> None:
        draft, path, old = self._path(name, _DRAFT), self._path(name), self._path(name, _OLD)
        try:
            _store(sftp, draft, data)
        except FileNotFoundError:
            parts = draft.split("/")
            for depth in range(1, len(parts)):
                with suppress(OSError):  # It is there, or storing says what is amiss.
                    sftp.mkdir("/".join(parts[:depth]))
            _store(sftp, draft, data)
        try:
            sftp.posix_rename(draft, path)
        except OSError:
            with suppress(FileNotFoundError):
                sftp.remove(old)
            with suppress(FileNotFoundError):
                sftp.rename(path, old)
            sftp.rename(draft, path)
            with suppress(FileNotFoundError):
                sftp.remove(old)

    def _path(self, name: str, prefix: str = "") -> str:
        folder, slash, last = name.rpartition("/")
        return f"{self._folder}/{folder}{slash}{prefix}{last}" if name else self._folder

    def _explained(self, error: Exception) -> ConfigurationError | SinkAway:
        said = " ".join(str(error).split())[:200]
        if isinstance(error, socket.gaierror) and error.errno == socket.EAI_NONAME:
            return ConfigurationError(f"{self._where}: there is no host of this name")
        if isinstance(error, paramiko.BadHostKeyException) or "known_hosts" in said:
            return ConfigurationError(
                f"{self._where}: its key is not the known one: ssh to it once, and look at what it shows ({said})"
            )
        if isinstance(error, paramiko.AuthenticationException) or "authentication methods" in said:
            return ConfigurationError(f"{self._where}: the user, the password or the key is wrong ({said})")
        if isinstance(error, PermissionError):
            return ConfigurationError(f"{self._where}: that cannot be written there ({said})")
        reason = getattr(error, "strerror", None) or said or "hung up"
        return SinkAway(f"{self._where}: it cannot be reached ({reason})")


def _store(sftp: Any, path: str, data: bytes) -> None:
    with sftp.open(path, "wb") as file:
        file.set_pipelined(True)
        file.write(data)
