"""What people say of hosts: in force and durable where it is said, and told to all other masters."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.hosts.orders import orders_mark
from p2pcrawl.core.ring.rendezvous import key_hash
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.master.copies.host_orders import HostOrders
from p2pcrawl.model.cluster.host_order import DELAY_MAX_S, HostOrder
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.errors import ConfigurationError, LinkError
from p2pcrawl.wire.messages.ask import PeerReply
from p2pcrawl.wire.messages.peer_messages import OrderHosts, WireHostOrder
from tests.peers import FakePeers, member
from tests.unit.core.bench.benches import Frontier, candidate, host_name, pace_of

ME, NEXT, LAST = (NodeId(letter * 40) for letter in "abc")
HOST = host_name(1)


class Orders:
    """A master that is told about hosts, with two others of which some may be away."""

    def __init__(self, folder: Path) -> None:
        self.away: set[NodeId] = set()
        self.told: list[tuple[NodeId, list[WireHostOrder]]] = []
        self.holdings = Holdings(folder, _never)
        self.bench = Workbench()
        self.bench.open_job(1, pace_of())
        self.called_in: list[int] = []
        self.woken = 0

    async def __aenter__(self) -> Orders:
        await self.holdings.open()
        peers = FakePeers(ME, [member(ME), member(NEXT), member(LAST)], self._answer)
        self.orders = HostOrders(peers, self.holdings, self.bench, self.called_in.extend, self._wake)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.holdings.close()

    def _wake(self) -> None:
        self.woken += 1

    async def _answer(self, node: NodeId, request: object) -> PeerReply:
        assert isinstance(request, OrderHosts)
        if node in self.away:
            raise LinkError("it is away")
        self.told.append((node, request.orders))
        return await self.orders.take([])


def _never(error: Exception) -> None:
    raise error


async def test_change_is_in_force_and_told_to_all_and_who_is_away_is_named(tmp_path: Path) -> None:
    async with Orders(tmp_path) as here:
        here.away.add(LAST)

        missing = await here.orders.change(HOST, delay_s=5.0, delayed=True)

        assert missing == [LAST]
        assert here.bench.host(key_hash(HOST), HOST, 1).ordered_s == 5.0
        assert here.told == [(NEXT, [WireHostOrder(HOST, 1, 5.0, 0, False)])]
        assert here.woken


async def test_what_is_lent_of_a_host_is_called_in_when_that_is_changed(tmp_path: Path) -> None:
    async with Orders(tmp_path) as here:
        await here.orders.change(HOST, delay_s=5.0, delayed=True)
        await here.orders.take([WireHostOrder("b.example", 1, 2.0, 0, False)])

        assert here.called_in == [key_hash(HOST), key_hash("b.example")]


async def test_order_lasts_through_a_restart(tmp_path: Path) -> None:
    async with Orders(tmp_path) as before:
        await before.orders.change(HOST, delay_s=5.0, delayed=True)
        await before.orders.change(HOST, paused=True)

    async with Orders(tmp_path) as here:
        assert here.orders.known == [HostOrder(HOST, 1, 5.0, 1, True)]
        assert here.bench.host(key_hash(HOST), HOST, 1).halted


async def test_what_others_tell_counts_if_it_is_newer(tmp_path: Path) -> None:
    async with Orders(tmp_path) as here:
        await here.orders.change(HOST, delay_s=5.0, delayed=True)
        await here.orders.change(HOST, delay_s=6.0, delayed=True)

        old = await here.orders.take([WireHostOrder(HOST, 1, 50.0, 0, False)])
        new = await here.orders.take(
            [WireHostOrder(HOST, 3, 1.0, 0, False), WireHostOrder("b.example", 1, 2.0, 0, False)]
        )

        assert [order.delay_s for order in here.orders.known] == [2.0, 1.0]
        assert old.mark != new.mark == orders_mark({order.host: order for order in here.orders.known})


@pytest.mark.parametrize(
    ("host", "delay_s"),
    [("", 1.0), ("http://a.example/", 1.0), ("a" * 300, 1.0), (HOST, -1.0), (HOST, 2 * DELAY_MAX_S)],
)
async def test_what_cannot_be_is_refused_in_one_line(tmp_path: Path, host: str, delay_s: float) -> None:
    async with Orders(tmp_path) as here:
        with pytest.raises(ConfigurationError, match=r"is not the name of a host|a delay is 0 to"):
            await here.orders.change(host, delay_s=delay_s, delayed=True)

        assert here.told == []


async def test_host_that_is_paused_is_not_asked_until_it_goes_on(tmp_path: Path) -> None:
    async with Orders(tmp_path) as here:
        frontier = Frontier(here.bench)
        frontier.cycle([candidate(1, host=1), candidate(2, host=1), candidate(3, host=2)])
        await here.orders.change(HOST, paused=True)
        asked = set(frontier.open)
        frontier.cycle(done=sorted(asked))
        paused = set(frontier.open)
        await here.orders.change(HOST, paused=False)
        frontier.cycle()

        assert not paused & {1, 2} - asked
        assert {*asked, *frontier.open, *frontier.done} >= {1, 2, 3}
