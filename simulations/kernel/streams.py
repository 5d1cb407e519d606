"""Transports of streams, as asyncio promises them, on simulated connections."""

from __future__ import annotations

import asyncio
import socket
from asyncio import constants
from asyncio.transports import Transport
from collections.abc import Iterable
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final, cast

from .connections import End
from .sockets import SimSocket, socket_address

if TYPE_CHECKING:
    from .loop import SimLoop
    from .servers import Server

_READ_MAX: Final = 256 * 1024
_HIGH: Final = 64 * 1024


class StreamTransport(Transport):
    """One end of a connection for one protocol."""

    _start_tls_compatible = True
    _sendfile_compatible = constants._SendfileMode.FALLBACK

    def __init__(
        self,
        loop: SimLoop,
        end: End,
        protocol: asyncio.BaseProtocol,
        waiter: asyncio.Future[Any] | None = None,
        extra: dict[str, Any] | None = None,
        server: Server | None = None,
    ) -> None:
        family = socket.AF_INET6 if ":" in end.local[0] else socket.AF_INET
        super().__init__(extra)
        self._info: dict[str, Any] = {
            "socket": SimSocket(socket.SOCK_STREAM, family, end.local, end.remote),
            "sockname": socket_address(*end.local),
            "peername": socket_address(*end.remote),
            **(extra or {}),
        }
        self._loop = loop
        self._end = end
        self._context = copy_context()
        self._server = server
        self._buffer = bytearray()
        self._high = _HIGH
        self._low = _HIGH // 4
        self._writing_paused = False
        self._reading_paused = False
        self._started = False
        self._read_soon = False
        self._room_soon = False
        self._at_end = False
        self._eof_written = False
        self._closing = False
        self._lost = False
        self.set_protocol(protocol)
        end.reader = self
        if server is not None:
            server.attach(self)
        loop.call_soon(protocol.connection_made, self)
        loop.call_soon(self._start)
        if waiter is not None:
            loop.call_soon(_wake, waiter)

    # -- what asyncio's users call

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._info.get(name, default)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def is_closing(self) -> bool:
        return self._closing

    def is_reading(self) -> bool:
        return not self._closing and not self._reading_paused

    def pause_reading(self) -> None:
        if self.is_reading():
            self._reading_paused = True

    def resume_reading(self) -> None:
        if not self._closing and self._reading_paused:
            self._reading_paused = False
            self.arrived()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"data must be bytes-like, not {type(data).__name__}")
        if self._eof_written:
            raise RuntimeError("Cannot call write() after write_eof()")
        if not data or self._lost or self._closing:
            return
        if not self._buffer:
            room = self._end.out.room()
            if len(data) <= room:
                self._end.out.send(bytes(data))
                return
            if room > 0:
                data = memoryview(data)
                self._end.out.send(bytes(data[:room]))
                data = data[room:]
            self._end.out.want_room()
        self._buffer += data
        self._maybe_pause()

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        if self._closing or self._eof_written:
            return
        self._eof_written = True
        if not self._buffer:
            self._end.out.send(b"")

    def get_write_buffer_size(self) -> int:
        return len(self._buffer)

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return (self._low, self._high)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if high is None:
            high = _HIGH if low is None else 4 * low
        if low is None:
            low = high // 4
        if not high >= low >= 0:
            raise ValueError(f"high ({high!r}) must be >= low ({low!r}) must be >= 0")
        self._high, self._low = high, low
        self._maybe_pause()

    def close(self) -> None:
        if self._closing:
            return
        self._closing = True
        if not self._buffer:
            self._lose(None)

    def abort(self) -> None:
        self._buffer.clear()
        self._closing = True
        self._lose(None)

    # -- what the connection calls; the world is running then, so the program's turn comes later

    def arrived(self) -> None:
        if self._started and not self._read_soon:
            self._read_soon = True
            self._loop.soon_in(self._context, self._read)

    def room(self) -> None:
        if not self._room_soon:
            self._room_soon = True
            self._loop.soon_in(self._context, self._write_on)

    def broken(self, error: OSError) -> None:
        self._loop.soon_in(self._context, self._break, error)

    def silence(self) -> None:
        self._buffer.clear()
        self._closing = self._lost = True

    # -- the program's turn

    def _start(self) -> None:
        self._started = True
        if self._end.error is not None:
            self._break(self._end.error)
        elif self._end.arrived:
            self.arrived()

    def _read(self) -> None:
        self._read_soon = False
        arrived = self._end.arrived
        if not arrived or self._closing or self._reading_paused or self._at_end:
            return
        data = arrived.popleft()
        if not data:
            self._at_end = True
            self._read_end()
            return
        if arrived and arrived[0]:
            parts = [data]
            size = len(data)
            while arrived and arrived[0] and size < _READ_MAX:
                parts.append(arrived.popleft())
                size += len(parts[-1])
            data = b"".join(parts)
        try:
            if isinstance(self._protocol, asyncio.BufferedProtocol):
                taken = self._fill(self._protocol, data)
            else:
                taken = len(data)
                cast(asyncio.Protocol, self._protocol).data_received(data)
        except Exception as error:
            self._fatal(error, "Fatal error: the protocol failed to take data")
            return
        self._end.into.read(taken)
        if arrived:
            self.arrived()

    def _fill(self, protocol: asyncio.BufferedProtocol, data: bytes) -> int:
        buffer = memoryview(protocol.get_buffer(-1)).cast("B")
        taken = min(len(buffer), len(data))
        if not taken:
            raise RuntimeError("get_buffer() returned an empty buffer")
        buffer[:taken] = data[:taken]
        del buffer
        if taken < len(data):
            self._end.arrived.appendleft(data[taken:])
        protocol.buffer_updated(taken)
        return taken

    def _read_end(self) -> None:
        try:
            keep_open = cast(asyncio.Protocol, self._protocol).eof_received()
        except Exception as error:
            self._fatal(error, "Fatal error: protocol.eof_received() call failed.")
            return
        if not keep_open:
            self.close()

    def _write_on(self) -> None:
        self._room_soon = False
        if self._lost or not self._buffer:
            return
        room = self._end.out.room()
        if room > 0:
            self._end.out.send(bytes(self._buffer[:room]))
            del self._buffer[:room]
            self._maybe_resume()
        if self._buffer:
            self._end.out.want_room()
        elif self._closing:
            self._lose(None)
        elif self._eof_written:
            self._end.out.send(b"")

    def _break(self, error: OSError) -> None:
        self._buffer.clear()
        self._closing = True
        self._lose(error)

    def _fatal(self, error: Exception, message: str) -> None:
        self._loop.call_exception_handler(
            {"message": message, "exception": error, "transport": self, "protocol": self._protocol}
        )
        self._buffer.clear()
        self._closing = True
        self._lose(error)

    def _lose(self, error: Exception | None) -> None:
        if self._lost:
            return
        self._lost = True
        self._loop.call_soon(self._connection_lost, error)

    def _connection_lost(self, error: Exception | None) -> None:
        try:
            self._protocol.connection_lost(error)
        finally:
            self._end.close()
            if self._server is not None:
                self._server.detach(self)

    def _maybe_pause(self) -> None:
        if len(self._buffer) > self._high and not self._writing_paused:
            self._writing_paused = True
            self._protocol.pause_writing()

    def _maybe_resume(self) -> None:
        if self._writing_paused and len(self._buffer) <= self._low:
            self._writing_paused = False
            self._protocol.resume_writing()


def _wake(waiter: asyncio.Future[Any]) -> None:
    if not waiter.done():
        waiter.set_result(None)
