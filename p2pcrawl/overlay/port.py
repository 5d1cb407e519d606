"""One port of a peer: UDP for gossip, directory and consent, TCP for links, on the same HOST:PORT.

What kind a datagram is of is sealed into it as its channel. Nothing that does not open is looked at, and nothing is
handed on that was not sealed for this very process (:mod:`p2pcrawl.wire.sealed.knocks`).
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
from collections.abc import Callable, Iterable
from typing import Any, cast

from p2pcrawl.model.cluster.node import Address, format_address, parse_address
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.overlay.link import PeerLink
from p2pcrawl.wire.sealed.datagrams import DatagramSeal, Opened
from p2pcrawl.wire.sealed.knocks import SECRET_BYTES, Knocks, Sending

log = logging.getLogger(__name__)

GOSSIP = 1
DIRECTORY = 2
CONSENT = 3
_TRIES = 20

OnDatagram = Callable[[Opened, tuple[str, int]], None]


class Sender:
    """The way out of a port: whoever only sends need not know who receives."""

    def __init__(self, seal: DatagramSeal) -> None:
        self.knocks = Knocks(seal, os.urandom(SECRET_BYTES))
        self.counters = {"sent": 0, "sent_bytes": 0, "received": 0, "received_bytes": 0, "failed": 0}
        self._transport: asyncio.DatagramTransport | None = None

    def begin(self, transport: asyncio.DatagramTransport) -> None:
        """Sends over this socket from now on; what was sent before got lost."""
        self._transport = transport
        self._loop = asyncio.get_running_loop()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def send(self, channel: int, payload: bytes, to: tuple[str, int]) -> None:
        """Sends one datagram to whoever is there; like any, it may not arrive."""
        if self._transport is not None:
            self.write(self.knocks.send(channel, payload, to, self._loop.time()))

    def send_to(self, channel: int, payload: bytes, address: Address) -> None:
        """Sends one datagram to ``host:port``, where the host is an IP address."""
        self.send(channel, payload, parse_address(address))

    def write(self, sendings: Iterable[Sending]) -> None:
        """Sends what is sealed already."""
        if self._transport is None or self._transport.is_closing():
            return
        for data, to in sendings:
            self.counters["sent"] += 1
            self.counters["sent_bytes"] += len(data)
            self._transport.sendto(data, to)


class Port(asyncio.DatagramProtocol):
    """Open it with :meth:`open`; ``receivers`` maps channels to who takes their datagrams."""

    def __init__(self, seal: DatagramSeal) -> None:
        self.sender = Sender(seal)
        self.knocks, self.counters = self.sender.knocks, self.sender.counters
        self._server: asyncio.Server | None = None
        self.receivers: dict[int, OnDatagram] = {}
        self.address = Address("")

    async def open(self, host: str, port: int, make_link: Callable[[], PeerLink]) -> Address:
        """Binds both sockets; with port 0 any that is free for both. Raises ConfigurationError when it cannot."""
        loop = asyncio.get_running_loop()
        for attempt in range(_TRIES):
            try:
                server = await loop.create_server(make_link, host, port)
            except OSError as error:
                raise ConfigurationError(_refused(host, port, error)) from error
            chosen = port or int(server.sockets[0].getsockname()[1])
            try:
                await loop.create_datagram_endpoint(lambda: self, local_addr=(host, chosen))
            except OSError as error:
                server.close()
                if port or attempt == _TRIES - 1:
                    raise ConfigurationError(_refused(host, chosen, error)) from error
                continue
            self._server = server
            self.address = format_address(host, chosen)
            break
        return self.address

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self.sender.close()

    # -- called by the transport --------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._loop = asyncio.get_running_loop()
        self.sender.begin(cast(asyncio.DatagramTransport, transport))

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        self.counters["received"] += 1
        self.counters["received_bytes"] += len(data)
        source = (str(addr[0]), int(addr[1]))
        opened, sendings = self.knocks.receive(data, source, self._loop.time())
        self.sender.write(sendings)
        if opened is None:
            return
        receiver = self.receivers.get(opened.channel)
        if receiver is not None:
            receiver(opened, source)

    def error_received(self, exc: Exception) -> None:
        # An ICMP answer to some earlier datagram; who it was for will be found out by probing.
        self.counters["failed"] += 1


def _refused(host: str, port: int, error: OSError) -> str:
    where = format_address(host, port) if port else host
    if error.errno == errno.EADDRINUSE:
        return f"{where} is in use by another process; choose another with --bind"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{where} is not an address of this machine; choose another with --bind"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"{where} may not be used by this user; choose a port above 1023 with --bind"
    return f"cannot listen on {where}: {error.strerror or error}"
