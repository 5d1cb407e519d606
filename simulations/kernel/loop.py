"""The event loop of a simulation: virtual time, simulated sockets, names and threads.

asyncio's own streams, timeouts, locks and TLS, and libraries such as kademlia and aiohttp, run on it
unchanged. Real sockets that a library makes before it connects are accepted and never used.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from asyncio import sslproto
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from functools import partial
from ssl import SSLContext
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVarTuple
from weakref import WeakKeyDictionary

from .clockwork import Clockwork
from .connections import End
from .datagrams import DatagramTransport
from .life import LIFE, current_life
from .servers import Server
from .sockets import SimSocket, is_numeric
from .streams import StreamTransport

if TYPE_CHECKING:
    from .network import Network

Ts = TypeVarTuple("Ts")

_NAME_DELAY_S = 0.001


class _Call(NamedTuple):
    """A call in an executor."""

    executor: Any
    context: Context
    future: asyncio.Future[Any]
    act: Callable[[], Any]


class SimLoop(Clockwork):
    """The event loop that all nodes of a world share. The world gives it its network."""

    network: Network

    def __init__(self) -> None:
        super().__init__()
        self._connected: WeakKeyDictionary[socket.socket, End] = WeakKeyDictionary()
        self._busy_until: WeakKeyDictionary[Any, tuple[float, float]] = WeakKeyDictionary()
        """When each executor has acted on its last call, and when it answers it."""
        self._behind: WeakKeyDictionary[Any, list[_Call]] = WeakKeyDictionary()
        """The calls of each executor that wait behind one that is held up."""
        self._held_up_s: float | None = None
        """How much longer the call takes that runs at this moment; None while none does."""

    # -- names

    async def getaddrinfo(
        self,
        host: bytes | str | None,
        port: bytes | str | int | None,
        *,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> list[Any]:
        name = host.decode() if isinstance(host, bytes) else host
        if name and not is_numeric(name):
            await asyncio.sleep(_NAME_DELAY_S)
        return self.network.getaddrinfo(name, port, family, type, proto, flags)

    async def getnameinfo(self, sockaddr: Any, flags: int = 0) -> tuple[str, str]:
        return sockaddr[0], str(sockaddr[1])

    async def _numeric(self, address: Any, family: int = 0) -> tuple[str, int]:
        """Returns host and port with the host's name resolved."""
        infos = await self.getaddrinfo(address[0], address[1], family=family, type=socket.SOCK_STREAM)
        ip, port = infos[0][4][:2]
        return ip, port

    # -- datagrams

    async def create_datagram_endpoint(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], asyncio.DatagramProtocol],
        local_addr: Any = None,
        remote_addr: Any = None,
        *,
        family: int = 0,
        proto: int = 0,
        flags: int = 0,
        reuse_port: bool | None = None,
        allow_broadcast: bool | None = None,
        sock: Any = None,
    ) -> tuple[DatagramTransport, asyncio.DatagramProtocol]:
        if sock is not None:
            raise NotImplementedError("a datagram endpoint over a given socket is not simulated")
        node = current_life().node
        remote = None if remote_addr is None else await self._numeric(remote_addr, family)
        ip, port = ("::" if remote and ":" in remote[0] else "0.0.0.0"), 0
        if local_addr is not None:
            ip, port = await self._numeric(local_addr, family)
        node.check_own(ip)
        local = (ip, port or node.free_port())
        if any(each in node.datagram_ports for each in (local, ("0.0.0.0", port), ("::", port))):
            raise OSError(errno.EADDRINUSE, f"address already in use: {local}")
        protocol = protocol_factory()
        waiter: asyncio.Future[None] = self.create_future()
        transport = DatagramTransport(self, protocol, local, remote, waiter)
        self.network.bind_datagrams(node, local, transport)
        try:
            await waiter
        except BaseException:
            transport.close()
            raise
        return transport, protocol

    # -- streams

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        """Connects a socket in the simulation. A real one stays as it is, and stands for the simulated one."""
        to = await self._numeric(address)
        simulated: Any = sock
        end = await self.network.connect(to, simulated.bound if isinstance(simulated, SimSocket) else None)
        if isinstance(simulated, SimSocket):
            simulated.end, simulated.bound, simulated.remote = end, end.local, end.remote
        else:
            self._connected[sock] = end

    async def _connect_sock(self, exceptions: list[Any], addr_info: Any, local_addr_infos: Any = None) -> SimSocket:
        family, kind, _, _, address = addr_info
        mine: list[OSError] = []
        exceptions.append(mine)
        sock: Any = SimSocket(kind, family)
        for info in local_addr_infos or ():
            if info[0] == family:
                sock.bind(info[4])
                break
        try:
            await self.sock_connect(sock, address)
        except OSError as error:
            mine.append(error)
            raise
        connected: SimSocket = sock
        return connected

    async def create_server(  # type: ignore[override]
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str | Sequence[str] | None = None,
        port: int | None = None,
        *,
        backlog: int = 100,
        ssl: SSLContext | None = None,
        ssl_handshake_timeout: float | None = None,
        ssl_shutdown_timeout: float | None = None,
        family: int = 0,
        flags: int = 0,
        sock: Any = None,
        reuse_address: bool | None = None,
        reuse_port: bool | None = None,
        keep_alive: bool | None = None,
        start_serving: bool = True,
    ) -> Server:
        if sock is not None:
            host, port = sock.getsockname()[:2]
        hosts: list[str | None] = [host] if host is None or isinstance(host, str) else list(host)
        addresses: list[tuple[str, int]] = []
        for each in hosts:
            ip, number = await self._numeric((each or "0.0.0.0", port or 0), family)
            if not number:
                number = addresses[0][1] if addresses else current_life().node.free_port()
            addresses.append((ip, number))
        timeouts = {"ssl_handshake_timeout": ssl_handshake_timeout, "ssl_shutdown_timeout": ssl_shutdown_timeout}
        return Server(self, protocol_factory, addresses, backlog, ssl, timeouts)

    def tls_over(
        self,
        end: End,
        protocol: asyncio.BaseProtocol,
        context: SSLContext | None,
        waiter: asyncio.Future[Any] | None = None,
        *,
        extra: dict[str, Any] | None = None,
        server: Server | None = None,
        **options: Any,
    ) -> Any:
        """Lays asyncio's own TLS over a simulated connection."""
        tls: Any = sslproto.SSLProtocol(self, protocol, context, waiter, **options)  # type: ignore[arg-type]
        StreamTransport(self, end, tls, extra=extra, server=server)
        return tls._app_transport

    def _make_socket_transport(
        self,
        sock: Any,
        protocol: asyncio.BaseProtocol,
        waiter: asyncio.Future[Any] | None = None,
        *,
        extra: dict[str, Any] | None = None,
        server: Server | None = None,
    ) -> StreamTransport:
        return StreamTransport(self, self._end_of(sock), protocol, waiter, extra, server)

    def _make_ssl_transport(
        self,
        rawsock: Any,
        protocol: asyncio.BaseProtocol,
        sslcontext: SSLContext | None,
        waiter: asyncio.Future[Any] | None = None,
        **options: Any,
    ) -> Any:
        return self.tls_over(self._end_of(rawsock), protocol, sslcontext, waiter, **options)

    def _end_of(self, sock: Any) -> End:
        end = sock.end if isinstance(sock, SimSocket) else self._connected.pop(sock, None)
        if end is None:
            raise RuntimeError(f"{sock!r} was not connected in this simulation")
        if not isinstance(sock, SimSocket):
            sock.close()
        return end

    # -- threads and signals

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """Calls inline in the middle of the node's delay and answers at its end, in order for each executor.

        So a life may end after a call has had its effect and before anybody knows of it.
        """
        future = self.create_future()
        life = LIFE.get()
        delay_s = 0.001 if life is None else life.node.executor_delay_s
        if life is not None and life.node.hesitation is not None:
            delay_s += life.node.hesitation.of_call_s(self.now)
        done, acts = self.now + delay_s, self.now + delay_s / 2
        if executor is not None:
            acted, busy = self._busy_until.get(executor, (0.0, 0.0))
            done = max(done, busy)
            acts = max(done - delay_s / 2, acted)
            self._busy_until[executor] = acts, done
        context = copy_context()
        self.node_at(acts, context, self._call, done, _Call(executor, context, future, partial(func, *args)))
        return future

    def hold_up(self, for_s: float) -> float:
        """Makes the call of an executor that runs at this moment take so much longer: nobody hears of its effect before
        that, and what is behind it waits. Returns how much longer it takes in all by now; 0 if none runs.
        """
        if self._held_up_s is None:
            return 0.0
        self._held_up_s += for_s
        return self._held_up_s

    def _call(self, done: float, call: _Call) -> None:
        """Makes a call, which is answered when it is done."""
        if call.future.cancelled():
            return
        if call.executor is not None and (behind := self._behind.get(call.executor)) is not None:
            behind.append(call)
            return
        result, failed, self._held_up_s = None, None, 0.0
        try:
            result = call.act()
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            failed = error
        held_up_s, self._held_up_s = self._held_up_s, None
        self.node_at(done + held_up_s, call.context, _answer, call.future, result, failed)
        if held_up_s and call.executor is not None:
            self._hold_up(call, done + held_up_s)

    def _hold_up(self, call: _Call, until: float) -> None:
        """Lets all that its executor is given wait for a call."""
        self._behind[call.executor] = []
        acted, busy = self._busy_until[call.executor]
        self._busy_until[call.executor] = max(acted, until), until + max(busy - self.now, 0.0)
        self.node_at(until, call.context, self._go_on, call.executor)

    def _go_on(self, executor: Any) -> None:
        """Makes the calls that have waited, in their order."""
        for call in self._behind.pop(executor):
            life = call.context.get(LIFE)
            if life is not None and life.halted:
                self.node_at(self.now, call.context, self._call, self.now, call)
            else:
                call.context.run(self._call, self.now, call)

    async def shutdown_default_executor(self, *_: object) -> None:
        pass

    def add_signal_handler(self, sig: int, callback: Callable[[*Ts], object], *args: *Ts) -> None:
        """Signals are not simulated; handlers may be set and never run."""

    def remove_signal_handler(self, sig: int) -> bool:
        return False


def _answer(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.cancelled():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
