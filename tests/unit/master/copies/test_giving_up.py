"""What is given up at another master's word: nothing that it may not have, and nothing that comes in that moment."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.core.buckets.bitmaps import bitmap_of
from p2pcrawl.core.buckets.standings import Standing
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.master.buckets.generation import ClaimedAnew
from p2pcrawl.master.copies.row_forms import copy_of_row
from p2pcrawl.model.cluster.epoch import AUTHORS
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.peer_messages import Claim, Copy, CopyRow, DropCopies, Taken
from tests.unit.master.buckets.test_takeover import answer, plant
from tests.unit.master.copies.test_copies import synced
from tests.unit.master.masters import FakeCluster, FakeMaster, eventually, records, town_of
from tests.unit.master.test_cluster import _owner, _row

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("impatient")]


def copy_at(house: FakeMaster, url: str) -> CopyRow:
    return copy_of_row(_row(url, Phase.DONE), house.master.bucket_of_url(url, "host"))


def kept_by(house: FakeMaster, owner: FakeMaster) -> list[str]:
    """URLs of buckets of which one master is the owner, and another one no holder."""
    urls = [f"http://kept-{n}.example/" for n in range(400)]
    ownership = house.cluster.ownership
    mine = [url for url in urls if _owner(house, url) == owner.id]
    return [url for url in mine if house.id not in ownership.holders(house.master.bucket_of_url(url, "host"))]


async def copied(house: FakeMaster, bucket: int) -> int:
    rows, _ = await house.cluster.holdings.rows([bucket], b"")
    return len(rows)


async def test_copies_of_what_has_become_ours_go_where_the_rest_of_it_is(tmp_path: Path) -> None:
    """Among the copies nobody would look for them, and whoever brought them holds them for safe."""
    async with town_of(tmp_path, "1", "2", answer=answer) as (_town, houses):
        await plant(houses)
        url = next(u for u in (f"http://late-{n}.example/" for n in range(99)) if _owner(houses[1], u) == houses[1].id)

        await houses[1].serve(Copy(0, [copy_at(houses[1], url)], []), houses[0].id)

        assert url in {known for known, _ in await records(houses[1])}


async def test_what_comes_while_copies_are_dropped_is_kept(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", "3", answer=answer) as (town, houses):
        await plant(houses)
        town.before = _deaf
        holder, owner = houses[0], houses[1]
        url = kept_by(holder, owner)[0]
        bucket = holder.master.bucket_of_url(url, "host")
        ownership = holder.cluster.ownership
        word = DropCopies(0, ownership.view, bitmap_of([bucket]), counters=[ownership.counters[bucket]])

        dropping = asyncio.create_task(holder.serve(word, owner.id))
        copying = asyncio.create_task(holder.serve(Copy(0, [copy_at(holder, url)], []), owner.id))
        dropped, _ = await asyncio.gather(dropping, copying)

        assert dropped.agreed
        assert await copied(holder, bucket) == 1


async def test_copies_that_come_after_the_word_to_drop_them_are_dropped_when_their_owner_has_them(
    tmp_path: Path,
) -> None:
    """A link that was cut off may bring them a minute late, when whoever sent them has told everybody already."""
    async with town_of(tmp_path, "1", "2", "3", answer=answer) as (_town, houses):
        await plant(houses)
        await eventually(lambda: synced(houses))
        holder, owner = houses[0], houses[1]
        url = kept_by(holder, owner)[0]
        bucket = holder.master.bucket_of_url(url, "host")
        view, epoch = holder.cluster.ownership.view, owner.cluster.ownership.counters[bucket]
        told = owner.cluster.neighbours.excess.dropped_for
        await eventually(lambda: told.get(holder.id) == view)

        before = holder.cluster.holdings.count
        assert (await holder.serve(DropCopies(0, view, bitmap_of([bucket]), counters=[epoch]), owner.id)).agreed
        await holder.serve(Copy(0, [copy_at(holder, url)], []), owner.id)

        await eventually(lambda: holder.cluster.holdings.count == before)
        assert url in {known for known, _ in await records(owner)}


async def test_what_is_served_under_an_epoch_that_we_never_heard_of_is_offered_before_it_is_dropped(
    tmp_path: Path,
) -> None:
    """Whoever serves it took us for dead meanwhile, and may have found nobody who knew."""
    async with town_of(tmp_path, "1", "2", "3", answer=answer) as (_town, houses):
        await plant(houses)
        await eventually(lambda: synced(houses))
        holder, owner = houses[0], houses[1]
        url = kept_by(holder, owner)[0]
        bucket = holder.master.bucket_of_url(url, "host")
        epoch = owner.cluster.ownership.counters[bucket]
        later = epoch + 4 * AUTHORS
        holder.cluster.ownership.recall({bucket: Standing(later)})
        await holder.serve(Copy(0, [copy_at(holder, url)], []), owner.id)
        word = DropCopies(0, holder.cluster.ownership.view, bitmap_of([bucket]), counters=[epoch])

        dropped = await holder.serve(word, owner.id)

        assert not dropped.agreed
        await eventually(lambda: owner.cluster.ownership.counters[bucket] > later)
        assert url in {known for known, _ in await records(owner)}
        await eventually(lambda: not holder.cluster.takeover.unclaimed)
        now = owner.cluster.ownership.counters[bucket]
        assert holder.cluster.ownership.standing(bucket) in {Standing(now, now, later), Standing(now, now)}


async def test_copies_that_come_when_their_bucket_was_let_go_of_reach_whoever_claimed_it(tmp_path: Path) -> None:
    """The one that brought them owned it by another view, and may die with its disk before it comes to this one."""
    async with town_of(tmp_path, "1", "2", "3", answer=answer) as (_town, houses):
        await plant(houses)
        await eventually(lambda: synced(houses))
        holder, owner, former = houses
        url = kept_by(holder, owner)[0]
        bucket = holder.master.bucket_of_url(url, "host")
        view, epoch = holder.cluster.ownership.view, owner.cluster.ownership.counters[bucket]
        released = await holder.serve(Claim(0, view, bitmap_of([bucket])), owner.id)
        assert released.agreed

        await holder.serve(Copy(0, [copy_at(holder, url)], []), former.id)
        await holder.serve(Taken(0, bitmap_of([bucket]), [epoch], view, [epoch]), owner.id)

        await eventually(lambda: owner.cluster.takeover.handovers > 0)
        await eventually(lambda: not holder.cluster.takeover.unclaimed)
        assert url in {known for known, _ in await records(owner)}


async def test_what_came_since_a_bucket_became_ours_again_is_not_forgotten(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", answer=answer) as (town, houses):
        await plant(houses)
        old, claimer = houses
        stray = next(u for u in (f"http://s{n}.example/" for n in range(99)) if _owner(old, u) == old.id)
        town.leaving.add(old.id)
        town.look()
        ownership, keep = old.cluster.ownership, old.cluster.holdings.keep
        await eventually(lambda: ownership.owned == 0)
        everything, view = bitmap_of(range(BUCKETS)), ownership.view
        town.before = _deaf
        assert (await old.serve(Claim(0, view, everything), claimer.id)).agreed

        async def as_it_stays_after_all(rows: Sequence[CopyRow]) -> None:
            town.leaving.clear()
            old.cluster.views.take()
            await keep(rows)
            await old.master.ground.mailbox.adopt([_row(stray, Phase.DONE)])

        old.cluster.holdings.keep = as_it_stays_after_all  # type: ignore[method-assign]
        epochs = [9] * BUCKETS
        with pytest.raises(ClaimedAnew):
            await old.serve(Taken(0, everything, epochs, view, epochs), claimer.id)

        assert stray in {known for known, _ in await records(old)}


async def _deaf(town: FakeCluster, source: str, target: str, request: Any) -> None:
    raise LinkError("not now")
