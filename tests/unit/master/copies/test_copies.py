"""Masters that die: what they had is taken over by those that hold copies, and nothing of it is lost."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from p2pcrawl.core.buckets.bitmaps import bitmap_of
from p2pcrawl.core.buckets.standings import Standing
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.frontier.database.digest import Range
from p2pcrawl.frontier.reading.job_items import pages_after
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.copies import copier, syncing
from p2pcrawl.master.links.dispatch import Hold, Parcel
from p2pcrawl.model.cluster.epoch import epoch_after
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.peer_messages import Claim, Copy, Forgotten, ListKeys, Offer, Taken
from tests.unit.master.buckets.test_takeover import answer, plant
from tests.unit.master.masters import (
    FakeCluster,
    FakeMaster,
    arrive,
    books,
    eventually,
    finished,
    settled,
    submit,
    town_of,
)
from tests.unit.master.test_cluster import Web, _owner

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.usefixtures("impatient"),
]


@pytest.fixture(autouse=True)
def _syncs_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syncing, "RETRY_S", 0.02)


def synced(houses: Iterable[FakeMaster]) -> bool:
    """Every bucket has all the copies that it should have."""
    houses = list(houses)
    return settled(houses) and not any(h.cluster.copying.lacking() or h.cluster.copier.under_way for h in houses)


async def items(houses: Iterable[FakeMaster], job: int = 77) -> Counter[bytes]:
    """All items of a job, from all masters."""
    found: Counter[bytes] = Counter()
    for house in houses:
        after = 0
        while pages := pages_after(house.town.folder / house.name, job, after):
            after = pages[-1][0]
            for _, _, data, *_ in pages:
                found.update(data.split(b"\n"))
    return found


async def assert_nothing_lost(web: Web, houses: list[FakeMaster], *, refetched: int) -> None:
    whole = await books(houses)
    assert set(web.visits) == web.reachable
    assert sum(web.visits.values()) - len(web.visits) <= refetched, web.visits.most_common(5)
    assert whole["discovered"] == whole["done"] == len(web.reachable) + 1
    found = await items(houses)
    assert found == Counter(b'{"url":"%s"}' % url.encode() for url in web.reachable)


async def assert_copies_equal(houses: list[FakeMaster]) -> None:
    """Asserts that each holder has of each bucket what its owner has."""
    await eventually(lambda: synced(houses))
    by_id = {house.id: house for house in houses}
    for house in houses:
        ownership = house.cluster.ownership
        for bucket, holders in enumerate(ownership.table):
            if holders[0] != house.id:
                continue
            own = await house.master.recorder.run(Store.keys, [takeover_range(bucket)])
            for node in holders[1:]:
                copies = by_id[node].cluster.holdings._store.keys([takeover_range(bucket)])
                assert sorted(copies) == sorted(own), bucket


def takeover_range(bucket: int) -> Any:

    return Range(bucket, 0, 0)


async def test_every_record_has_its_copies_when_a_job_is_finished(tmp_path: Path) -> None:
    web = Web()
    async with town_of(tmp_path, "1", "2", "3", answer=web) as (_town, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[0])

        await finished(houses)

        await assert_nothing_lost(web, houses, refetched=0)
        await assert_copies_equal(houses)


@pytest.mark.parametrize("after", [1, 20, 60, 100])
async def test_master_that_dies_takes_nothing_with_it(tmp_path: Path, after: int) -> None:
    web = Web()
    async with town_of(tmp_path, "1", "2", "3", answer=web) as (_town, houses):
        await eventually(lambda: synced(houses))
        await submit(houses[0])
        await eventually(lambda: len(web.visits) >= after)

        in_hand = sum(j.leased for h in houses for j in h.master.jobs.values())
        await houses[1].crash()
        living = [houses[0], houses[2]]
        await finished(living)

        await assert_nothing_lost(web, living, refetched=in_hand + 64)
        await assert_copies_equal(living)


async def test_finished_job_is_still_whole_at_the_last_of_three(tmp_path: Path) -> None:
    """One after the other dies; what the last one has is everything."""
    web = Web()
    async with town_of(tmp_path, "1", "2", "3", answer=web) as (_town, houses):
        await eventually(lambda: synced(houses))
        await submit(houses[0])
        await finished(houses)

        await houses[0].crash()
        await eventually(lambda: synced(houses[1:]))
        await houses[2].crash()
        await eventually(lambda: synced(houses[1:2]))

        await assert_nothing_lost(web, houses[1:2], refetched=0)
        assert not houses[1].cluster.ownership.broken()


async def test_two_that_die_at_once_take_nothing_with_three_copies(tmp_path: Path) -> None:
    web = Web()

    def three(town: Any) -> None:
        town.copies = 3
        for house in town.houses.values():
            house.cluster.ownership.copies = house.cluster.copying.copies = 3

    async with town_of(tmp_path, "1", "2", "3", "4", answer=web, setup=three) as (_town, houses):
        await eventually(lambda: synced(houses))
        await submit(houses[0])
        await eventually(lambda: len(web.visits) >= 40)

        await asyncio.gather(houses[1].crash(), houses[3].crash())
        living = [houses[0], houses[2]]
        await finished(living)

        await assert_nothing_lost(web, living, refetched=128)
        assert not any(h.cluster.ownership.broken() for h in living)


async def test_bucket_without_a_copy_is_said_to_be_broken(tmp_path: Path) -> None:
    web = Web()

    def one(town: Any) -> None:
        town.copies = 1
        for house in town.houses.values():
            house.cluster.ownership.copies = house.cluster.copying.copies = 1

    async with town_of(tmp_path, "1", "2", answer=web, setup=one) as (_town, houses):
        await eventually(lambda: synced(houses))
        had = set(b for b, o in enumerate(houses[1].cluster.ownership._owners) if o is None)

        await houses[1].crash()
        await eventually(lambda: settled(houses[:1]))

        assert set(houses[0].cluster.ownership.broken()) == had


async def test_buckets_that_differ_in_little_are_mended_side_by_side_and_not_too_many_at_once(tmp_path: Path) -> None:
    """Else a long way there and back would be waited for three times for each of thousands of them."""
    asked, most = 0, 0

    async def comes(town: FakeCluster, source: NodeId, target: NodeId, request: Any) -> None:
        nonlocal asked, most
        if isinstance(request, ListKeys):
            asked += 1
            most = max(most, asked)
            await asyncio.sleep(0.01)

    async def goes(town: FakeCluster, source: NodeId, target: NodeId, request: Any) -> None:
        nonlocal asked
        asked -= isinstance(request, ListKeys)

    async with town_of(tmp_path, "1", "2", answer=answer) as (town, houses):
        await eventually(lambda: synced(houses))
        await plant(houses)
        with closing(sqlite3.connect(tmp_path / "2" / "copies.db", isolation_level=None)) as db:
            db.execute("DELETE FROM held WHERE id IN (SELECT max(id) FROM held GROUP BY bucket HAVING count(*) > 1)")

        town.before, town.after = comes, goes
        houses[1].boot = b"another-"
        town.look(houses[0].id, houses[1].id)
        await eventually(lambda: most > 0 and synced(houses))

        assert 1 < most <= syncing.MENDED_AT_ONCE
        await assert_copies_equal(houses)


async def test_newcomers_hold_copies_before_long(tmp_path: Path) -> None:
    web = Web()
    async with town_of(tmp_path, "1", "2", answer=web) as (town, houses):
        await eventually(lambda: synced(houses))
        await submit(houses[0])
        await eventually(lambda: len(web.visits) >= 30)

        houses.append(await arrive(town, "3", web))
        await eventually(lambda: 77 in houses[2].master.jobs)
        await finished(houses)
        await eventually(lambda: synced(houses))
        await houses[0].crash()
        await eventually(lambda: synced(houses[1:]))

        await assert_nothing_lost(web, houses[1:], refetched=0)


async def test_link_for_one_that_has_not_met_the_others_yet_stays_with_its_finder_too(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", answer=Web(count=20)) as (town, houses):
        finder, newcomer = houses
        await eventually(lambda: synced(houses))
        await submit(finder)
        await finished(houses)
        url = next(u for n in range(100) if _owner(finder, u := f"http://late{n}.example/") == newcomer.id)
        bucket = newcomer.master.bucket_of_url(url, "host")
        town.views = {newcomer.id: [newcomer.id]}
        town.look()
        await eventually(lambda: newcomer.cluster.ownership.owned == BUCKETS)

        hold = Hold()
        link = Link(url, fingerprint(url), depth=1)
        finder.cluster.neighbours.send(77, newcomer.id, Parcel(link, bucket, hold))
        finder.cluster.neighbours.flush()
        await eventually(lambda: not hold.waiting)
        kept = finder.cluster.spool.size
        town.views = {}
        town.look()
        await eventually(lambda: synced(houses))
        await finder.cluster.spool.send_once_more()

        assert kept == 1
        assert finder.cluster.spool.size == 0


async def test_copies_that_do_not_get_through_hold_up_the_ends_of_pages_at_the_holder_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copier, "RETRY_MAX_S", 0.1)
    web = Web()
    dice = Random(5)

    async def lose(_town: Any, _source: Any, _target: Any, request: Any) -> None:
        if isinstance(request, Copy) and dice.random() < 0.5:
            raise LinkError("lost")

    async with town_of(tmp_path, "1", "2", "3", answer=web) as (town, houses):
        await eventually(lambda: synced(houses))
        town.before = lose
        await submit(houses[0])

        await finished(houses)

        town.before = None
        await assert_nothing_lost(web, houses, refetched=0)
        await assert_copies_equal(houses)


async def test_copies_that_were_under_way_to_a_holder_of_another_view_are_dropped(tmp_path: Path) -> None:
    web = Web()
    async with town_of(tmp_path, "1", "2", "3", answer=web) as (town, houses):
        await eventually(lambda: synced(houses))
        await submit(houses[0])
        await finished(houses)
        await eventually(lambda: synced(houses))
        one, two, _ = houses
        under_way, arrive_now, arrived = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def stall(town: Any, source: str, target: str, request: Any) -> None:
            if isinstance(request, Copy) and source == one.id and target == two.id:
                under_way.set()
                await arrive_now.wait()

        async def notice(town: Any, source: str, target: str, request: Any) -> None:
            if isinstance(request, Copy) and source == one.id and target == two.id:
                arrived.set()

        town.before, town.after = stall, notice
        # Two hold the third for dead for a moment, and copies of the first's are made at the second instead.
        town.views = {one.id: [one.id, two.id], two.id: [one.id, two.id]}
        town.look()
        await under_way.wait()
        town.views = {}
        town.look()
        await eventually(lambda: one.cluster.neighbours.excess.dropped_for.get(two.id) == one.cluster.ownership.view)
        arrive_now.set()

        async def held() -> set[int]:
            holders, holdings = two.cluster.ownership.holders, two.cluster.holdings
            everything = frozenset(range(BUCKETS))
            rows, _ = await holdings._in_thread(holdings._store.rows, everything, b"", 100_000, 1 << 30)
            return {row.bucket for row in rows if two.id not in holders(row.bucket)}

        await arrived.wait()
        while await held():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_one_that_dies_after_others_came_leaves_all_buckets_whole(tmp_path: Path) -> None:
    """A newcomer had everything in its own view, before it found the others; that it gave it away says nothing bad."""
    web = Web()
    async with town_of(tmp_path, "1", "2", answer=web) as (town, houses):
        await eventually(lambda: synced(houses))
        for name in ("3", "4"):
            houses.append(await arrive(town, name, web))
            await eventually(lambda: synced(houses))

        await houses[1].crash()
        living = [houses[0], *houses[2:]]
        await eventually(lambda: synced(living))

        assert not any(h.cluster.ownership.broken() for h in living)


async def test_hosts_that_a_start_url_has_opened_are_known_to_those_that_go_on(tmp_path: Path) -> None:
    """Only the master that took in the start URL knows what it opens, unless it tells."""
    web = Web()
    async with town_of(tmp_path, "1", "2", "3", answer=web) as (_town, houses):
        await eventually(lambda: synced(houses))
        await submit(houses[0])
        first = houses[0].master
        await first.admission.learn_opened({77: ["127.0.0.1"]})
        await finished(houses)

        others = [house.master.jobs[77] for house in houses[1:]]
        await eventually(lambda: all(job.spec.opened == ("127.0.0.1",) for job in others))

    async with town_of(tmp_path, "1", answer=web) as (_town, again):
        assert again[0].master.jobs[77].spec.opened == ("127.0.0.1",)


async def test_buckets_that_are_claimed_in_two_goes_are_all_given_up(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", answer=Web()) as (_town, houses):
        await eventually(lambda: synced(houses))
        old, claimer = houses[0].cluster, houses[1].id
        theirs = [b for b in range(4096) if old.ownership.owner(b) == claimer][:5]
        for part in (theirs[:3], theirs[3:]):
            released = await houses[0].serve(Claim(0, old.ownership.view, bitmap_of(part)), claimer)
            assert released.agreed

        epochs = [epoch_after(old.ownership.counters[b], claimer) for b in sorted(theirs)]
        await houses[0].serve(Taken(0, bitmap_of(theirs), epochs, old.ownership.view, epochs), claimer)

        assert [old.ownership.lacks[b] for b in sorted(theirs)] == epochs


async def test_what_made_a_bucket_whole_is_on_disk_before_who_had_it_forgets(tmp_path: Path) -> None:
    """Else a crash in that moment leaves nobody that knows, and the bucket is held incomplete for ever."""
    async with town_of(tmp_path, "1", "2", answer=Web()) as (_town, houses):
        await eventually(lambda: synced(houses))
        owner, returned = houses[0].cluster, houses[1].cluster
        bucket = next(b for b in range(BUCKETS) if owner.ownership.owner(b) is None)
        before = owner.ownership.counters[bucket]
        missed = epoch_after(before, returned.peers.me)
        owner.ownership.counters[bucket], owner.ownership.lacks[bucket] = now = (
            epoch_after(missed, houses[0].id),
            missed,
        )
        await owner.holdings.note(owner.ownership.standings([bucket]))
        returned.ownership.counters[bucket], returned.ownership.lacks[bucket] = missed, 0
        on_disk = []
        taken = returned.takeover.taken

        async def watched(request: Taken, claimer: NodeId) -> Forgotten:
            on_disk.append(owner.holdings._store.standings()[bucket])
            return await taken(request, claimer)

        returned.takeover.taken = watched  # type: ignore[method-assign]

        await houses[0].serve(Offer(0, bitmap_of([bucket])), houses[1].id)
        await eventually(lambda: on_disk)

        assert on_disk == [Standing(now[0])]
        assert not owner.ownership.broken()
