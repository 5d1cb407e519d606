"""A peer whose datagrams get lost: ``python -m benchmarks.kit.lossy_peer FRACTION SEED peer ...``.

It is p2pcrawl's own command line, with a die between the port and its socket: so much of what it sends never leaves the
process. Streams are left alone; on a real network TCP would send again what was lost.
"""

from __future__ import annotations

import asyncio
import random
import sys
from typing import Any

from p2pcrawl.cli import main
from p2pcrawl.overlay.port import Port


class LossyTransport:
    """A datagram transport that forgets some of what it is to send."""

    def __init__(self, transport: Any, fraction: float, dice: random.Random) -> None:
        self._transport, self._fraction, self._dice = transport, fraction, dice

    def sendto(self, data: bytes, address: tuple[str, int]) -> None:
        if self._dice.random() >= self._fraction:
            self._transport.sendto(data, address)

    def is_closing(self) -> bool:
        return bool(self._transport.is_closing())

    def close(self) -> None:
        self._transport.close()


def lose(fraction: float, dice: random.Random) -> None:
    """Loses datagrams from now on, in this process."""
    made = Port.connection_made

    def connection_made(port: Port, transport: asyncio.BaseTransport) -> None:
        made(port, LossyTransport(transport, fraction, dice))  # type: ignore[arg-type]

    Port.connection_made = connection_made  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    fraction, seed = float(sys.argv[1]), sys.argv[2]
    del sys.argv[1:3]
    lose(fraction, random.Random(seed))
    main()
