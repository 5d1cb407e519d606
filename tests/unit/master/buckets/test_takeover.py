"""Buckets come over in portions: the first are served before the last have come, and nothing comes twice."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from p2pcrawl.core.buckets.bitmaps import bitmap_of, buckets_of
from p2pcrawl.core.buckets.standings import Standing
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.master.buckets import taking
from p2pcrawl.master.buckets.handover import Handover
from p2pcrawl.master.buckets.taking import Taking
from p2pcrawl.model.cluster.epoch import AUTHORS, epoch_after
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.peer_messages import Claim, PullCopies, Row, Taken
from p2pcrawl.wire.messages.slave_messages import Page, Task
from tests.unit.master.fake_slaves import page_of
from tests.unit.master.masters import FakeCluster, FakeMaster, arrive, eventually, records, settled, submit, town_of
from tests.unit.master.test_cluster import _owner, _row

PORTION = 20
decode = msgspec.msgpack.Decoder(Row).decode
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("impatient")]


@pytest.fixture(autouse=True)
def _in_small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taking, "PORTION_ROWS", PORTION)


class Gate:
    """Lets so many requests of a kind through from one master to each other one, and holds up the rest."""

    def __init__(self, source: NodeId, kind: type, free: int) -> None:
        self._source, self._kind, self._free = source, kind, free
        self._through: Counter[NodeId] = Counter()
        self.open = asyncio.Event()

    async def __call__(self, town: FakeCluster, source: NodeId, target: NodeId, request: Any) -> None:
        if source == self._source and isinstance(request, self._kind):
            self._through[target] += 1
            if self._through[target] > self._free:
                await self.open.wait()


def answer(task: Task) -> Page:
    return page_of(task, [])


async def plant(houses: list[FakeMaster], phase: Phase = Phase.DONE, hosts: int = 60, pages: int = 5) -> set[str]:
    """Pages where they belong, with their copies; what is queued is not granted."""
    await submit(houses[0])
    await eventually(lambda: all(77 in house.master.jobs for house in houses))
    for house in houses:
        house.master.workbench.halt_job(77)
    urls = [f"http://planted-{host}.example/{page}" for host in range(hosts) for page in range(pages)]
    for house in houses:
        rows: list[Row] = [_row(url, phase) for url in urls if _owner(house, url) == house.id]
        if rows:
            await house.master.ground.mailbox.adopt(rows)
    await eventually(lambda: not any(h.cluster.copying.lacking() or h.cluster.copier.under_way for h in houses))
    return set(urls)


async def planted(house: FakeMaster) -> set[str]:
    """Those of them that a master has in its frontier."""
    return {url for url, _ in await records(house) if "planted" in url}


def full_and_served(house: FakeMaster, urls: set[str]) -> set[int]:
    """The buckets of these pages that a master has taken over."""
    buckets = {house.master.bucket_of_url(url, "host") for url in urls}
    return {bucket for bucket in buckets if house.cluster.ownership.in_service(bucket)}


async def test_newcomer_serves_the_first_buckets_before_the_last_have_come(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", answer=answer) as (town, houses):
        await eventually(lambda: settled(houses))
        urls = await plant(houses)
        town.before = gate = Gate(NodeId(f"{'3':0<40}"), PullCopies, 5)

        new = await arrive(town, "3", answer)
        await eventually(lambda: bool(full_and_served(new, urls)))

        assert new.cluster.ownership.syncing
        gate.open.set()
        await eventually(lambda: settled([*houses, new]))
        assert {url for url in urls if _owner(new, url) == new.id} == await planted(new)


async def test_heir_serves_the_first_buckets_before_its_last_copies_are_promoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Taking.from_here

    async def when_the_other_has_let_go(
        self: Taking, buckets: frozenset[int], generation: int
    ) -> AsyncIterator[frozenset[int]]:
        """If that came last, all buckets could be served at once."""
        await eventually(lambda: not houses[1].cluster.ownership.awaited(houses[2].id))
        async for portion in real(self, buckets, generation):
            yield portion

    async with town_of(tmp_path, "1", "2", "3", answer=answer) as (town, houses):
        await eventually(lambda: settled(houses))
        urls = await plant(houses)
        heir = houses[1]
        before = full_and_served(heir, urls)
        town.before = gate = Gate(heir.id, Taken, 3)
        monkeypatch.setattr(Taking, "from_here", when_the_other_has_let_go)

        await houses[0].crash()
        await eventually(lambda: bool(full_and_served(heir, urls) - before))

        assert heir.cluster.ownership.syncing
        gate.open.set()
        await eventually(lambda: settled(houses[1:]))
        assert await planted(heir) | await planted(houses[2]) == urls


def spoil(folder: Path) -> tuple[set[str], set[int]]:
    """Changes some rows on the disk of a holder; which pages they are of, and which buckets."""
    with closing(sqlite3.connect(folder / "copies.db", isolation_level=None)) as db:
        rows = db.execute("SELECT b.id, h.bucket, b.row FROM body b JOIN held h USING (id)").fetchall()
        planted = [(id, bucket, decode(row).link.url) for id, bucket, row in rows if b"planted" in row]
        hit = sorted(planted, key=lambda row: row[2])[:3]
        for id, _, _ in hit:
            db.execute("UPDATE body SET row = substr(row, 1, 3) WHERE id = ?", (id,))
    return {url for *_, url in hit}, {bucket for _, bucket, _ in hit}


@pytest.mark.parametrize("comes", [False, True], ids=["to-its-holder", "to-another"])
async def test_copies_that_cannot_be_read_hold_up_nothing_else_and_their_buckets_are_not_whole(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, comes: bool
) -> None:
    """They come to who held them, whose owner dies, or to another one, who comes in that moment."""
    async with town_of(tmp_path, "1", "2", answer=answer) as (town, houses):
        await eventually(lambda: settled(houses))
        urls = await plant(houses)
        lost, buckets = spoil(tmp_path / "2")
        assert lost

        await houses[0].crash()
        living = houses[1:]
        if comes:
            living.append(await arrive(town, "3", answer))
        await eventually(lambda: settled(living))

        assert set().union(*[await planted(house) for house in living]) == urls - lost
        assert {b for house in living for b in house.cluster.ownership.broken()} >= buckets
        assert any("holds no row" in record.message for record in caplog.records)


async def test_what_is_served_stays_served_when_the_view_changes_before_the_rest_has_come(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", answer=answer) as (town, houses):
        await eventually(lambda: settled(houses))
        urls = await plant(houses)
        new = NodeId(f"{'3':0<40}")
        town.before = gate = Gate(new, PullCopies, 5)
        houses.append(await arrive(town, "3", answer))
        # So many that not all of them go on to the next one.
        await eventually(lambda: len(full_and_served(houses[2], urls)) > 1)
        ownership = houses[2].cluster.ownership
        epochs = {bucket: ownership.counters[bucket] for bucket in full_and_served(houses[2], urls)}
        assert ownership.syncing

        houses.append(await arrive(town, "4", answer))
        gate.open.set()
        await eventually(lambda: settled(houses))

        kept = {bucket: epoch for bucket, epoch in epochs.items() if ownership.owner(bucket) is None}
        assert kept
        assert {bucket: ownership.counters[bucket] for bucket in kept} == kept
        assert set().union(*[await planted(house) for house in houses]) == urls


async def test_rows_that_come_with_a_bucket_hold_up_nobody_who_waits_for_copies(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", answer=answer) as (town, houses):
        await eventually(lambda: settled(houses))
        urls = await plant(houses, Phase.QUEUED)
        town.before = gate = Gate(NodeId(f"{'3':0<40}"), Taken, 0)

        new = await arrive(town, "3", answer)
        await eventually(lambda: new.cluster.takeover.handovers > 0)
        await new.master.handover.stored()

        assert not new.cluster.copier.under_way
        gate.open.set()
        everybody = [*houses, new]
        await eventually(lambda: settled(everybody))
        await eventually(lambda: not any(house.cluster.copying.lacking() for house in everybody))
        mine = {url for url in urls if _owner(new, url) == new.id}
        held = sum([house.cluster.holdings.count for house in everybody])
        assert mine == await planted(new)
        assert held >= len(urls)


async def test_who_follows_an_epoch_has_heard_of_it_before_anybody_who_lacks_it(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", "3", answer=answer) as (town, houses):
        await eventually(lambda: settled(houses))
        heard: dict[int, list[bool]] = {}

        async def note(town: FakeCluster, source: NodeId, target: NodeId, request: Any) -> None:
            if isinstance(request, Taken):
                for bucket in buckets_of(request.buckets):
                    heard.setdefault(bucket, []).append(target in town.houses[source].cluster.ownership.holders(bucket))

        town.after = note
        new = await arrive(town, "4", answer)
        await eventually(lambda: settled([*houses, new]))

    assert len(heard) > 500
    assert all(followed[0] and followed.count(False) > 1 for followed in heard.values())


async def test_no_bucket_changes_hands_before_both_have_written_down_who_is_there(tmp_path: Path) -> None:
    """Who forgot the others with a crash would call links settled that have too few copies."""
    async with town_of(tmp_path, "1", "2", "3", answer=answer) as (town, houses):
        await eventually(lambda: settled(houses))
        known: defaultdict[type, list[bool]] = defaultdict(list)

        async def begins(town: FakeCluster, source: NodeId, target: NodeId, request: Any) -> None:
            if isinstance(request, Taken):
                known[Taken].append(town.houses[source].remembers.issuperset(town.houses))

        async def let_go(town: FakeCluster, source: NodeId, target: NodeId, request: Any) -> None:
            giver = town.houses[target]
            if isinstance(request, Claim) and giver.cluster.ownership.promised(source, buckets_of(request.buckets)):
                known[Claim].append(giver.remembers.issuperset(town.houses))

        town.before, town.after = begins, let_go
        new = await arrive(town, "4", answer)
        await eventually(lambda: settled([*houses, new]))

    assert known.keys() == {Taken, Claim}
    assert all(known[Taken]) and all(known[Claim])


async def test_all_know_the_epoch_that_is_served_though_some_heard_of_the_one_before(tmp_path: Path) -> None:
    """Else who follows it does not have it, and whoever lacks it does not know."""
    async with town_of(tmp_path, "1", "2", "3", answer=answer) as (town, houses):
        await eventually(lambda: settled(houses))
        lost: list[NodeId] = []

        async def lose_some(town: FakeCluster, source: NodeId, target: NodeId, request: Any) -> None:
            if isinstance(request, Taken) and target == houses[1].id and len(lost) < 2:
                lost.append(target)
                raise LinkError("lost on the way")

        town.before = lose_some
        new = await arrive(town, "4", answer)
        await eventually(lambda: settled([*houses, new]))

        owner = new.cluster.ownership
        mine = [bucket for bucket in range(BUCKETS) if owner.owner(bucket) is None]
        assert lost
        for house in houses:
            ownership = house.cluster.ownership
            assert [ownership.counters[b] for b in mine] == [owner.counters[b] for b in mine]
            assert {b for b in mine if ownership.lacks[b]} == {b for b in mine if house.id not in owner.holders(b)}


async def test_word_said_again_is_answered_when_all_is_given_up_at_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the new owner serves, and the former one has the rows as its own still."""
    real, begun, may_end = Handover.forget, asyncio.Event(), asyncio.Event()

    async def forget_late(self: Handover, buckets: frozenset[int], still: Callable[[], bool]) -> bool:
        if self is houses[0].master.handover and not may_end.is_set() and (going := theirs(buckets)):
            left.update(going)
            begun.set()
            await may_end.wait()
        return await real(self, buckets, still)

    async def note(town: FakeCluster, source: NodeId, target: NodeId, request: Any) -> None:
        if isinstance(request, Taken) and target == houses[0].id and theirs(buckets_of(request.buckets)):
            words.append(request)

    def theirs(buckets: frozenset[int]) -> set[str]:
        return {url for url in mine if houses[0].master.bucket_of_url(url, "host") in buckets}

    async with town_of(tmp_path, "1", "2", answer=answer) as (town, houses):
        await eventually(lambda: settled(houses))
        await plant(houses)
        mine, left, words = await planted(houses[0]), set[str](), list[Taken]()
        monkeypatch.setattr(Handover, "forget", forget_late)
        town.before = note

        new = await arrive(town, "3", answer)
        await eventually(begun.is_set)
        again = asyncio.create_task(houses[0].cluster.takeover.taken(words[0], new.id))
        for _ in range(20):
            await houses[0].master.handover.stored()
            await houses[0].cluster.holdings.sizes(buckets_of(words[0].buckets))
        too_soon = again.done()
        may_end.set()
        await again

        assert not too_soon
        assert left and not left & await planted(houses[0])
        await eventually(lambda: settled([*houses, new]))


