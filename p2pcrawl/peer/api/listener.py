"""The listener of a peer's HTTP API: bounds the number of connections, and the time they may take to say what they
want.

aiohttp serves a connection for as long as it lasts, silent or not. Here each is watched from outside: until the head of
a request is whole it waits in an :class:`Antechamber`, for HEAD_S at most; so does one that is kept for a next request.
While requests are being served their connections are counted, and beyond BUSY_MAX nobody new is let in, unless there
are answers that nobody reads: one of those goes then. Until somebody comes, whoever reads slowly may take his time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, cast

from aiohttp import web

from p2pcrawl.overlay.antechamber import Antechamber, descriptors_max

HEAD_S: Final = 10.0
BODY_S: Final = 30.0
"""What a change may take to arrive: its code and settings, 16 MiB at most."""
BUSY_MAX: Final = 64
"""Connections whose requests are being served; people and their programs, not crawlers, come here."""
WAITING_MAX: Final = 64

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def busy_max() -> int:
    """Returns how many requests are served at once; each keeps one of this process's descriptors."""
    return min(BUSY_MAX, max(4, descriptors_max() // 16))


class HttpListener:
    """Makes the protocols of one server: give :meth:`connection` to ``create_server``, and let each request pass
    through :meth:`watch`."""

    def __init__(self, serve: Callable[[], asyncio.Protocol]) -> None:
        self._serve = serve
        self._waiting: Antechamber[_Connection] = Antechamber(min(WAITING_MAX, max(4, descriptors_max() // 16)))
        self._busy_max = busy_max()
        self._busy: set[_Connection] = set()
        self._unread: Antechamber[_Connection] = Antechamber(self._busy_max)
        """Those of them whose answers wait to be read."""
        self._visitors: dict[asyncio.BaseTransport, _Connection] = {}
        self._refused = 0

    def connection(self) -> asyncio.Protocol:
        """Makes the protocol of a new connection, for the server."""
        return _Connection(self, self._serve())

    async def watch(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Counts the connection as busy from now on, when its head is whole, until the request is answered."""
        visitor = self._visitors.get(cast(asyncio.BaseTransport, request.transport))
        if visitor is not None:
            self._begun(visitor)
        try:
            return await handler(request)
        finally:
            if visitor is not None:
                self._ended(visitor)

    def counters(self) -> dict[str, int]:
        """Counts its connections: those that are open, what they are at, and those that had to go."""
        return {
            "open": len(self._visitors),
            "waiting": len(self._waiting),
            "answered": len(self._busy),
            "unread": len(self._unread),
            "turned_out": self._waiting.turned_out,
            "cut_off": self._unread.turned_out,
            "refused": self._refused,
        }

    # -- what becomes of connections ----------------------------------------------------------

    def came(self, visitor: _Connection) -> None:
        if len(self._busy) >= self._busy_max:
            victim = self._unread.turn_out()
            if victim is None:
                self._refused += 1
                visitor.transport.abort()
                return
            self._busy.discard(victim)
            victim.transport.abort()
        self._visitors[visitor.transport] = visitor
        self._wait(visitor)

    def stalled(self, visitor: _Connection) -> None:
        """Notes that a visitor does not read what it asked for, so that it may be turned out for another."""
        if visitor in self._busy:
            self._unread.enter(visitor, visitor.host)

    def going_on(self, visitor: _Connection) -> None:
        self._unread.leave(visitor)

    def gone(self, visitor: _Connection) -> None:
        visitor.cancel()
        self._waiting.leave(visitor)
        self._unread.leave(visitor)
        self._busy.discard(visitor)
        self._visitors.pop(visitor.transport, None)

    def _begun(self, visitor: _Connection) -> None:
        visitor.cancel()
        self._waiting.leave(visitor)
        self._busy.add(visitor)

    def _ended(self, visitor: _Connection) -> None:
        self._busy.discard(visitor)
        self._unread.leave(visitor)
        if visitor.transport in self._visitors:
            self._wait(visitor)

    def _wait(self, visitor: _Connection) -> None:
        victim = self._waiting.enter(visitor, visitor.host)
        visitor.give(HEAD_S)
        if victim is not None:
            victim.transport.abort()


class _Connection(asyncio.Protocol):
    """One connection: hands all on to aiohttp's protocol, and ends when its time is up."""

    def __init__(self, listener: HttpListener, inner: asyncio.Protocol) -> None:
        self._listener = listener
        self._inner = inner
        self._alarm: asyncio.TimerHandle | None = None
        self.host = ""

    def give(self, seconds: float) -> None:
        """Gives the visitor so many seconds to send the head of a request."""
        self.cancel()
        self._alarm = asyncio.get_running_loop().call_later(seconds, self.transport.abort)

    def cancel(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        name = transport.get_extra_info("peername")
        self.host = str(name[0]) if isinstance(name, tuple) and name else ""
        self._inner.connection_made(transport)
        self._listener.came(self)

    def data_received(self, data: bytes) -> None:
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._listener.stalled(self)
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._listener.going_on(self)
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._listener.gone(self)
        self._inner.connection_lost(exc)
