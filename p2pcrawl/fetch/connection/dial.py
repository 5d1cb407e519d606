"""Connections and the guard at their door.

The guard sits where sockets are made, after DNS: every address that is about to be connected to
passes it together with the host of the URL, whatever name, redirect or spelling led there. A proxy is the user's own
choice and always allowed; behind it, the guard looks at the target's name instead, since the proxy does the connecting.
"""

from __future__ import annotations

import resource
import socket
import ssl
from asyncio import AbstractEventLoop
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

import aiohttp
from aiohttp.abc import ResolveResult
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from p2pcrawl.fetch.connection.guard import Blocked, Networks
from p2pcrawl.fetch.connection.names import Names
from p2pcrawl.fetch.connection.patience import Patience, Standstill
from p2pcrawl.fetch.connection.round_trip import CountingConnection
from p2pcrawl.fetch.connection.socks import SocksRefused, SocksRequest, socks_socket
from p2pcrawl.model.crawl.settings import Settings

if TYPE_CHECKING:
    from aiohttp.client_reqrep import ClientRequest

AddressInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[object, ...]]

_NAMES_MAX: Final = 10_000
_TRIED_MAX: Final = 100_000
FIRST_CONNECT_S: Final = 2.0
"""How long the first connection to a host may take, if it can be tried again. Most hosts that are reachable at all are
within half a second, or one second more if a packet was lost; and thousands of dead ones must not hold up the others
for ``connect_timeout`` each."""


class Refused(OSError):
    """The guard's refusal, in the shape that connecting passes on."""


REFUSED_ERRNO: Final = 0x7050
"""No system uses it. It survives where errors of several addresses are folded into one."""


class Dialer:
    """Makes the connector of one client and holds the rules for its sockets."""

    def __init__(
        self,
        settings: Settings,
        networks: Networks,
        clock: Standstill,
        line: type[CountingConnection] = CountingConnection,
    ) -> None:
        """``line``: the class of the connections."""
        self._networks = networks
        self._line = line
        self._connect_s = self._first_s = settings.connect_timeout
        if settings.retry_enabled and settings.retry_times:
            self._first_s = min(FIRST_CONNECT_S, self._connect_s)
        self._clock = clock
        self._dns_ttl_s = settings.dnscache_ttl
        self._resolver: Names | None = None
        self._targets: dict[str, tuple[float, tuple[str, ...]]] = {}
        self._open: WeakSet[socket.socket] = WeakSet()
        self._open_max = _sockets_max()
        self.crowded = False
        """So many connections are open that new ones should not be kept."""

    def connector(self) -> aiohttp.TCPConnector:
        self._resolver = Names()
        return _Connector(
            self._clock,
            self._connect_s,
            self._first_s,
            self._line,
            self.check_target,
            limit=0,
            dns_cache_max_size=_NAMES_MAX,
            use_dns_cache=self._dns_ttl_s > 0,
            ttl_dns_cache=int(self._dns_ttl_s) or 1,
            resolver=self._resolver,
            socket_factory=self._socket,
        )

    async def close(self) -> None:
        resolver, self._resolver = self._resolver, None
        if resolver is not None:
            await resolver.close()

    async def check_target(self, url: URL) -> str:
        """Returns the target's address. Raises Blocked when a proxy would be asked to go where this crawl may not.

        A name that does not resolve here is left to the proxy, which may know it; its address is "".
        """
        host = url.raw_host or ""
        addresses = await self._addresses(host)
        for ip in addresses:
            self._networks.check(ip, host=host, port=url.port)
        return addresses[0] if addresses else ""

    async def _addresses(self, host: str) -> tuple[str, ...]:
        if ":" in host or host.replace(".", "").isdigit():
            return (host,)
        now = monotonic()
        known = self._targets.get(host)
        if known is not None and known[0] > now:
            return known[1]
        if self._resolver is None:
            return ()
        try:
            found: list[ResolveResult] = await self._resolver.resolve(host, 0, socket.AF_UNSPEC)
        except OSError:
            found = []
        if len(self._targets) >= _NAMES_MAX:
            self._targets.clear()
        addresses = tuple(each["host"] for each in found)
        self._targets[host] = (now + self._dns_ttl_s, addresses)
        return addresses

    def _socket(self, info: AddressInfo) -> socket.socket:
        family, kind, protocol, _, address = info
        host = _HOST.get()
        if host is not None:
            try:
                self._networks.check(str(address[0]), host=host, port=int(str(address[1])))
            except Blocked as blocked:
                raise Refused(REFUSED_ERRNO, str(blocked)) from blocked
        made = socket.socket(family, kind, protocol)
        self._open.add(made)
        self.crowded = len(self._open) > self._open_max
        return made


class _Connector(aiohttp.TCPConnector):
    """Makes connections of the class ``line``, within ``connect_s``, and lets the guard know for which host.
    ``first_s`` is the limit for the first connection to each host."""

    def __init__(
        self,
        clock: Standstill,
        connect_s: float,
        first_s: float,
        line: type[CountingConnection],
        check_target: Callable[[URL], Awaitable[str]],
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._check_target = check_target
        self._first_s = first_s
        self._tried: dict[str, None] = {}
        self._factory = partial(_new_line, line, self._loop)
        self._clock = clock
        self._connect_s = connect_s

    async def _create_connection(self, req: ClientRequest, *arguments: Any) -> ResponseHandler:
        socks = req.socks if isinstance(req, SocksRequest) else None
        token = _HOST.set(None if req.proxy or socks else req.url.raw_host or "")
        try:
            with Patience(self._clock, self._connect_s if socks else self._patience_s(req)):
                if socks is not None:
                    return await self._through(socks, req)
                return await super()._create_connection(req, *arguments)
        except TimeoutError as error:
            raise aiohttp.ConnectionTimeoutError("no connection in time") from error
        finally:
            _HOST.reset(token)

    async def _through(self, socks: URL, req: ClientRequest) -> ResponseHandler:
        host = req.url.raw_host or ""
        target = host if socks.scheme != "socks4" else await self._check_target(req.url)
        if socks.scheme == "socks4" and (not target or ":" in target):
            raise SocksRefused(f"socks4 knows no names and no IPv6, and {host} has no other address here")
        made = await socks_socket(socks, target, req.url.port or 80)
        tls: dict[str, Any] = {}
        if req.is_ssl():
            tls = {"ssl": self._get_ssl_context(req), "server_hostname": req.server_hostname or host}
        try:
            _, line = await self._loop.create_connection(self._factory, sock=made, **tls)
        except ssl.SSLError as error:
            made.close()
            refused = isinstance(error, ssl.CertificateError)
            kind = aiohttp.ClientConnectorCertificateError if refused else aiohttp.ClientConnectorSSLError
            raise kind(req.connection_key, error) from error
        except BaseException:
            made.close()
            raise
        return line

    def _patience_s(self, req: ClientRequest) -> float:
        host = "" if req.proxy else req.url.raw_host or ""
        if not host or host in self._tried:
            return self._connect_s
        self._tried[host] = None
        if len(self._tried) > _TRIED_MAX:
            del self._tried[next(iter(self._tried))]
        return self._first_s


def _new_line(line: type[CountingConnection], loop: AbstractEventLoop) -> ResponseHandler:
    return line(loop)


_HOST: ContextVar[str | None] = ContextVar("host", default="")
"""Of the URL that a connection is made for; None: it goes to a proxy."""


def _sockets_max() -> int:
    """Returns half of the files that this process may open; the rest is for connections in use and for others."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 16_384 if soft == resource.RLIM_INFINITY else min(soft // 2, 16_384)
