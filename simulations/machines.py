"""Machines that run masters: a node of the world, a disk, and the peer's own code on it."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from p2pcrawl.fetch.fetcher import OpenFetcher
from p2pcrawl.model.node import BOOT_BYTES, Address
from p2pcrawl.overlay.node import Credentials
from p2pcrawl.peer.config import PeerConfig, Role
from p2pcrawl.peer.lead import Lead
from p2pcrawl.slave.slave import Slave
from p2pcrawl.wire.identity import Identity
from p2pcrawl.wire.keys import KeyRing
from simulations.life import NodeDown
from simulations.world import World

PORT = 7117
API_PORT = 7118
CLUSTER = "simulation"
KEYS = base64.b64encode(bytes(range(32))).decode()


class Machine:
    """One master with its slave in the same process. It survives its lives: the disk and the identity stay."""

    def __init__(self, world: World, name: str, disk: Path, copies: int, open_fetcher: OpenFetcher) -> None:
        self.world = world
        self.node = world.node(name)
        self.name = name
        self.folder = disk / name
        self.failures: list[str] = []
        """What made its master give up."""
        self.rejoin: Sequence[Address] = ()
        self._copies = copies
        self._open_fetcher = open_fetcher
        self._identity = Identity(Random(f"{world.seed}/{name}/identity").randbytes(32))
        self._lead: Lead | None = None

    def __repr__(self) -> str:
        return f"<Machine {self.name}>"

    @property
    def id(self) -> str:
        return self._identity.node_id

    @property
    def address(self) -> Address:
        return Address(f"{self.node.address}:{PORT}")

    @property
    def lead(self) -> Lead | None:
        """Its master, while it runs and has opened its folder and its port."""
        return self._lead if self.node.up else None

    # -- life ---------------------------------------------------------------------------------

    def start(self, contacts: Sequence[Address] | None = None) -> None:
        """Begins a life, which joins through ``contacts``; without them, through those of the life before."""
        self.rejoin = self.rejoin if contacts is None else contacts
        self._lead = None
        self.folder.mkdir(parents=True, exist_ok=True)
        self.node.start(self._main).add_done_callback(self._ended)

    async def leave(self) -> None:
        """Ends its life in order: hands over, says good-bye, and the process ends."""
        lead = self.lead
        if lead is not None:
            try:
                await self.node.call(lead.close)
            except NodeDown:
                return
        self.node.crash()

    def wipe(self) -> None:
        """Empties its disk. Only between two lives."""
        shutil.rmtree(self.folder)

    async def results(self, job: int) -> list[dict[str, Any]]:
        """All items of a job, as its master gives them out. Raises NodeDown."""
        if (lead := self.lead) is None:
            raise NodeDown(f"{self.name} is down")

        async def gather() -> bytes:
            return b"".join([piece async for piece in lead.results(job)])

        return [json.loads(line) for line in (await self.node.call(gather)).splitlines()]

    async def tell(self, what: str, arguments: dict[str, Any]) -> Any:
        """An order to its master, as a face gives it. Raises NodeDown."""
        if (lead := self.lead) is None:
            raise NodeDown(f"{self.name} is down")
        return await self.node.call(lead.tell, what, arguments)

    # -- what it sees -------------------------------------------------------------------------

    def members(self) -> frozenset[str]:
        """The ids of the masters that it counts."""
        return frozenset(m.id for m in self.lead.node.members()) if self.lead is not None else frozenset()

    def served(self) -> tuple[int, frozenset[int]]:
        """Its view, and the buckets that it would grant from."""
        if self.lead is None:
            return 0, frozenset()
        ownership = self.lead.cluster.ownership
        return ownership.view, frozenset(b for b in range(len(ownership.table)) if ownership.serves(b))

    # -- inside -------------------------------------------------------------------------------

    async def _main(self) -> None:
        credentials = Credentials(self._identity, KeyRing.parse(KEYS), CLUSTER, os.urandom(BOOT_BYTES))
        config = PeerConfig(role=Role.MASTER, slaves=0, copies=self._copies, cluster=CLUSTER)
        api = Address(f"{self.node.address}:{API_PORT}")
        lead = Lead(config, credentials, self.folder, api, run_here=self._run_slave)
        await lead.open(self.node.address, PORT)
        self._lead = lead
        lead.join(self.rejoin)
        await asyncio.wait([lead.failed])
        if not lead.failed.cancelled():
            lead.failed.result()

    async def _run_slave(self, stream: Any) -> None:
        await Slave(open_fetcher=self._open_fetcher).run(stream)

    def _ended(self, outcome: asyncio.Future[None]) -> None:
        if outcome.cancelled():
            return
        error = outcome.exception()
        if error is not None and not isinstance(error, NodeDown):
            self.failures.append(f"{type(error).__name__}: {error}")
