"""Machines that run peers: a node of the world, an identity, and the peer's own code on it."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from p2pcrawl.fetch.connection.fetcher import OpenFetcher
from p2pcrawl.model.cluster.node import BOOT_BYTES, Address, NodeId
from p2pcrawl.model.cluster.placement import GroupPlacement, RingName
from p2pcrawl.model.errors import DiskFullError, StorageError
from p2pcrawl.overlay.node import Credentials
from p2pcrawl.peer.config import Partition, PeerConfig, Role
from p2pcrawl.peer.lead import Lead
from p2pcrawl.slave.slave import Slave
from p2pcrawl.stores.warc.place import WarcPlace
from p2pcrawl.wire.sealed.identity import Identity
from p2pcrawl.wire.sealed.keys import KeyRing

from ..kernel.life import NodeDown
from ..kernel.moments import ASKED, FAILED, TOLD
from .disks import Disk
from .fetcher import RawFolder
from .world import World

T = TypeVar("T")
AskedOf = Callable[[str, dict[str, Any]], Coroutine[Any, Any, Any]]

PORT = 7117
API_PORT = 7118
CLUSTER = "simulation"
KEYS = base64.b64encode(bytes(range(32))).decode()


class PeerMachine(ABC):
    """The base of the machines of masters and slaves. A machine survives its lives: the identity stays."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.node = world.node(name)
        self.name = name
        self.failures: list[str] = []
        """What made its peer give up."""
        self.rejoin: Sequence[Address] = ()
        self._identity = Identity(Random(f"{world.seed}/{name}/identity").randbytes(32))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def id(self) -> str:
        return self._identity.node_id

    @property
    def address(self) -> Address:
        """The address where a master listens. A slave listens nowhere; its machine is known by it all the same."""
        return Address(f"{self.node.address}:{PORT}")

    def start(self, contacts: Sequence[Address] | None = None) -> None:
        """Begins a life, which joins through ``contacts``; without them, through those of the life before."""
        self.rejoin = self.rejoin if contacts is None else contacts
        self.node.start(self._main).add_done_callback(self._ended)

    @abstractmethod
    async def leave(self) -> bool:
        """Ends its life in order: gives back what it has, says good-bye, and the process ends. Returns whether it came
        to that: something else may end it before.
        """

    def lose_power(self) -> None:
        """Ends its life; nobody is told."""
        self.node.lose_power()

    # -- inside -------------------------------------------------------------------------------

    @abstractmethod
    async def _main(self) -> None:
        """Runs one life."""

    def _credentials(self) -> Credentials:
        """Makes the credentials of one life."""
        return Credentials(self._identity, KeyRing.parse(KEYS), CLUSTER, os.urandom(BOOT_BYTES))

    def _ended(self, outcome: asyncio.Future[None]) -> None:
        if outcome.cancelled():
            return
        error = outcome.exception()
        if error is None or isinstance(error, NodeDown):
            return
        failed = self.node.disk_error
        refused = failed is not None and failed.struck and isinstance(error, StorageError)
        if not (refused or (self.node.disk_full and isinstance(error, DiskFullError))):
            self.failures.append(f"{type(error).__name__}: {error}")
        self.node.crash()


