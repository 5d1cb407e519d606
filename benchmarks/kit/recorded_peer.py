"""A peer that somebody listens to: ``python -m benchmarks.kit.recorded_peer FOLDER peer ...``.

It is p2pcrawl's own command line; the sealed bytes that leave the process are written down as they would be seen on the
wire: each datagram, and of each link the first pieces. An attacker has no more than that.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from p2pcrawl.cli import main
from p2pcrawl.overlay.link import PeerLink
from p2pcrawl.overlay.port import Port

DATAGRAMS, STREAM = "datagrams", "stream-{}"
DATAGRAM_BYTES_MAX = 16 * 1024 * 1024
STREAM_BYTES_MAX = 64 * 1024
STREAMS_MAX = 200


class Wiretap:
    """A transport that writes down what it is given to send, up to a limit."""

    def __init__(self, transport: Any, file: BinaryIO, size_max: int) -> None:
        self._transport, self._file, self._room = transport, file, size_max

    def sendto(self, data: bytes, address: tuple[str, int]) -> None:
        self._note(data)
        self._transport.sendto(data, address)

    def write(self, data: bytes) -> None:
        self._note(data)
        self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def _note(self, data: bytes) -> None:
        if 0 < len(data) <= self._room:
            self._room -= len(data)
            self._file.write(len(data).to_bytes(4, "big") + data)
            self._file.flush()


def record(folder: Path) -> None:
    """Records from now on, in this process."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = count()

    def datagrams() -> BinaryIO | None:
        return open(folder / DATAGRAMS, "ab")

    def stream() -> BinaryIO | None:
        number = next(numbers)
        return open(folder / STREAM.format(number), "wb") if number < STREAMS_MAX else None

    _tap(Port, datagrams, DATAGRAM_BYTES_MAX)
    _tap(PeerLink, stream, STREAM_BYTES_MAX)


def _tap(protocol: Any, open_file: Callable[[], BinaryIO | None], size_max: int) -> None:
    made = protocol.connection_made

    def connection_made(self: Any, transport: asyncio.BaseTransport) -> None:
        file = open_file()
        made(self, transport if file is None else Wiretap(transport, file, size_max))

    protocol.connection_made = connection_made


def recorded(path: Path) -> Iterator[bytes]:
    """Yields the pieces of a recording; the last one may still be on its way to the disk."""
    data = path.read_bytes()
    at = 0
    while at + 4 <= len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        if end > len(data):
            return
        yield data[at + 4 : end]
        at = end


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    del sys.argv[1]
    record(folder)
    main()
