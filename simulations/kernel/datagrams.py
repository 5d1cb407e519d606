"""Transports of datagrams, as asyncio promises them."""

from __future__ import annotations

import asyncio
import errno
import socket
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final

from .connections import os_error
from .life import current_life
from .sockets import SimSocket, socket_address

if TYPE_CHECKING:
    from .loop import SimLoop

PAYLOAD_MAX: Final = 65_507
_QUEUE_MAX: Final = 208 * 1024
_OVERHEAD: Final = 768


class DatagramTransport(asyncio.DatagramTransport):
    """One bound port."""

    def __init__(
        self,
        loop: SimLoop,
        protocol: asyncio.DatagramProtocol,
        local: tuple[str, int],
        remote: tuple[str, int] | None,
        waiter: asyncio.Future[Any],
    ) -> None:
        super().__init__()
        family = socket.AF_INET6 if ":" in local[0] else socket.AF_INET
        self._info: dict[str, Any] = {
            "socket": SimSocket(socket.SOCK_DGRAM, family, local, remote),
            "sockname": socket_address(*local),
            "peername": None if remote is None else socket_address(*remote),
        }
        self._loop = loop
        self._protocol = protocol
        self._context = copy_context()
        self._closing = False
        self._queued = 0
        self.node = current_life().node
        self.local = local
        self.remote = remote
        loop.call_soon(protocol.connection_made, self)
        loop.call_soon(_wake, waiter)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._info.get(name, default)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        assert isinstance(protocol, asyncio.DatagramProtocol)
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def is_closing(self) -> bool:
        return self._closing

    def get_write_buffer_size(self) -> int:
        return 0

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return (0, 0)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def sendto(self, data: bytes | bytearray | memoryview, addr: Any = None) -> None:
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"data must be bytes-like, not {type(data).__name__}")
        if self.remote is not None:
            if addr is not None and (addr[0], addr[1]) != self.remote:
                raise ValueError(f"Invalid address: must be None or {self.remote}")
            to = self.remote
        else:
            to = (addr[0], addr[1])
        if not data or self._closing:
            return
        if len(data) > PAYLOAD_MAX:
            self._protocol.error_received(os_error(errno.EMSGSIZE))
            return
        self._loop.network.send_datagram(self.node, self.local, to, bytes(data))

    def close(self) -> None:
        if self._closing:
            return
        self._closing = True
        self._loop.network.unbind_datagrams(self.node, self.local)
        self._loop.call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        self.close()

    def deliver(self, data: bytes, source: tuple[str, int]) -> bool:
        """Takes in a datagram that reached the machine. Returns whether there was room for it while the program
        sleeps.
        """
        size = len(data) + _OVERHEAD
        if self._queued + size > _QUEUE_MAX:
            return False
        if self.remote is not None and source != self.remote:
            return True
        self._queued += size
        self._loop.soon_in(self._context, self._receive, data, source)
        return True

    def refused(self) -> None:
        """Tells the program that nobody listens there, as the peer's machine said."""
        error = os_error(errno.ECONNREFUSED)
        self._loop.soon_in(self._context, self._refuse, error)

    def _receive(self, data: bytes, source: tuple[str, int]) -> None:
        self._queued -= len(data) + _OVERHEAD
        if not self._closing:
            self._protocol.datagram_received(data, source if ":" not in source[0] else (*source, 0, 0))

    def _refuse(self, error: OSError) -> None:
        if not self._closing:
            self._protocol.error_received(error)


def _wake(waiter: asyncio.Future[Any]) -> None:
    if not waiter.done():
        waiter.set_result(None)