class Machine(PeerMachine):
    """One master with its slave in the same process, and a disk that stays."""

    def __init__(
        self,
        world: World,
        name: str,
        disk: Path,
        copies: int,
        open_fetcher: OpenFetcher,
        weight: int = 1,
        partition: Partition = Partition.AVAILABLE,
        ring: RingName = RingName.RENDEZVOUS,
        placement: GroupPlacement = GroupPlacement.BOUNDED,
        raw_pages: RawFolder | None = None,
    ) -> None:
        """``raw_pages``: where it keeps the answers that its slave gets."""
        super().__init__(world, name)
        self._raw_pages = raw_pages
        self.keeps_raw_pages = raw_pages is not None
        self.disk = Disk(world, disk / name)
        self.node.cache = self.disk.cache
        self.weight = weight
        self._copies = copies
        self.partition = partition
        self._ring, self._placement = ring, placement
        self._open_fetcher = open_fetcher
        self._lead: Lead | None = None
        self._served_from: object = None
        self._served: frozenset[int] = frozenset()

    @property
    def folder(self) -> Path:
        return self.disk.folder

    @property
    def lead(self) -> Lead | None:
        """The machine's master, while it runs and has opened its folder and its port."""
        return self._lead if self.node.life is not None else None

    @property
    def failing(self) -> bool:
        """True if its master has given up, and its process is about to end."""
        return self.lead is not None and self.lead.failed.done()

    # -- life ---------------------------------------------------------------------------------

    def start(self, contacts: Sequence[Address] | None = None) -> None:
        self._lead = None
        self.disk.begin()
        super().start(contacts)

    async def leave(self) -> bool:
        lead = self.lead
        if lead is not None:
            try:
                await self.node.call(lead.close)
            except NodeDown:
                return False
        self.node.crash()
        return True

    def lose_power(self) -> None:
        """Ends its life, and takes away what its disk had not made safe."""
        was_up = self.node.up
        super().lose_power()
        if was_up:
            self.disk.lose_power()

    def wipe(self) -> None:
        """Empties its disk. Only between two lives."""
        self.disk.wipe()

    async def results(self, job: int) -> list[dict[str, Any]]:
        """Gathers all items of a job, as its master gives them out. Raises NodeDown."""
        self.node.moments.happen(self.name, "verb results", ASKED, what={"job": job})
        if (lead := self.lead) is None:
            raise NodeDown(f"{self.name} is down")

        async def gather() -> bytes:
            return b"".join([piece async for piece in lead.results(job)])

        items = [json.loads(line) for line in (await self.node.call(gather)).splitlines()]
        self.node.moments.happen(self.name, "verb results", TOLD, what=items)
        return items

    async def tell(self, what: str, arguments: dict[str, Any]) -> Any:
        """Gives its master an order, as a face does. Raises NodeDown."""
        return await self._verb(what, arguments, lambda lead: lead.tell)

    async def send_letters(self, job: int) -> Any:
        """Has the dead letters of a job sent again by all masters, and returns what came of them. Raises NodeDown."""
        return await self._verb(
            "letters", {"job": job, "dead_letters": True}, lambda lead: lambda _, told: lead.tell("retry", told)
        )

    async def ask(self, what: str, arguments: dict[str, Any]) -> Any:
        """Asks its master a question, as a face does. Raises NodeDown."""
        return await self._verb(what, arguments, lambda lead: lead.ask)

    async def _verb(self, what: str, arguments: dict[str, Any], way: Callable[[Lead], AskedOf]) -> Any:
        self.node.moments.happen(self.name, f"verb {what}", ASKED, what=arguments)
        try:
            if (lead := self.lead) is None:
                raise NodeDown(f"{self.name} is down")
            answer = await self.node.call(way(lead), what, arguments)
        except BaseException as error:
            self.node.moments.happen(self.name, f"verb {what}", FAILED, what=error)
            raise
        self.node.moments.happen(self.name, f"verb {what}", TOLD, what=answer)
        return answer

    # -- what it sees -------------------------------------------------------------------------

    def members(self) -> frozenset[str]:
        """Returns the ids of the masters that its master counts."""
        return frozenset(m.id for m in self.lead.node.members()) if self.lead is not None else frozenset()

    def counted(self, machines: Sequence[Machine]) -> dict[str, frozenset[int]]:
        """Returns which buckets' copies its master counts at each of these machines."""
        if self.lead is None:
            return {}
        copying = self.lead.cluster.copying
        return {machine.name: buckets for machine in machines if (buckets := copying.counted(NodeId(machine.id)))}

    def served(self) -> tuple[int, frozenset[int]]:
        """Returns its view, and the buckets that it would grant from."""
        if self.lead is None:
            return 0, frozenset()
        ownership, agreed = self.lead.cluster.ownership, self._agreed()
        # Asked again and again, and seldom another answer: all that it is made from is compared first.
        waits = ownership.paused, ownership.patient and bytes(ownership.lacks), ownership.unconfirmed, agreed
        made_from = (bytes(ownership.states), waits)
        if made_from != self._served_from:
            self._served_from = made_from
            self._served = self._as_itself(ownership.serving) if ownership.table else frozenset()
        return ownership.view, self._served

    def _agreed(self) -> bool:
        """Tells whether most agree with it at this moment, where that is asked for: by its own clock."""
        consent = self.lead.cluster.ownership.consent if self.lead is not None else None
        return consent is None or self._as_itself(consent)

    def _as_itself(self, look: Callable[[], T]) -> T:
        assert self.node.life is not None
        return self.node.life.context.run(look)

    # -- inside -------------------------------------------------------------------------------

    async def _main(self) -> None:
        config = PeerConfig(
            role=Role.MASTER,
            slaves=0,
            copies=self._copies,
            weight=self.weight,
            cluster=CLUSTER,
            partition=self.partition,
            ring=self._ring,
            placement=self._placement,
            warc=None if self._raw_pages is None else WarcPlace(self._raw_pages.folder),
        )
        api = Address(f"{self.node.address}:{API_PORT}")
        lead = Lead(config, self._credentials(), self.folder, api, run_here=self._run_slave)
        await lead.open(self.node.address, PORT)
        self._lead = lead
        lead.join(self.rejoin)
        await asyncio.wait([lead.failed])
        if not lead.failed.cancelled():
            # As a peer does before its process ends.
            await lead.close()
            lead.failed.result()

    async def _run_slave(self, stream: Any) -> None:
        await Slave(open_fetcher=self._open_fetcher).run(stream)