async def test_who_says_that_it_has_less_than_it_had_written_down_writes_that_first(tmp_path: Path) -> None:
    """Else it would be back after a crash, and say that it has more."""
    async with town_of(tmp_path, "1", "2", answer=answer) as (_, houses):
        await eventually(lambda: settled(houses))
        giver, claimer = (house.cluster for house in houses)
        # Who is told later that its copies are whole has everything again.
        await eventually(lambda: not claimer.copier.copying.unsynced(giver.peers.me))
        bucket = next(b for b in range(BUCKETS) if giver.ownership.owner(b) == houses[1].id)
        had = giver.holdings.standings[bucket]
        [less] = giver.ownership.dropped([bucket]).values()
        giver.ownership.withdrawn.add(bucket)

        claim = Claim(0, giver.ownership.view, bitmap_of([bucket]))
        released = await giver.takeover.let_go(claim, claimer.peers.me)

        assert released.agreed and released.lacks == [less.lack] != [had.lack]
        assert giver.holdings.standings[bucket] == less


async def test_what_is_joined_of_a_rival_is_not_on_disk_before_the_bucket_is_ours_for_certain(tmp_path: Path) -> None:
    """Who lost it again takes that back, and was back with it after a crash."""
    may_claim = asyncio.Event()

    async def hold_up(town: FakeCluster, source: NodeId, target: NodeId, request: Any) -> None:
        if isinstance(request, Claim) and target == houses[2].id:
            await may_claim.wait()

    async with town_of(tmp_path, "1", "2", "3", answer=answer) as (town, houses):
        await eventually(lambda: settled(houses))
        heir, other = houses[0].cluster, houses[1].cluster
        bucket = next(b for b in range(BUCKETS) if heir.ownership.owner(b) is None)
        had = heir.holdings.standings[bucket]
        rival = epoch_after(had.epoch - AUTHORS, houses[1].id)
        other.ownership.recall({bucket: Standing(rival)})
        town.before = hold_up

        heir.takeover.claim(heir.ownership.claim_anew())
        await eventually(lambda: heir.ownership.rivals(bucket))
        await houses[0].master.handover.stored()
        on_disk = heir.holdings.standings[bucket]
        may_claim.set()
        await eventually(lambda: settled(houses))

        assert on_disk == had and not had.lack
        assert heir.holdings.standings[bucket].has(rival)


