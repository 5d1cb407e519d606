"""Which slave of a group gets a host, and what happens while that slave is busy."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from p2pcrawl.core.group.session_states import SessionState, SessionTerm
from p2pcrawl.core.group.throughput import WINDOW_S
from p2pcrawl.core.ring.rendezvous import key_hash
from p2pcrawl.frontier.records.batch import Batch
from p2pcrawl.master.master import Master
from p2pcrawl.master.slaves.placing import BoundedPlacing
from p2pcrawl.master.slaves.session import Session
from p2pcrawl.model.cluster.placement import GroupPlacement
from p2pcrawl.overlay.link import PeerLink
from tests.unit.core.bench.benches import candidate, host_name
from tests.unit.master.fake_slaves import Site, Slaves, master_of, spec_of


def session_of(number: int, window: int = 3) -> Session:
    return Session(
        number,
        PeerLink(lambda message: None, lambda error: None),
        window,
        0.0,
        SessionTerm(0.0, SessionState.AT_WORK, 0.0),
    )


class Group:
    """A master whose slaves are only its sessions: they take what is granted, and end it when they are told."""

    def __init__(self, master: Master) -> None:
        self.master = master
        self.records = 0

    def join(self, *numbers: int, window: int = 3) -> None:
        self.master.sessions.update({n: session_of(n, window) for n in numbers})

    def queue(self, hosts: Iterable[int], each: int = 1) -> None:
        """Pages of hosts that are known to answer."""
        for number in hosts:
            self.master.workbench.add(candidate(self.records + n, host=number) for n in range(1, each + 1))
            self.records += each
            host = self.master.workbench.seats[key_hash(host_name(number))].host
            host.answered, host.window = True, 8.0

    def grant(self, now: float = 0.0) -> None:
        self.master.granting.grant([], now)

    def end(self, number: int, count: int = 1 << 30, now: float = 0.0) -> None:
        """Pages of a slave are done."""
        leases = self.master.sessions[number].leases
        for record in list(leases)[:count]:
            lease = leases.pop(record)
            lease.seat.host.end(now, self.master.jobs[1].pace, answered=True)
            self.master.workbench.ended(lease.seat)
            self.master.workbench.forget(record)

    def in_hand(self, number: int) -> list[str]:
        return sorted(lease.seat.host.name for lease in self.master.sessions[number].leases.values())

    def slave_for(self, host: int) -> int | None:
        return self.master.granting.slave_for(host_name(host))

    def of(self, number: int, count: int) -> list[int]:
        """Hosts that would be this slave's."""
        return [host for host in range(10_000) if self.slave_for(host) == number][:count]


@asynccontextmanager
async def group_of(folder: Path, **settings: object) -> AsyncIterator[Group]:
    async with master_of(folder, Slaves(Site([])), **settings) as master:
        job = await master.submit(spec_of())
        # The job's own start is nobody's host.
        master.workbench.abandon(job.id, next(iter(master.workbench.seats)))
        yield Group(master)
        master.sessions.clear()


@pytest.mark.parametrize("placement", list(GroupPlacement))
async def test_host_stays_with_its_slave_while_it_has_pages(tmp_path: Path, placement: GroupPlacement) -> None:
    async with group_of(tmp_path, group_placement=placement) as group:
        group.join(1, 2, 3, window=30)
        group.queue(range(12), each=6)
        group.grant()
        before = {n: set(group.in_hand(n)) for n in (1, 2, 3)}

        for _ in range(20):
            for number in (1, 2, 3):
                group.end(number, 2)
            group.grant()
            for number in (1, 2, 3):
                assert set(group.in_hand(number)) <= before[number]

        assert before[1].isdisjoint(before[2] | before[3])


@pytest.mark.parametrize("placement", list(GroupPlacement))
async def test_owner_tells_the_slave_that_gets_the_host(tmp_path: Path, placement: GroupPlacement) -> None:
    async with group_of(tmp_path, group_placement=placement) as group:
        nobody = group.slave_for(1)
        group.join(1, 2, window=30)
        group.grant()
        would = {host: group.slave_for(host) for host in range(4)}
        group.queue([0])
        group.grant()

        assert nobody is None
        assert group.in_hand(would[0]) == [host_name(0)]
        assert group.slave_for(0) == would[0]


async def test_host_of_a_busy_slave_is_parked_while_others_have_hosts_of_their_own(tmp_path: Path) -> None:
    async with group_of(tmp_path) as group:
        group.join(1, 2)
        group.grant()
        [first], [second] = group.of(1, 1), group.of(2, 1)
        group.queue([first], each=8)
        group.queue([second], each=2)

        group.grant()

        # A window of three has two workers: slave 1 has one page in reserve, and no worker of slave 2 is idle.
        assert group.in_hand(1) == [host_name(first)] * 3
        assert group.in_hand(2) == [host_name(second)] * 2
        assert group.master.workbench.lines.parked == {1: 1}


