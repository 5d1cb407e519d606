"""What masters say to each other must not grow with the square of their number."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.buckets.bitmaps import bitmap_of
from p2pcrawl.core.buckets.copy_ledger import Copying
from p2pcrawl.core.buckets.ownership import Change, Ownership
from p2pcrawl.master import cluster
from p2pcrawl.master.buckets import view_changes as views
from p2pcrawl.master.copies.copier import Copier
from p2pcrawl.master.copies.syncing import PATROL_HOLDERS, Syncing
from p2pcrawl.master.jobs.mirroring import charges
from p2pcrawl.master.neighbours.host_notes import HostNotes
from p2pcrawl.master.neighbours.remarks import Remarks
from p2pcrawl.model.cluster.epoch import epoch_turn
from p2pcrawl.model.cluster.node import Address, Member, NodeId, Status
from p2pcrawl.model.errors import LinkError
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.wire.messages.peer_messages import Compare, Compared, Whole
from tests.peers import FakePeers
from tests.unit.master.fake_slaves import spec_of
from tests.unit.master.masters import JOB, FakeCluster, eventually, settled, town_of
from tests.unit.master.test_cluster import Web

ME = NodeId("0" * 40)


def member(number: int) -> Member:
    return Member(
        NodeId(f"{number:040x}"), Address(f"127.0.0.1:{7000 + number}"), 1, Status.ALIVE, 1, bytes(8), bytes(16)
    )


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ROUND_S", 0.05)


def alone(town: FakeCluster) -> None:
    """Lets nobody have heard of anybody else."""
    town.views = {id: [id] for id in town.houses}


@pytest.mark.slow
async def test_newcomers_that_follow_each_other_cost_one_view_after_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Quiet for longer than a busy machine needs for all that a newcomer brings.
    for name, seconds in (("VIEW_S", 0.0), ("QUIET_S", 2.0), ("COMING_S", 60.0)):
        monkeypatch.setattr(views, name, seconds)
    async with town_of(tmp_path, *"123456", answer=Web(), setup=alone) as (town, houses):
        taken: list[int] = []
        change = Ownership.change

        def watched(ownership: Ownership, members: Sequence[Member], view: int) -> Change:
            if ownership is houses[0].cluster.ownership:
                taken.append(view)
            return change(ownership, members, view)

        monkeypatch.setattr(Ownership, "change", watched)
        ids = [house.id for house in houses]
        for number in range(2, 7):
            town.views = {id: ids[:number] for id in ids[:number]} | {id: [id] for id in ids[number:]}
            town.look()
            for _ in range(10):
                await asyncio.sleep(0)

        await eventually(lambda: settled(houses))

        assert len(taken) == 2
        assert houses[0].cluster.ownership.view == houses[5].cluster.ownership.view


@pytest.mark.slow
async def test_newcomer_that_waits_for_more_to_come_does_not_begin_alone_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "TIMINGS", replace(TIMINGS, looking_s=0.2))
    for name, seconds in (("QUIET_S", 60.0), ("COMING_S", 60.0)):
        monkeypatch.setattr(views, name, seconds)

    def looking(town: FakeCluster) -> None:
        alone(town)
        town.looking = True

    async with town_of(tmp_path, "1", "2", answer=Web(), setup=looking) as (town, houses):
        town.views = {}
        town.look()

        await eventually(lambda: settled(houses))

        assert all(max(map(epoch_turn, house.cluster.ownership.counters)) == 1 for house in houses)


@pytest.mark.slow
@pytest.mark.parametrize(("patience_s", "begins"), [(60.0, False), (0.3, True)])
async def test_one_that_was_here_before_begins_alone_when_all_have_been_asked_or_it_takes_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience_s: float, begins: bool
) -> None:
    """The living one among many dead may be asked last: till then others may be doing what is on its own disk."""
    monkeypatch.setattr(views, "TIMINGS", replace(TIMINGS, looking_s=0.05, patience_s=patience_s))
    monkeypatch.setattr(views, "LOOK_ON_S", 0.02)

    def looking(town: FakeCluster) -> None:
        town.looking = True
        for house in town.houses.values():
            house.cluster.peers.to_be_asked = True

    async with town_of(tmp_path, "1", answer=Web(), setup=looking) as (_, (one,)):
        await asyncio.sleep(0.5)
        alone_meanwhile = not one.cluster.caution.looking
        one.cluster.peers.to_be_asked = False
        await eventually(lambda: settled((one,)) and not one.cluster.caution.looking)

        assert alone_meanwhile is begins


@pytest.mark.slow
async def test_claim_waits_for_a_view_that_is_on_its_way_and_is_not_repeated(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", answer=Web(), setup=alone) as (town, houses):
        ids = [house.id for house in houses]
        town.views[ids[0]] = ids
        town.look(ids[0])
        await eventually(lambda: bool(town.said["Claim"]))

        town.views[ids[1]] = ids
        town.look(ids[1])
        await eventually(lambda: settled(houses))

        assert town.said["Claim"] == 2


@pytest.mark.slow
async def test_claim_ends_when_its_view_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "COME_S", 60.0)
    async with town_of(tmp_path, "1", "2", "3", answer=Web(), setup=alone) as (town, houses):
        ids = [house.id for house in houses]
        town.views[ids[0]] = ids[:2]
        town.look(ids[0])
        await eventually(lambda: bool(houses[1].cluster.views._expected))

        town.views = {}
        town.look()

        # Nobody ever comes to the view of two: who waited for that would still be waiting.
        await eventually(lambda: settled(houses))


@pytest.mark.slow
async def test_masters_that_have_nothing_are_neither_asked_for_rows_nor_told_to_drop_them(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", "3", "4", answer=Web(), setup=alone) as (town, houses):
        town.views = {}
        town.look()

        await eventually(lambda: settled(houses))
        await eventually(lambda: all(len(house.cluster.neighbours.excess.dropped_for) == 3 for house in houses))

        assert town.said["Claim"] and town.said["Taken"]
        assert not any(town.said[asked] for asked in ("Pull", "PullCopies", "Drop", "Offer"))


@pytest.mark.slow
async def test_copy_counts_when_its_holder_knows_that_it_does(tmp_path: Path) -> None:
    """A holder that thinks that the bucket is its own says no, and is told again."""
    async with town_of(tmp_path, "1", "2", answer=Web()) as (_town, houses):
        await eventually(lambda: settled(houses))
        other = houses[1].cluster
        mine = [b for b, owner in enumerate(other.ownership.table) if owner[0] == houses[1].id][:3]

        with pytest.raises(LinkError, match="own"):
            await houses[1].serve(Whole(0, bitmap_of(mine), [1, 1, 1]), houses[0].id)


@pytest.mark.slow
async def test_copy_whose_holder_was_not_told_that_it_is_whole_does_not_count(tmp_path: Path) -> None:
    told = asyncio.Event()

    async def keep_it(_town: FakeCluster, _source: NodeId, _target: NodeId, request: Any) -> None:
        if isinstance(request, Whole) and not told.is_set():
            raise LinkError("lost")

    async with town_of(tmp_path, "1", "2", answer=Web()) as (town, houses):
        town.before = keep_it
        await eventually(lambda: settled(houses) and town.said["Whole"] >= 2)
        assert all(house.cluster.copying.lacking() for house in houses)

        told.set()

        await eventually(lambda: not any(house.cluster.copying.lacking() for house in houses))


@pytest.mark.slow
async def test_job_of_which_who_began_it_told_nobody_gets_to_everybody(tmp_path: Path) -> None:
    """Whoever began it died, say, before it could tell the others."""
    async with town_of(tmp_path, *"123456", answer=Web(count=20, hosts=5)) as (_town, houses):
        await eventually(lambda: settled(houses))

        # It is not over, though nobody has any of it.
        houses[2].cluster.own_standing.starting.add(JOB)
        await houses[2].master.admission.add(replace(spec_of(), id=JOB))

        await eventually(lambda: all(JOB in house.master.jobs for house in houses))


@pytest.mark.slow
async def test_master_that_knows_a_job_is_asked_for_its_mark_and_not_told_again(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", "3", "4", "5", answer=Web(count=20, hosts=5)) as (town, houses):
        await eventually(lambda: settled(houses))
        houses[0].cluster.own_standing.starting.add(JOB)
        await houses[0].master.admission.add(replace(spec_of(), id=JOB))
        await eventually(lambda: all(len(house.cluster.mirroring.sent) >= 3 for house in houses))
        told = town.said["MirrorJob"]

        for house in houses:
            house.cluster.mirroring.sent.clear()
        marks = town.said["JobMarks"]
        await eventually(lambda: all(len(house.cluster.mirroring.sent) >= 3 for house in houses))

        assert town.said["JobMarks"] > marks
        assert town.said["MirrorJob"] == told


@pytest.mark.parametrize("size", [2, 3, 8, 50])
async def test_news_of_a_job_reaches_all_in_as_many_steps_as_the_size_has_digits(size: int) -> None:
    members = [member(number) for number in range(size)]

    known, steps = {members[Random(size).randrange(size)].id}, 0
    while len(known) < size:
        known |= {other.id for m in members if m.id in known for other in charges(members, m.id)}
        steps += 1

    assert steps <= size.bit_length()
    assert all(len(charges(members, m.id)) <= size.bit_length() and m not in charges(members, m.id) for m in members)


async def test_patrol_compares_with_few_holders_at_a_time_and_with_all_of_them_in_turn() -> None:
    others = [member(number) for number in range(1, 11)]
    copying = Copying(ME, 2)
    copying.change(others, {bucket: (others[bucket % 10].id,) for bucket in range(40)}, 11)
    for other in others:
        generation = copying.generation(other.id)
        assert generation is not None
        copying.synced(other.id, copying.held(other.id), generation)
    asked: list[NodeId] = []

    async def call(node: NodeId, request: Any) -> Any:
        assert isinstance(request, Compare)
        asked.append(node)
        return Compared(0, [], [])

    class Nothing:
        async def digests(self, nonce: bytes, ranges: Any) -> list[tuple[int, int]]:
            return [(0, 0)] * len(ranges)

    async def send(node: NodeId, rows: Any, notes: Any) -> None: ...

    ownership: Any = SimpleNamespace(in_service=lambda bucket: True)
    own_rows: Any = Nothing()
    notes = HostNotes(Workbench(), Remarks())
    links_first: Any = SimpleNamespace(safe=Copier(copying, send, lambda then: None).safe)
    syncing = Syncing(FakePeers(ME, others, call), ownership, copying, links_first, send, own_rows, notes)

    steps = []
    for _ in range(3):
        before = len(asked)
        await syncing.patrol([other.id for other in others])
        steps.append(len(asked) - before)

    assert max(steps) <= PATROL_HOLDERS
    assert sorted(asked) == sorted(other.id for other in others)
