"""One request sent and its answer received, with what aiohttp does not tell or limit."""

from __future__ import annotations

from asyncio import BaseTransport
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

import aiohttp
from aiohttp.client_proto import ResponseHandler

from p2pcrawl.fetch.connection.patience import Limit, Standstill
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure

if TYPE_CHECKING:
    from aiohttp.connector import Connection


class Crowd(Protocol):
    """Says whether connections should be closed after use."""

    @property
    def crowded(self) -> bool: ...


class HeadTimeout(aiohttp.ClientError):
    """Raised when no complete head of an answer came in time."""


class DroppedConnection(aiohttp.ClientError):
    """A new connection was closed before it brought an answer.

    aiohttp repeats a request whose connection was closed. On a kept connection that is right: the host
    was tired of waiting. On a new one the host has seen the request, and asking again is for the
    retry policy, with its delay.
    """


class LimitedResponse(aiohttp.ClientResponse):
    """aiohttp's response, which also limits the wait for the head and knows the peer and the latency."""

    head_timeout_s: ClassVar[float]
    clock: ClassVar[Standstill]
    head_maxsize: ClassVar[int]
    crowd: ClassVar[Crowd]

    latency_s: float = 0.0
    ip: str = ""
    transferred: bytes | bytearray = b""
    """As much of the body as was read, with its content codings."""
    received_head: bytes = b""
    """The head byte by byte, where somebody wants to know."""

    @classmethod
    def limited(
        cls, head_timeout_s: float, head_maxsize: int, crowd: Crowd, clock: Standstill
    ) -> type[LimitedResponse]:
        """Returns the class to give to a session, with its limits."""
        return type(
            "LimitedExchange",
            (cls,),
            {"head_timeout_s": head_timeout_s, "head_maxsize": head_maxsize, "crowd": crowd, "clock": clock},
        )

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        line = connection.protocol
        if not isinstance(line, CountingConnection):
            raise aiohttp.ServerDisconnectedError
        self.ip = line.ip
        reused = line.begin(self.head_maxsize)
        if self.crowd.crowded:
            line.force_close()
        sent_at, stood_s = monotonic(), self.clock.total_s
        alarm = Limit(self.clock, self.head_timeout_s, line.give_up)
        try:
            await super().start(connection)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            if reused:
                raise
            raise DroppedConnection(str(error)) from error
        finally:
            alarm.cancel()
        # What we did not look at for a while is not what the host took for it.
        self.latency_s = max(0.0, monotonic() - sent_at - (self.clock.total_s - stood_s))
        self._check_head()
        return self

    def _check_head(self) -> None:
        if self.status < 200:
            raise FetchError(Failure.PROTOCOL, f"answered with status {self.status} to an ordinary request")
        size = 0
        for name, value in self._raw_headers:
            size += len(name) + len(value)
        if size > self.head_maxsize:
            raise FetchError(Failure.PROTOCOL, f"the head of the answer is over {self.head_maxsize} bytes")


class CountingConnection(ResponseHandler):
    """aiohttp's end of a connection, which also counts what comes in beside the bodies.

    Interim answers, chunk headers, their extensions and trailers have no limit in aiohttp: a host
    could keep a parser busy for ever without ever sending a byte that counts.
    """

    ip = ""
    _begun = False
    _received = 0
    _slack = 1 << 20
    _enough = 1 << 20

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self.ip = str(peer[0]).partition("%")[0] if peer else ""

    def begin(self, head_maxsize: int) -> bool:
        """Notes that a request was sent; tells whether the connection had served another one before."""
        reused, self._begun = self._begun, True
        self._received = 0
        self._enough = self._slack = head_maxsize + _OVERHEAD_MAX
        return reused

    def give_up(self) -> None:
        """Fails the exchange: the head of the answer did not come in time."""
        self.set_exception(HeadTimeout())

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        if self._received > self._enough and self._is_mostly_overhead():
            return
        super().data_received(data)

    def _is_mostly_overhead(self) -> bool:
        payload = self._payload
        body = payload.total_bytes if payload is not None else 0
        if self._received - body - body // 4 <= self._slack:
            self._enough = self._received + _OVERHEAD_MAX // 4
            return False
        error = FetchError(Failure.PROTOCOL, "the answer has more framing than content")
        self.set_exception(error)
        if payload is not None:
            payload.set_exception(error)
        return True


_OVERHEAD_MAX: Final = 1 << 20
"""Bytes beside the head and the body. More than a reader can lag behind, so that no body counts as overhead."""
