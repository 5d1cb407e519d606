"""A peer as a slave: which master its slaves work for, and that they leave in order."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from p2pcrawl import Peer
from p2pcrawl.core.group.session_states import SessionState
from p2pcrawl.model.cluster.node import Address
from p2pcrawl.model.errors import LinkError
from p2pcrawl.peer import helper as helper_module
from p2pcrawl.peer.config import PeerConfig
from p2pcrawl.peer.helper import Helper
from tests.unit.peer.test_peer import lead_of

A, B, C = (Address(f"10.0.0.{n}:7117") for n in (1, 2, 3))


class FakeCluster:
    """Masters and how many slaves each has, as any of them tells."""

    def __init__(self, **slaves: int) -> None:
        self.slaves = {{"a": A, "b": B, "c": C}[name]: count for name, count in slaves.items()}
        self.dead: set[Address] = set()
        self.leaving: set[Address] = set()
        self.asked: list[Address] = []

    async def query(self, address: Address, what: str, **options: Any) -> bytes:
        self.asked.append(address)
        if address in self.dead or address not in self.slaves:
            raise LinkError(f"cannot reach {address}")
        members = [{"address": a, "slaves": n, "drained": a in self.leaving} for a, n in self.slaves.items()]
        return json.dumps({"members": members}).encode()


@pytest.fixture(autouse=True)
def quick(monkeypatch) -> None:
    monkeypatch.setattr(helper_module, "SEARCH_S", 0.0)


def helper_of(cluster: FakeCluster, *contacts: Address) -> Helper:
    credentials: Any = SimpleNamespace(keys=SimpleNamespace(text=lambda: "key"))
    caller: Any = cluster
    return Helper(PeerConfig(), credentials, caller, list(contacts or [A]))


async def test_slave_goes_to_the_master_that_has_the_fewest() -> None:
    helper = helper_of(FakeCluster(a=3, b=1, c=2))

    await helper.find_master()

    assert helper.master == B


async def test_last_master_that_is_leaving_is_as_one_that_does_not_answer_and_others_stay_known() -> None:
    cluster = FakeCluster(a=3, b=1)
    helper = helper_of(cluster, A)
    await helper.find_master()
    cluster.slaves.clear()
    cluster.query = _no_members  # type: ignore[method-assign]

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await helper.find_master()

    assert helper.known == [A, B]


async def _no_members(address: Address, what: str, **options: Any) -> bytes:
    return json.dumps({"members": []}).encode()


async def test_master_that_a_slave_has_lost_is_not_chosen_although_others_still_count_it() -> None:
    cluster = FakeCluster(a=3, b=0, c=2)
    helper = helper_of(cluster)
    await helper.find_master()
    cluster.dead = {B}

    told = await helper.next_master(B)

    assert (told.master, told.keys) == (C, "key")


async def test_lost_master_is_asked_last_and_taken_when_there_is_no_other() -> None:
    cluster = FakeCluster(a=0)
    helper = helper_of(cluster, A, B)

    told = await helper.next_master(A)

    assert cluster.asked == [B, A]
    assert told.master == A


async def test_slaves_that_lose_their_master_together_spread_over_the_others() -> None:
    helper = helper_of(FakeCluster(a=0, b=0, c=0))

    told = [await helper.next_master(C) for _ in range(6)]

    assert Counter(t.master for t in told) == {A: 3, B: 3}


async def test_leaving_master_is_not_chosen() -> None:
    cluster = FakeCluster(a=5, b=0)
    cluster.leaving = {B}
    helper = helper_of(cluster)

    await helper.find_master()

    assert helper.master == A


async def test_slave_without_processes_works_in_the_peer_itself_and_leaves_in_order(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    async with asyncio.timeout(30), Peer(bind="127.0.0.1:0", role="master", slaves=0) as master:
        sessions = lead_of(master).master.sessions
        async with Peer(role="slave", slaves=0, join=[master.address]):
            while not any(s.remote and s.greeted for s in sessions.values()):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            (session,) = [s for s in sessions.values() if s.remote]

        while not session.gone:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    assert session.pid == os.getpid()
    assert session.term.state is SessionState.LEFT
    assert not session.blamed
