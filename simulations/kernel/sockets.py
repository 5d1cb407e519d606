"""The sockets that code sees when it asks a simulated transport or server for its socket."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .connections import End

SocketAddress = tuple[str, int] | tuple[str, int, int, int]


def socket_address(ip: str, port: int) -> SocketAddress:
    """Writes an address in the shape in which sockets of its family give it."""
    return (ip, port, 0, 0) if ":" in ip else (ip, port)


def is_numeric(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


class SimSocket:
    """The part of a socket that asyncio and its users touch. It may be passed as ``sock=`` when connected."""

    def __init__(
        self,
        kind: socket.SocketKind,
        family: socket.AddressFamily = socket.AF_INET,
        local: tuple[str, int] | None = None,
        remote: tuple[str, int] | None = None,
    ) -> None:
        self.type = kind
        self.family = family
        self.proto = 0
        self.end: End | None = None
        self.bound = local
        self.remote = remote
        self._options: dict[tuple[int, int], int] = {}
        self._closed = False

    def getsockname(self) -> SocketAddress:
        ip, port = self.bound or ("::" if self.family == socket.AF_INET6 else "0.0.0.0", 0)
        return socket_address(ip, port)

    def getpeername(self) -> SocketAddress:
        if self.remote is None:
            raise OSError("the socket is not connected")
        return socket_address(*self.remote)

    def bind(self, address: SocketAddress) -> None:
        self.bound = (address[0], address[1])

    def setsockopt(self, level: int, option: int, value: int) -> None:
        self._options[level, option] = value

    def getsockopt(self, level: int, option: int) -> int:
        return self._options.get((level, option), 0)

    def setblocking(self, flag: bool) -> None:
        pass

    def settimeout(self, timeout_s: float | None) -> None:
        pass

    def gettimeout(self) -> float:
        return 0.0

    def fileno(self) -> int:
        return -1

    def close(self) -> None:
        """Closes a connection that no transport has taken over; a transport closes its own."""
        if not self._closed:
            self._closed = True
            if self.end is not None:
                self.end.close_unused()
