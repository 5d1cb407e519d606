"""Ports of peers, which are closed to every crawl of this slave, whatever is open to it.

They are those of the cluster, as the master tells, and those of whatever peers of the same user run on this machine, as
these write them down: a slave that helps a master far away shares its own loopback with peers that the master has never
heard of.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from p2pcrawl.fetch.connection.guard import Endpoint, Networks, endpoints_of
from p2pcrawl.model.cluster.node import Address

LOOK_S = 5.0
"""Between two looks at which peers run here."""

PeersHere = Callable[[], Collection[Address]]


class Doors:
    """``peers_here``: where peers of this machine listen; None: nobody looks. Tell it of each job's networks."""

    def __init__(self, peers_here: PeersHere | None = None) -> None:
        self._peers_here = peers_here
        self._told: frozenset[Endpoint] = frozenset()
        self._here: frozenset[Endpoint] = frozenset()
        self._networks: list[Networks] = []
        self._watch: asyncio.Task[None] | None = None

    async def add(self, networks: Networks) -> None:
        """Closes the ports of peers to these networks as well, when this returns and from then on."""
        networks.close(self._told | self._here)
        if networks not in self._networks:
            self._networks.append(networks)
        await self._look()
        if self._watch is None and self._peers_here is not None:
            self._watch = asyncio.create_task(self._keep_looking())

    def remove(self, networks: Networks) -> None:
        """Lets these networks be, of a job that has ended."""
        if networks in self._networks:
            self._networks.remove(networks)

    def close_ports(self, addresses: Collection[str]) -> None:
        """Closes the ports that the master knows, in place of those that it knew before."""
        self._told = endpoints_of(addresses)
        self._close_all()

    def close(self) -> None:
        """Ends the watch."""
        if self._watch is not None:
            self._watch.cancel()

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            await self._look()

    async def _look(self) -> None:
        if self._peers_here is None:
            return
        here = endpoints_of(await asyncio.to_thread(self._peers_here))
        if here != self._here:
            self._here = here
            self._close_all()

    def _close_all(self) -> None:
        for networks in self._networks:
            networks.close(self._told | self._here)
