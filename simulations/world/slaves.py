"""Machines that run slaves: peers of the role ``slave``, which work for one master after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from p2pcrawl.fetch.connection.fetcher import OpenFetcher
from p2pcrawl.overlay.calls import Caller
from p2pcrawl.overlay.node import Credentials
from p2pcrawl.peer.config import PeerConfig, Role
from p2pcrawl.peer.helper import Helper
from p2pcrawl.slave.slave import Slave

from ..kernel.life import NodeDown
from .fetcher import fetchers
from .machines import CLUSTER, Machine, PeerMachine
from .web import Web
from .world import World

MakeSlave = Callable[[Credentials, OpenFetcher], Slave]


def honest(credentials: Credentials, open_fetcher: OpenFetcher) -> Slave:
    """Makes a slave as it should be."""
    return Slave(open_fetcher=open_fetcher)


class SlaveMachine(PeerMachine):
    """One slave peer with its slave in its own process. It has no disk: what it knows ends with its life."""

    def __init__(self, world: World, name: str, web: Web, masters: Sequence[Machine]) -> None:
        super().__init__(world, name)
        self.make_slave: MakeSlave = honest
        """What kind of slave its next life is."""
        self._open_fetcher = fetchers(web, world.loop, lambda: self.works_for)
        self._masters = {machine.address: machine.name for machine in masters}
        self._helper: Helper | None = None

    @property
    def works_for(self) -> str:
        """The name of its master; "" while it has none."""
        return self._masters.get(self._helper.master, "") if self._helper is not None and self.node.up else ""

    async def leave(self) -> bool:
        helper = self._helper
        if helper is not None and self.node.up:
            try:
                await self.node.call(helper.close)
            except NodeDown:
                return False
        self.node.crash()
        return True

    async def _main(self) -> None:
        credentials, make_slave = self._credentials(), self.make_slave
        config = PeerConfig(role=Role.SLAVE, slaves=0, join=tuple(self.rejoin), cluster=CLUSTER)
        self._helper = Helper(
            config,
            credentials,
            Caller(credentials.client),
            list(self.rejoin),
            make_slave=lambda _: make_slave(credentials, self._open_fetcher),
        )
        await self._helper.open()
