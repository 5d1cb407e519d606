"""A small HTTP/1.1 server for sites on loopback: one port on many addresses, answers from memory.

It is not for the world: it trusts its clients to speak HTTP, and gives its sites full control over the bytes that
leave, so that a site can also misbehave on purpose.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from typing import cast

BIND_ATTEMPTS = 50
HEAD_BYTES_MAX = 64 * 1024
HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, as it arrived at one of the server's addresses."""

    address: str
    method: str
    target: str
    head: bytes
    body: bytes
    at_s: float
    """When its last byte was read, on the monotonic clock."""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    def header(self, name: str) -> str:
        """Returns a header's value, "" when it was not sent."""
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.partition(b":")
            if key.decode("latin-1").lower() == name.lower():
                return value.strip().decode("latin-1")
        return ""


@dataclass(frozen=True, slots=True)
class TimedReply:
    """An answer as bytes, written ``delay_s`` after the request."""

    data: bytes
    delay_s: float = 0.0
    close: bool = False
    ended: Callable[[], None] | None = None
    """Called once, when the answer is complete and about to be written, or the client has gone."""


class Wire:
    """The client's end, as a stream writes to it. Writing waits while the client does not read; a client that left ends
    the stream.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._writable = asyncio.Event()
        self._writable.set()
        self.sent_bytes = 0

    async def write(self, data: bytes) -> None:
        """Raises ConnectionResetError when the client has gone."""
        if self._transport.is_closing():
            raise ConnectionResetError("the client has gone")
        self._transport.write(data)
        self.sent_bytes += len(data)
        await self._writable.wait()

    def abort(self) -> None:
        """Drops the connection at once, with a reset where the system does that."""
        self._transport.abort()

    def hold(self) -> None:
        self._writable.clear()

    def release(self) -> None:
        self._writable.set()


Stream = Callable[[Wire], Awaitable[None]]
"""An answer that writes itself; the connection is closed after it."""

Handler = Callable[[Asked], TimedReply | Stream]


def site_answer(
    body: bytes | str = b"",
    status: int = 200,
    content_type: str = HTML,
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """Makes a complete answer with its Content-Length."""
    data = body.encode() if isinstance(body, str) else body
    return head(status, {"Content-Type": content_type, "Content-Length": str(len(data)), **(headers or {})}) + data


def head(status: int = 200, headers: Mapping[str, str] | None = None) -> bytes:
    """Status line and headers, closed by the empty line."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    lines = [f"HTTP/1.1 {status} {phrase}", f"Date: {formatdate(usegmt=True)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class Server:
    """Serves ``handler`` on every address at one port; port 0 finds one that is free on all of them."""

    def __init__(self, handler: Handler, addresses: Sequence[str], port: int = 0) -> None:
        self._handler = handler
        self._addresses = list(dict.fromkeys(addresses))
        self.port = port
        self.connections = 0
        self._listening: list[asyncio.Server] = []
        self._open: set[_ClientConnection] = set()
        self._none_open = asyncio.Event()

    async def start(self) -> int:
        """Listens, and says on which port. Raises OSError when an address cannot be had; then nothing is bound."""
        loop = asyncio.get_running_loop()
        sockets = _bind_all(self._addresses, self.port)
        self.port = int(sockets[0].getsockname()[1])
        for address, listener in zip(self._addresses, sockets, strict=True):
            self._listening.append(
                await loop.create_server(lambda address=address: _ClientConnection(self, address), sock=listener)  # type: ignore[misc]
            )
        return self.port

    async def stop(self) -> None:
        """Stops listening, drops what is open, and waits until no stream runs."""
        for server in self._listening:
            server.close()
        self._listening.clear()
        streams = [c.stream for c in self._open if c.stream is not None]
        for connection in list(self._open):
            connection.drop()
        await asyncio.gather(*streams, return_exceptions=True)
        if self._open:
            self._none_open.clear()
            await self._none_open.wait()

    def opened(self, connection: _ClientConnection) -> None:
        self.connections += 1
        self._open.add(connection)

    def closed(self, connection: _ClientConnection) -> None:
        self._open.discard(connection)
        if not self._open:
            self._none_open.set()

    def handle(self, asked: Asked) -> TimedReply | Stream:
        return self._handler(asked)


class _ClientConnection(asyncio.Protocol):
    """One client's connection: requests are answered one after the other, in order."""

    def __init__(self, server: Server, address: str) -> None:
        self._server = server
        self._address = address
        self._buffer = b""
        self._pending: TimedReply | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.stream: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's does not inherit from it
        self._wire = Wire(self._transport)
        self._server.opened(self)

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        self._go_on()

    def pause_writing(self) -> None:
        self._wire.hold()

    def resume_writing(self) -> None:
        self._wire.release()

    def connection_lost(self, error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._end_pending()
        self._wire.release()
        self._server.closed(self)

    def drop(self) -> None:
        if self.stream is not None:
            self.stream.cancel()
        self._transport.abort()

    def _go_on(self) -> None:
        """Answers the requests that are complete, until one has to wait."""
        while self._buffer and self._pending is None and self.stream is None and not self._transport.is_closing():
            asked = self._next_request()
            if asked is None:
                return
            reply = self._server.handle(asked)
            if not isinstance(reply, TimedReply):
                self.stream = asyncio.ensure_future(self._run(reply))
                return
            if b"onnection: close" in asked.head:
                reply = TimedReply(reply.data, reply.delay_s, True, reply.ended)
            if asked.method == "HEAD":
                reply = TimedReply(
                    reply.data[: reply.data.find(b"\r\n\r\n") + 4], reply.delay_s, reply.close, reply.ended
                )
            self._pending = reply
            if reply.delay_s > 0:
                self._timer = asyncio.get_running_loop().call_later(reply.delay_s, self._send_late)
            else:
                self._send()

    def _next_request(self) -> Asked | None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > HEAD_BYTES_MAX:
                self._transport.abort()
            return None
        head_bytes, length = self._buffer[:end], 0
        if not head_bytes.startswith((b"GET ", b"HEAD ")):
            for line in head_bytes.split(b"\r\n")[1:]:
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
        if len(self._buffer) < end + 4 + length:
            return None
        body = self._buffer[end + 4 : end + 4 + length]
        self._buffer = self._buffer[end + 4 + length :]
        method, _, rest = head_bytes.partition(b" ")
        target = rest.partition(b" ")[0]
        return Asked(
            self._address, method.decode("latin-1"), target.decode("latin-1"), head_bytes, body, time.monotonic()
        )

    def _send_late(self) -> None:
        self._timer = None
        self._send()
        self._go_on()

    def _send(self) -> None:
        reply = self._pending
        # Before it is written: the client must not see the end earlier than it is noted here.
        self._end_pending()
        if reply is not None and not self._transport.is_closing():
            self._transport.write(reply.data)
            if reply.close:
                self._transport.close()

    def _end_pending(self) -> None:
        reply, self._pending = self._pending, None
        if reply is not None and reply.ended is not None:
            reply.ended()

    async def _run(self, stream: Stream) -> None:
        with contextlib.suppress(ConnectionError):
            await stream(self._wire)
        self._transport.close()


def loopback_addresses(prefix: str, count: int, first: int = 1) -> list[str]:
    """Returns ``count`` addresses such as 127.0.1.1; only 127.0.0.1 where the system has no others (it is Linux that
    does).
    """
    with socket.socket() as probe:
        try:
            probe.bind((f"{prefix}.{first}", 0))
        except OSError:
            return ["127.0.0.1"]
    return [f"{prefix}.{first + number}" for number in range(count)]


def _bind_all(addresses: Sequence[str], port: int) -> list[socket.socket]:
    """Sockets on every address at the same port; tries other ports when one is taken somewhere and ``port`` is 0."""
    for attempt in range(BIND_ATTEMPTS):
        sockets: list[socket.socket] = []
        try:
            for address in addresses:
                listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
                sockets.append(listener)
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind((address, port or (sockets[0].getsockname()[1] if len(sockets) > 1 else 0)))
                listener.listen(512)
                listener.setblocking(False)
            return sockets
        except OSError:
            for listener in sockets:
                listener.close()
            if port or attempt == BIND_ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")