async def knows_more(owner: FakeMaster, other: FakeMaster) -> int:
    """Has one that serves a bucket offered it by another one, which knows of a later epoch; returns the bucket."""
    bucket = min(b for b in range(BUCKETS) if owner.cluster.ownership.owner(b) is None)
    epoch = epoch_after(owner.cluster.ownership.counters[bucket], other.id)
    other.cluster.ownership.recall({bucket: Standing(epoch)})
    other.cluster.ownership.found([bucket])
    await eventually(lambda: owner.cluster.ownership.counters[bucket] > epoch)
    return bucket


async def test_nothing_is_settled_under_an_epoch_that_the_word_of_another_has_raised_before_all_have_heard(
    tmp_path: Path,
) -> None:
    """Should owner and followers lose their disks, whoever has not heard would say that nothing is missing."""
    async with town_of(tmp_path, "1", "2", "3", answer=answer) as (town, houses):
        await eventually(lambda: settled(houses) and not any(h.cluster.copying.lacking() for h in houses))
        owner, other, _ = houses
        town.before = gate = Gate(owner.id, Taken, 0)

        bucket = await knows_more(owner, other)
        await eventually(lambda: not owner.cluster.copying.lacking())
        too_soon = not owner.cluster.neighbours.provisional(bucket, 3)
        gate.open.set()
        await eventually(lambda: not owner.cluster.neighbours.provisional(bucket, 3))

        assert not too_soon
        assert len({house.cluster.ownership.counters[bucket] for house in houses}) == 1


async def test_all_hear_of_an_epoch_that_was_raised_by_the_word_of_one_that_is_gone(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", "3", "4", answer=answer) as (town, houses):
        await eventually(lambda: settled(houses) and not any(h.cluster.copying.lacking() for h in houses))
        owner, other, *others = houses
        town.before = gate = Gate(owner.id, Taken, 0)

        bucket = await knows_more(owner, other)
        raised = owner.cluster.ownership.counters[bucket]
        await other.crash()
        await eventually(lambda: not owner.cluster.ownership.in_service(bucket))
        gate.open.set()
        await eventually(lambda: settled([owner, *others]))

        known = {house.cluster.ownership.counters[bucket] for house in (owner, *others)}
        assert len(known) == 1 and min(known) > raised
