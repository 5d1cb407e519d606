"""The orders of people about hosts: in force here, durable, and told to all other masters.

Who is asked for a change has it on disk before anybody else hears of it, and tells all living masters at once; those
that are away hear of it later.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence

from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.hosts.orders import halted, joined_orders, orders_mark, slower
from p2pcrawl.core.ring.rendezvous import key_hash
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.master.jobs.mirroring import SPREAD_S
from p2pcrawl.master.neighbours.telling_late import TellingLate
from p2pcrawl.model.cluster.host_order import DELAY_MAX_S, HOST_CHARS_MAX, ORDERS_MAX, HostOrder
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.overlay.peers import SOON_S, Peers
from p2pcrawl.wire.messages.peer_messages import HostsOrdered, OrderHosts, WireHostOrder

log = logging.getLogger(__name__)


class HostOrders:
    """Knows all orders. The workbench obeys them; ``wake`` is called when it does so otherwise than before."""

    def __init__(
        self,
        peers: Peers,
        holdings: Holdings,
        workbench: Workbench,
        call_in: Callable[[Sequence[int]], None],
        wake: Callable[[], None],
    ) -> None:
        """``call_in`` ends what is lent of these hosts: it was for as many requests as the delay before allowed."""
        self._peers = peers
        self._holdings = holdings
        self._bench = workbench
        self._call_in = call_in
        self._wake = wake
        self._known: dict[str, HostOrder] = {}
        self._changing = asyncio.Lock()
        self.late: TellingLate[bytes] = TellingLate(
            peers, lambda: orders_mark(self._known), lambda node: self._tell(node), "what was said of hosts"
        )
        self._obey(holdings.orders)

    @property
    def known(self) -> Sequence[HostOrder]:
        """The orders that ask something, by host."""
        return [order for _, order in sorted(self._known.items()) if not order.plain]

    def of(self, host: str) -> HostOrder:
        """Returns the order about a host."""
        return self._known.get(host, HostOrder(host))

    async def change(
        self, host: str, *, delay_s: float | None = None, delayed: bool = False, paused: bool | None = None
    ) -> list[NodeId]:
        """Changes what is asked of a host: its delay, if it is to be ``delayed`` otherwise, and whether it is asked.
        In force and durable here when this returns, and at all that answer; returns those that did not. Raises
        ConfigurationError for what cannot be.
        """
        if not 0 < len(host) <= HOST_CHARS_MAX or any(sign in host for sign in "/@ "):
            raise ConfigurationError(f"{host!r:.80} is not the name of a host, as example.org")
        if delay_s is not None and not 0.0 <= delay_s <= DELAY_MAX_S:
            raise ConfigurationError(f"a delay is 0 to {DELAY_MAX_S:,.0f} s, not {delay_s:g}")
        async with self._changing:
            if host not in self._known and len(self._known) >= ORDERS_MAX:
                raise ConfigurationError(f"{ORDERS_MAX:,} hosts have been changed, and no more can be")
            order = self.of(host)
            if delayed:
                order = slower(order, delay_s)
            if paused is not None:
                order = halted(order, paused=paused)
            await self._keep([order])
        return await self._spread()

    async def take(self, told: Iterable[WireHostOrder]) -> HostsOrdered:
        """Takes in what another master knows; durable and in force when this returns."""
        orders = [HostOrder(one.host, one.delay_version, one.delay_s, one.pause_version, one.paused) for one in told]
        async with self._changing:
            news = list(joined_orders(self._known, orders).values())
            room = ORDERS_MAX - len(self._known)
            fresh = [order.host for order in news if order.host not in self._known][:room]
            # Where more hosts were changed on both sides of a partition, the first in order count.
            await self._keep([order for order in news if order.host in self._known or order.host in fresh])
        return HostsOrdered(0, orders_mark(self._known))

    async def _keep(self, orders: Sequence[HostOrder]) -> None:
        if orders:
            await self._holdings.keep_orders(orders)
            self._obey(orders)

    def _obey(self, orders: Iterable[HostOrder]) -> None:
        hosts = []
        for order in orders:
            self._known[order.host] = order
            hosts.append(key_hash(order.host))
            self._bench.order(hosts[-1], order)
        self._call_in(hosts)
        self._wake()

    async def _spread(self) -> list[NodeId]:
        others = [member.id for member in self._peers.others()]
        told = await asyncio.gather(*(self._tell(node, SPREAD_S) for node in others), return_exceptions=True)
        return [node for node, result in zip(others, told, strict=True) if isinstance(result, BaseException)]

    async def _tell(self, node: NodeId, patience_s: float = SOON_S) -> None:
        mark = orders_mark(self._known)
        orders = [WireHostOrder(*order) for order in self._known.values()]
        try:
            await self._peers.ask(node, OrderHosts(0, orders), patience_s)
        except P2PCrawlError as error:
            log.debug("%s was not told what was said of hosts: %s", node[:8], error)
            raise
        self.late.note(node, mark)
