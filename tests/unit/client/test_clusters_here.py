"""Which peer a verb asks that was not told of one."""

from __future__ import annotations

from typing import Any

import pytest

from p2pcrawl.client.clusters_here import peer_of_the_one
from p2pcrawl.model.cluster.node import Address
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError

ONE, TWO, THREE = (Address(f"127.0.0.1:{port}") for port in (7180, 7181, 7182))


class Machine:
    """Peers by the address of their API: the cluster's name, and who its living members are."""

    def __init__(self, peers: dict[Address, tuple[str, dict[str, str]]]) -> None:
        self.peers = peers
        self.asked: list[Address] = []

    def ask(self, address: Address) -> dict[str, Any]:
        self.asked.append(address)
        if address not in self.peers:
            raise P2PCrawlError("no peer answers")
        name, members = self.peers[address]
        told = [{"id": node, "api": api, "state": "alive"} for node, api in members.items()]
        return {"cluster": name, "members": [*told, {"id": "gone", "api": "", "state": "dead"}]}


def test_any_peer_of_the_only_cluster_will_do_and_the_others_are_not_asked() -> None:
    members = {"a": ONE, "b": TWO, "c": THREE}
    machine = Machine({each: ("p2pcrawl", members) for each in (ONE, TWO, THREE)})

    assert peer_of_the_one([THREE, TWO, ONE], machine.ask) == ONE
    assert machine.asked == [ONE]


def test_slave_is_of_the_cluster_that_it_tells_of() -> None:
    members = {"a": TWO}
    machine = Machine({ONE: ("p2pcrawl", members), TWO: ("p2pcrawl", members), THREE: ("p2pcrawl", members)})

    assert peer_of_the_one([ONE, TWO, THREE], machine.ask) == ONE


def test_peer_that_does_not_answer_is_passed_over() -> None:
    machine = Machine({TWO: ("p2pcrawl", {"b": TWO})})

    assert peer_of_the_one([ONE, TWO], machine.ask) == TWO


def test_several_clusters_are_told_with_what_could_be_named() -> None:
    machine = Machine(
        {ONE: ("p2pcrawl", {"a": ONE, "b": TWO}), TWO: ("p2pcrawl", {"a": ONE}), THREE: ("shop", {"c": THREE})}
    )

    with pytest.raises(ConfigurationError, match=rf"2 clusters .*\(p2pcrawl: {ONE}, {TWO}; shop: {THREE}\)"):
        peer_of_the_one([ONE, TWO, THREE], machine.ask)


def test_dead_member_that_two_clusters_remember_makes_them_no_one_cluster() -> None:
    machine = Machine({ONE: ("p2pcrawl", {"a": ONE}), TWO: ("p2pcrawl", {"b": TWO})})

    with pytest.raises(ConfigurationError, match="2 clusters"):
        peer_of_the_one([ONE, TWO], machine.ask)


def test_nobody_who_answers_is_told() -> None:
    with pytest.raises(P2PCrawlError, match=f"no peer on this machine answers .{ONE}"):
        peer_of_the_one([ONE], Machine({}).ask)
