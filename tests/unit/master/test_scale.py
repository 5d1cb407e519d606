"""What masters say to each other must not grow with the square of their number."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from p2pcrawl.core.copying import Copying
from p2pcrawl.master import cluster
from p2pcrawl.master.mirroring import charges
from p2pcrawl.master.syncing import PATROL_HOLDERS, Syncing
from p2pcrawl.model.node import Address, Member, NodeId, Status
from p2pcrawl.wire.cluster import Compare, Compared
from tests.unit.master.masters import JOB, eventually, settled, town_of
from tests.unit.master.slaves import spec_of
from tests.unit.master.test_cluster import Web

ME = NodeId("0" * 40)


def member(number: int) -> Member:
    return Member(
        NodeId(f"{number:040x}"), Address(f"127.0.0.1:{7000 + number}"), 1, Status.ALIVE, 1, bytes(8), bytes(16)
    )


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ROUND_S", 0.05)


@pytest.mark.slow
async def test_job_of_which_who_began_it_told_nobody_gets_to_everybody(tmp_path: Path) -> None:
    """Whoever began it died, say, before it could tell the others."""
    async with town_of(tmp_path, *"123456", answer=Web(count=20, hosts=5)) as (_town, houses):
        await eventually(lambda: settled(houses))

        # It is not over, though nobody has any of it.
        houses[2].cluster.starting.add(JOB)
        await houses[2].master.add_job(replace(spec_of(), id=JOB))

        await eventually(lambda: all(JOB in house.master.jobs for house in houses))


@pytest.mark.slow
async def test_master_that_knows_a_job_is_asked_for_its_mark_and_not_told_again(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", "3", "4", "5", answer=Web(count=20, hosts=5)) as (town, houses):
        await eventually(lambda: settled(houses))
        houses[0].cluster.starting.add(JOB)
        await houses[0].master.add_job(replace(spec_of(), id=JOB))
        await eventually(lambda: all(len(house.cluster.mirroring.told) >= 3 for house in houses))
        told = town.said["MirrorJob"]

        for house in houses:
            house.cluster.mirroring.told.clear()
        marks = town.said["JobMarks"]
        await eventually(lambda: all(len(house.cluster.mirroring.told) >= 3 for house in houses))

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
    copying.change(others, {bucket: [others[bucket % 10].id] for bucket in range(40)}, 11)
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

    async def synced(node: NodeId, buckets: frozenset[int]) -> None: ...

    syncing = Syncing(copying, SimpleNamespace(), Nothing(), call, lambda bucket: True, synced)  # type: ignore[arg-type]

    steps = []
    for _ in range(3):
        before = len(asked)
        await syncing.patrol([other.id for other in others])
        steps.append(len(asked) - before)

    assert max(steps) <= PATROL_HOLDERS
    assert sorted(asked) == sorted(other.id for other in others)
