"""A machine that is no peer: it overhears all that is said, has no key, and throws what it likes at the masters.

Garbage, what it heard as it was or changed, to whom it was said or to others, in its own name or the speaker's; streams
that say nothing, or lengths that nobody could hold, or end in the middle; and calls that are well-formed, under a key
of its own. It is bounded: so many a second, so many connections at once.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from random import Random

from p2pcrawl.model.cluster.node import BOOT_BYTES, format_address
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.overlay.calls import Caller
from p2pcrawl.overlay.node import Credentials
from p2pcrawl.wire.sealed.identity import Identity
from p2pcrawl.wire.sealed.keys import KeyRing

from ..kernel.node import Node
from .machines import CLUSTER, PORT, Machine
from .world import World

NAME = "stranger"
HEARD_MAX = 400
"""What it remembers of each kind; the oldest is forgotten."""
DATAGRAM_EVERY_S = 0.1
STREAMS = 4
"""Connections at once."""
PATIENCE_S = 8.0
SIZES = (1, 7, 60, 400, 1_400, 9_000, 65_507)


class Stranger:
    """Overhears the network and throws bytes at the masters. ``thrown`` counts what it threw."""

    def __init__(self, world: World, targets: Sequence[Machine]) -> None:
        self.thrown: Counter[str] = Counter()
        self._world = world
        self._node = world.node(NAME)
        self._ports = [(machine.node.address, PORT) for machine in targets]
        self._dice = Random(f"{world.seed}/{NAME}")
        self._datagrams: deque[tuple[str, str, bytes]] = deque(maxlen=HEARD_MAX)
        """From which address, to which, what."""
        self._pieces: deque[bytes] = deque(maxlen=HEARD_MAX)

    def start(self) -> None:
        """Begins to listen and to throw."""
        self._world.network.filters.append(self._overhear_datagram)
        self._world.network.taps.append(self._overhear_stream)
        self._node.start(self._throw)

    def stop(self) -> None:
        self._world.network.filters.remove(self._overhear_datagram)
        self._world.network.taps.remove(self._overhear_stream)
        self._node.crash()

    # -- listening ----------------------------------------------------------------------------

    def _overhear_datagram(self, source: Node, target: Node, data: bytes) -> bool:
        if source is not self._node:
            self._datagrams.append((source.address, target.address, data))
        return True

    def _overhear_stream(self, source: Node, target: Node, data: bytes) -> None:
        if data and source is not self._node and target is not self._node:
            self._pieces.append(data)

    # -- throwing -----------------------------------------------------------------------------

    async def _throw(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._throw_datagrams())
            for _ in range(STREAMS):
                group.create_task(self._throw_streams())
            group.create_task(self._call_with_another_key())

    async def _throw_datagrams(self) -> None:
        loop = asyncio.get_running_loop()
        local = (self._node.address, PORT)
        transport, _ = await loop.create_datagram_endpoint(asyncio.DatagramProtocol, local_addr=local)
        while True:
            await asyncio.sleep(self._dice.expovariate(1.0 / DATAGRAM_EVERY_S))
            to = self._dice.choice(self._ports)
            if not self._datagrams or self._dice.random() < 0.25:
                self.thrown["datagrams_of_garbage"] += 1
                transport.sendto(self._garbage(), to)
                continue
            source, target, data = self._dice.choice(self._datagrams)
            if self._dice.random() < 0.5:
                data = self._changed(data)
            if self._dice.random() < 0.5:
                to = (target, PORT)
            self.thrown["datagrams_heard"] += 1
            if self._dice.random() < 0.5:
                self._world.network.inject((source, PORT), to, data)
            else:
                transport.sendto(data, to)

    async def _throw_streams(self) -> None:
        while True:
            await asyncio.sleep(self._dice.expovariate(1.0))
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(PATIENCE_S):
                    reader, writer = await asyncio.open_connection(*self._dice.choice(self._ports))
                    self.thrown["streams"] += 1
                    try:
                        for piece in self._stream():
                            writer.write(piece)
                            await writer.drain()
                            await asyncio.sleep(0.2 * self._dice.random())
                        while await reader.read(4096):
                            pass
                    finally:
                        if self._dice.random() < 0.5:
                            writer.transport.abort()
                        else:
                            writer.close()

    async def _call_with_another_key(self) -> None:
        """Calls masters again and again as a peer of another cluster would that has the name of this one."""
        dice = self._dice
        ring = KeyRing([dice.randbytes(32)])
        credentials = Credentials(Identity(dice.randbytes(32)), ring, CLUSTER, dice.randbytes(BOOT_BYTES))
        while True:
            await asyncio.sleep(dice.expovariate(1.0 / PATIENCE_S))
            caller = Caller(credentials.client)
            try:
                await caller.query(format_address(*dice.choice(self._ports)), "ask:status", timeout_s=PATIENCE_S)
            except P2PCrawlError:
                self.thrown["calls_refused"] += 1
            else:
                asyncio.get_running_loop().call_exception_handler({"message": "a master answered one without the key"})
            finally:
                caller.close()

    # -- what ---------------------------------------------------------------------------------

    def _garbage(self) -> bytes:
        return self._dice.randbytes(self._dice.choice(SIZES))

    def _changed(self, data: bytes) -> bytes:
        """Cuts bytes short, makes them longer, or turns some bits round."""
        match self._dice.randrange(3):
            case 0:
                return data[: self._dice.randint(1, len(data))]
            case 1:
                return data + self._dice.randbytes(self._dice.randint(1, 40))
            case _:
                changed = bytearray(data)
                for _ in range(self._dice.randint(1, 3)):
                    changed[self._dice.randrange(len(changed))] ^= 1 << self._dice.randrange(8)
                return bytes(changed)

    def _stream(self) -> list[bytes]:
        """Draws what is written into one connection; perhaps nothing."""
        heard = list(self._pieces)
        first = self._dice.randint(0, len(heard))
        pieces = heard[first : first + self._dice.randint(1, 5)]
        match self._dice.randrange(5):
            case 0:
                return []
            case 1:
                return [b"\xff\xff\xff\xff" + self._garbage()]
            case 2:
                return [self._garbage() for _ in range(self._dice.randint(1, 4))]
            case 3:
                return pieces
            case _:
                return [self._changed(piece) for piece in pieces]
