"""A link: one stream between two peers, carrying typed messages.

Received messages go to ``on_message`` at once, in order; inbound never waits on outbound. The sender
bounds what it has in flight: a slave by the acknowledgements of its reports, a master by the slots it
grants and the calls it has open. ``on_close`` is called once, with the error that ended the link, if any.

Across machines a link is sealed, and the seal is inside TLS where the user has certificates; between a master and its
own child processes, over a socket pair that nobody else can reach, it is neither.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import cast

from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.codec import AnyMessage, FrameReader, Said, encode
from p2pcrawl.wire.sealed.handshake import RemotePeer
from p2pcrawl.wire.sealed.tls import Seal

HANDSHAKE_S = 10.0
"""A connection that is not established after this time is closed."""
WAITING_MAX = 1024
"""Messages that wait for the handshake."""

OnMessage = Callable[[AnyMessage], None]
OnClose = Callable[[Exception | None], None]


class PeerLink(asyncio.Protocol):
    """One end. ``on_message`` and ``on_close`` may be exchanged when it is known who is at the other end."""

    def __init__(self, on_message: OnMessage, on_close: OnClose, seal: Seal | None = None) -> None:
        self.on_message = on_message
        self.on_close = on_close
        self.on_open: Callable[[], None] | None = None
        """Called when there is a connection."""
        self.on_proven: Callable[[], None] | None = None
        """Called when it is proven who is at the other end."""
        self._seal = seal
        self._reader = FrameReader()
        self._transport: asyncio.Transport | None = None
        self._error: Exception | None = None
        self._closed = False
        self._waiting: list[bytes] = []
        self._alarm: asyncio.TimerHandle | None = None

    def send(self, message: Said) -> int:
        """Queues one message and returns its size; a link that is closed swallows it."""
        frame = encode(message)
        self.send_frame(frame)
        return len(frame)

    def send_frame(self, frame: bytes) -> None:
        """Queues one message that is encoded; a link that is closed swallows it."""
        if self._transport is None or self._closed or self._transport.is_closing():
            return
        if self._seal is None:
            self._transport.write(frame)
        elif self._seal.established:
            self._transport.write(self._seal.send(frame))
        elif len(self._waiting) < WAITING_MAX:
            self._waiting.append(frame)
        else:
            self._fail(LinkError("too much was said before the other end introduced itself"))

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def peer(self) -> RemotePeer | None:
        """The peer at the other end, once that is proven."""
        return self._seal.peer if self._seal is not None else None

    @property
    def remote_host(self) -> str:
        """The address that the connection comes from."""
        name = self._transport.get_extra_info("peername") if self._transport is not None else None
        return str(name[0]) if isinstance(name, tuple) and name else ""

    def close(self) -> None:
        """Sends what is queued, then closes."""
        if self._transport is not None and not self._transport.is_closing():
            if self._seal is not None:
                self._transport.write(self._seal.finish())
            self._transport.close()

    def abort(self, error: Exception | None = None) -> None:
        """Closes at once."""
        self._error = self._error or error
        if self._transport is not None:
            self._transport.abort()

    # -- called by the transport --------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._seal is not None:
            self._transport.write(self._seal.begin())
            self._alarm = asyncio.get_running_loop().call_later(HANDSHAKE_S, self._too_slow)
        if self.on_open is not None:
            self.on_open()

    def data_received(self, data: bytes) -> None:
        try:
            for piece in (data,) if self._seal is None else self._opened(self._seal, data):
                for message in self._reader.feed(piece):
                    self.on_message(message)
        except LinkError as error:
            self._fail(error)

    def eof_received(self) -> None:
        if self._seal is not None:
            try:
                self._seal.eof()
            except LinkError as error:
                self._error = self._error or error

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed = True
        if self._alarm is not None:
            self._alarm.cancel()
        self.on_close(self._error or exc)

    # -- inside -------------------------------------------------------------------------------

    def _opened(self, seal: Seal, data: bytes) -> list[bytes]:
        was_established = seal.established
        try:
            plain = seal.receive(data)
        finally:
            if self._transport is not None and (output := seal.take_output()):
                self._transport.write(output)
        if seal.established and not was_established:
            if self._alarm is not None:
                self._alarm.cancel()
            if self.on_proven is not None:
                self.on_proven()
            waiting, self._waiting = self._waiting, []
            for frame in waiting:
                if self._transport is not None:
                    self._transport.write(seal.send(frame))
        return plain

    def _fail(self, error: LinkError) -> None:
        self._error = self._error or error
        if self._transport is not None:
            # Not aborted: a refusal that the handshake left must still reach the other end.
            self._transport.close()

    def _too_slow(self) -> None:
        self._fail(LinkError("the other end did not introduce itself in time"))


async def open_link(stream: socket.socket, on_message: OnMessage, on_close: OnClose) -> PeerLink:
    """Takes over a connected stream socket, unsealed."""
    stream.setblocking(False)
    loop = asyncio.get_running_loop()
    _, link = await loop.create_connection(lambda: PeerLink(on_message, on_close), sock=stream)
    return link
