"""Servers of streams: programs that listen."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable
from contextvars import Context, copy_context
from ssl import SSLContext
from typing import TYPE_CHECKING, Any

from .connections import End
from .sockets import SimSocket
from .streams import StreamTransport

if TYPE_CHECKING:
    from .loop import SimLoop


class Server(asyncio.AbstractServer):
    """A listening program."""

    def __init__(
        self,
        loop: SimLoop,
        factory: Callable[[], asyncio.BaseProtocol],
        addresses: list[tuple[str, int]],
        backlog: int,
        ssl: SSLContext | None,
        ssl_timeouts: dict[str, Any],
    ) -> None:
        self._loop = loop
        self._factory = factory
        self._ssl = ssl
        self._ssl_timeouts = ssl_timeouts
        self._addresses = addresses
        self._context = copy_context()
        self._transports: dict[int, StreamTransport] = {}
        self._waiters: list[asyncio.Future[None]] = []
        self._forever: asyncio.Future[None] | None = None
        self._node = loop.network.bind_server(self, addresses)
        self._open = True
        self.backlog = backlog
        self.queued = 0
        """Connections that the program has not taken yet."""

    @property
    def sockets(self) -> tuple[SimSocket, ...]:
        if not self._open:
            return ()
        return tuple(
            SimSocket(socket.SOCK_STREAM, socket.AF_INET6 if ":" in ip else socket.AF_INET, (ip, port))
            for ip, port in self._addresses
        )

    def offer(self, end: End) -> None:
        """Takes a connection of a machine; the program hears of it when it has its turn."""
        self.queued += 1
        self._loop.soon_in(self._context, self._accept, end)

    def attach(self, transport: StreamTransport) -> None:
        self._transports[id(transport)] = transport

    def detach(self, transport: StreamTransport) -> None:
        self._transports.pop(id(transport), None)
        if not self._transports and not self._open:
            self._wake_up()

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def is_serving(self) -> bool:
        return self._open

    async def start_serving(self) -> None:
        pass

    async def serve_forever(self) -> None:
        if self._forever is not None:
            raise RuntimeError(f"server {self!r} is already being awaited on serve_forever()")
        if not self._open:
            raise RuntimeError(f"server {self!r} is closed")
        self._forever = self._loop.create_future()
        try:
            await self._forever
        except asyncio.CancelledError:
            self.close()
            await self.wait_closed()
            raise
        finally:
            self._forever = None

    def close(self) -> None:
        if not self._open:
            return
        self._open = False
        self._loop.network.unbind_server(self._node, self._addresses)
        if self._forever is not None and not self._forever.done():
            self._forever.cancel()
        if not self._transports:
            self._wake_up()

    def close_clients(self) -> None:
        for transport in list(self._transports.values()):
            transport.close()

    def abort_clients(self) -> None:
        for transport in list(self._transports.values()):
            transport.abort()

    async def wait_closed(self) -> None:
        # Before 3.12 asyncio did not wait for connections once the server was closed.
        if not self._open and (not self._transports or sys.version_info < (3, 12)):
            return
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiters.append(waiter)
        await waiter

    def _wake_up(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _accept(self, end: End) -> None:
        self.queued -= 1
        if not self._open:
            end.close(polite=False)
            return
        context: Context = self._context.copy()
        self._loop.soon_in(context, self._serve, end)

    def _serve(self, end: End) -> None:
        protocol = self._factory()
        if self._ssl is None:
            StreamTransport(self._loop, end, protocol, server=self)
        else:
            self._loop.tls_over(end, protocol, self._ssl, server_side=True, server=self, **self._ssl_timeouts)
