"""A link: one stream between two peers, carrying typed messages.

Received messages go to ``on_message`` at once, in order; inbound never waits on outbound. The sender
bounds what it has in flight: a slave by the acknowledgements of its reports, a master by the slots it
grants. ``on_close`` is called once, with the error that ended the link, if any.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import cast

from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.codec import FrameReader, encode
from p2pcrawl.wire.messages import Message

log = logging.getLogger(__name__)


class Link(asyncio.Protocol):
    """One end. Create it with :func:`open_link`."""

    def __init__(
        self,
        on_message: Callable[[Message], None],
        on_close: Callable[[Exception | None], None],
    ) -> None:
        self._on_message = on_message
        self._on_close = on_close
        self._reader = FrameReader()
        self._transport: asyncio.Transport | None = None
        self._error: Exception | None = None
        self._closed = False

    def send(self, message: Message) -> int:
        """Queues one message and returns its size; a link that is closed swallows it."""
        frame = encode(message)
        if self._transport is not None and not self._closed:
            self._transport.write(frame)
        return len(frame)

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Sends what is queued, then closes."""
        if self._transport is not None:
            self._transport.close()

    def abort(self, error: Exception | None = None) -> None:
        """Closes at once."""
        self._error = self._error or error
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        try:
            for message in self._reader.feed(data):
                self._on_message(message)
        except LinkError as error:
            self.abort(error)

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed = True
        self._on_close(self._error or exc)


async def open_link(
    stream: socket.socket,
    on_message: Callable[[Message], None],
    on_close: Callable[[Exception | None], None],
) -> Link:
    """Takes over a connected stream socket."""
    stream.setblocking(False)
    loop = asyncio.get_running_loop()
    _, link = await loop.create_connection(lambda: Link(on_message, on_close), sock=stream)
    return link
