"""Ports of peers are closed to all jobs of a slave, from the first and whatever becomes known later."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2pcrawl.fetch.connection.guard import Blocked, Networks
from p2pcrawl.model.cluster.node import Address
from p2pcrawl.private.presence import Presence, addresses_here
from p2pcrawl.slave.work import doors as doors_module
from p2pcrawl.slave.work.doors import Doors
from tests.unit.master.fake_slaves import until


def is_closed(networks: Networks, port: int, ip: str = "127.0.0.1") -> bool:
    try:
        networks.check(ip, port=port)
    except Blocked:
        return True
    return False


async def test_what_the_master_tells_is_closed_to_jobs_that_are_open_and_to_those_that_come() -> None:
    doors, early, late = Doors(), Networks((), True), Networks((), True)
    await doors.add(early)

    doors.close_ports(["127.0.0.1:7117", "[::1]:7118", "10.0.0.5:7117", "nonsense", "a.name.example:7"])
    await doors.add(late)

    for networks in (early, late):
        assert is_closed(networks, 7117) and is_closed(networks, 7118) and is_closed(networks, 7117, "10.0.0.5")
        assert not is_closed(networks, 7119) and not is_closed(networks, 7118, "10.0.0.5")


async def test_what_the_master_tells_later_takes_the_place_of_what_it_told_before() -> None:
    doors, networks = Doors(), Networks((), True)
    await doors.add(networks)
    doors.close_ports(["127.0.0.1:7117"])

    doors.close_ports(["127.0.0.1:7118"])

    assert [is_closed(networks, port) for port in (7117, 7118)] == [False, True]


async def test_peers_of_this_machine_are_closed_before_a_job_begins_and_when_they_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doors_module, "LOOK_S", 0.001)
    here = [Address("127.0.0.1:7117")]
    doors, networks = Doors(lambda: list(here)), Networks((), True)

    await doors.add(networks)
    assert is_closed(networks, 7117)

    here.append(Address("0.0.0.0:7118"))
    await until(lambda: is_closed(networks, 7118))
    here.pop(0)
    await until(lambda: not is_closed(networks, 7117))
    doors.close()


def test_peer_notes_all_ports_where_it_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    presence = Presence()

    presence.open(Address("127.0.0.1:7180"), tmp_path / "token", [Address("127.0.0.1:7180"), Address("10.0.0.5:7117")])
    try:
        assert set(addresses_here()) == {"127.0.0.1:7180", "10.0.0.5:7117"}
    finally:
        presence.close()
    assert addresses_here() == []
