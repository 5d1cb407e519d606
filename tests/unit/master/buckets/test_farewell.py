"""When a master that leaves may say that others have all that it had."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.core.buckets.bitmaps import bitmap_of
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.frontier.copies.copy_store import LAYOUT
from p2pcrawl.frontier.database.schema import FILE
from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.peer_messages import Compare, Copy, DropCopies, MirrorJob, Whole
from tests.unit.master.masters import FakeMaster, eventually, finished, read, records, settled, submit, town_of
from tests.unit.master.test_cluster import Web

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.usefixtures("impatient"),
]


async def rows_at(house: FakeMaster) -> set[str]:
    """The records that are on its disk, as a frontier's or as copies."""
    held = await read(house, LAYOUT.file, "SELECT DISTINCT hi, lo FROM held")
    own = await read(house, FILE, "SELECT DISTINCT hi, lo FROM record")
    return {f"{hi} {lo}" for hi, lo in [*held, *own]}


async def test_nothing_is_given_up_before_others_have_as_many_copies_as_there_should_be(tmp_path: Path) -> None:
    """The new owner alone could die with its disk: one of two that had it all."""
    web = Web(count=200, hosts=60, seed=2)
    async with town_of(tmp_path, "1", "2", "3", answer=web) as (town, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[0])
        await finished(houses)
        leaver, heirs = houses[2], houses[:2]
        everything = set.union(*[await rows_at(house) for house in houses])

        async def no_copies(_: Any, source: str, target: str, request: Any) -> None:
            if isinstance(request, Copy | Compare | Whole) and target != leaver.id:
                raise LinkError("not now")

        town.before = no_copies
        assert not await leaver.drain(1.0)
        assert await records(leaver) == []
        safe = {row for row in everything if sum([row in await rows_at(house) for house in houses]) >= 2}

        assert safe == everything
        town.before = None
        assert await leaver.drain(8.0)
        assert await rows_at(leaver) == set()
        assert [await rows_at(house) for house in heirs] == [everything, everything]


async def test_where_fewer_live_than_there_should_be_copies_who_leaves_keeps_what_all_that_live_have(
    tmp_path: Path,
) -> None:
    web = Web(count=100, hosts=40, seed=2)
    async with town_of(tmp_path, "1", "2", "3", answer=web) as (_, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[0])
        await eventually(lambda: sum(web.visits.values()) > 20)
        await houses[0].crash()
        await finished(houses[1:])
        everything = set.union(*[await rows_at(house) for house in houses[1:]])

        assert await houses[2].drain(8.0)

        assert await rows_at(houses[1]) == everything
        assert await rows_at(houses[2]) == everything


async def test_who_has_nobody_to_hand_over_to_has_not_handed_over(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", answer=Web()) as (town, houses):
        await eventually(lambda: settled(houses))
        town.leaving.add(houses[1].id)
        town.look()

        assert not await houses[0].drain(1.0)


async def test_heir_that_dies_takes_the_hand_over_with_it(tmp_path: Path) -> None:
    web = Web(count=100, hosts=40, seed=2)
    async with town_of(tmp_path, "1", "2", answer=web) as (town, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[0])
        await finished(houses)
        reached = asyncio.Event()

        async def stall(_: Any, source: str, target: str, request: Any) -> None:
            if isinstance(request, DropCopies):
                reached.set()
                await asyncio.Event().wait()

        town.before = stall
        draining = asyncio.create_task(houses[0].drain(8.0))
        await reached.wait()
        await houses[1].crash()

        assert not await draining


async def test_jobs_are_told_to_heirs_before_one_leaves(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", answer=Web(count=20)) as (town, houses):
        await eventually(lambda: settled(houses))

        async def deaf(_: Any, source: str, target: str, request: Any) -> None:
            if isinstance(request, MirrorJob):
                raise LinkError("not now")

        await submit(houses[0])
        await finished(houses)
        town.before = deaf
        job = houses[0].master.jobs[77]
        houses[0].master.lifecycle.steer(job, job.control.then("running"))
        assert not await houses[0].drain(1.0)

        town.before = None
        assert await houses[0].drain(8.0)
        assert houses[1].master.jobs[77].control.version >= job.control.version


async def test_only_the_owner_of_a_bucket_confirms_it_and_only_in_this_view(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", "3", answer=Web()) as (town, houses):
        await eventually(lambda: settled(houses))
        leaver, other = houses[0].cluster, houses[1].id
        town.leaving.add(houses[0].id)
        town.look()
        await eventually(lambda: settled(houses) and leaver.ownership.owned == 0)
        farewell, view = leaver.farewell, leaver.ownership.view
        theirs = {b for b in range(BUCKETS) if leaver.ownership.owner(b) == other}
        leaver.farewell._safe.clear()

        epochs = list(leaver.ownership.counters)
        await houses[0].serve(DropCopies(0, view, bitmap_of(range(BUCKETS)), counters=epochs), other)
        assert farewell._safe == theirs
        await houses[0].serve(DropCopies(0, view + 1, bitmap_of(range(BUCKETS)), counters=epochs), houses[2].id)
        assert farewell._safe == theirs