async def test_idle_workers_are_lent_pages_of_a_parked_host_which_keeps_its_place(tmp_path: Path) -> None:
    async with group_of(tmp_path) as group:
        group.join(1, 2)
        group.grant()
        [host] = group.of(1, 1)
        group.queue([host], each=8)

        group.grant()

        assert group.in_hand(1) == [host_name(host)] * 3
        assert group.in_hand(2) == [host_name(host)] * 2, "one for each worker, none in reserve"
        assert group.slave_for(host) == 1


async def test_idle_worker_does_not_wait_because_the_first_parked_host_may_not_be_asked_now(tmp_path: Path) -> None:
    async with group_of(tmp_path) as group:
        group.join(1, 2)
        group.grant()
        early, second, late = group.of(1, 3)
        group.queue([early], each=3)
        group.grant()  # Slave 1 is full.
        group.queue([group.of(2, 1)[0]], each=2)
        group.grant()  # Slave 2 has no idle worker.
        group.queue([second, late], each=1)
        group.grant()
        assert group.master.workbench.lines.parked == {1: 2}

        group.master.workbench.seats[key_hash(host_name(second))].host.next_at = 60.0
        group.end(2, 1)
        group.grant()

        assert host_name(late) in group.in_hand(2)


async def test_parked_host_is_the_first_to_have_its_turn_when_its_slave_has_room(tmp_path: Path) -> None:
    async with group_of(tmp_path) as group:
        group.join(1, 2)
        group.grant()
        early, late = group.of(1, 2)
        group.queue([early], each=20)
        group.grant()
        group.queue([late], each=20)

        group.end(1, 2)
        group.grant()

        assert group.in_hand(1).count(host_name(early)) == 2, "one that it had, and the one whose turn it was"


async def test_hosts_of_a_slave_that_dies_are_placed_anew(tmp_path: Path) -> None:
    async with group_of(tmp_path) as group:
        group.join(1, 2)
        group.grant()
        [host] = group.of(1, 1)
        group.queue([host], each=8)
        group.grant()
        assert group.master.workbench.lines.parked == {1: 1}

        group.master.reports.bury(group.master.sessions[1], Batch(), 0.0)
        group.grant()

        assert group.in_hand(2) == [host_name(host)] * 3
        assert group.slave_for(host) == 2
        assert 1 not in group.master.workbench.lines.parked


async def test_place_of_a_host_that_has_run_dry_is_forgotten(tmp_path: Path) -> None:
    async with group_of(tmp_path) as group:
        group.join(1, 2, window=30)
        group.grant()
        placing = group.master.granting._placing
        assert isinstance(placing, BoundedPlacing)
        group.queue(range(5))
        group.grant()
        placed = sum(placing._group.load(n) for n in (1, 2))

        group.end(1)
        group.end(2)
        group.grant()
        at_once = sum(placing._group.load(n) for n in (1, 2))
        group.queue([0])  # What its last page led to.
        group.grant()

        assert (placed, at_once) == (5, 5)
        assert sum(placing._group.load(n) for n in (1, 2)) == 1


async def test_no_slave_is_placed_more_than_its_bounded_share_of_hosts(tmp_path: Path) -> None:
    async with group_of(tmp_path) as group:
        group.join(1, 2, 3, 4, window=300)
        group.queue(range(100))

        group.grant()

        held = [len(group.in_hand(n)) for n in (1, 2, 3, 4)]
        assert sum(held) == 100
        assert max(held) <= 1.25 * 25 + 1


async def test_fast_slave_is_given_more_hosts(tmp_path: Path) -> None:
    async with group_of(tmp_path) as group:
        group.join(1, 2, window=30)
        for half_second in range(4 * int(WINDOW_S) + 1):
            group.queue(range(40), each=4)
            group.grant(half_second / 2)
            group.end(1, 25, half_second / 2)
            group.end(2, 8, half_second / 2)

        group.queue(range(1000, 1200))
        group.grant(4 * WINDOW_S)

        homes = Counter(group.slave_for(host) for host in range(1000, 1200))
        assert homes[1] > 1.5 * homes[2], homes


async def test_group_of_another_size_is_given_its_hosts_anew_by_host_bucket(tmp_path: Path) -> None:
    async with group_of(tmp_path, group_placement=GroupPlacement.HOST_BUCKET) as group:
        group.join(1, 2, window=30)
        group.grant()
        before = [group.slave_for(host) for host in range(40)]

        group.join(3, window=30)
        group.grant()
        after = [group.slave_for(host) for host in range(40)]

        assert set(before) == {1, 2} and set(after) == {1, 2, 3}
        assert any(a != b and a in (1, 2) for b, a in zip(before, after, strict=True)), "not monotone"
