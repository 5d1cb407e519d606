"""Masters among each other: who crawls what, how buckets change hands, and when a job is finished."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec import structs

from p2pcrawl.core.buckets.bitmaps import bitmap_of, buckets_of
from p2pcrawl.core.buckets.ownership import SoleOwner
from p2pcrawl.core.control import FINISHED, Control
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.core.ring.ring_choice import table_of
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.copies import links_first
from p2pcrawl.master.links.dispatch import Hold, Parcel
from p2pcrawl.master.majority import mandate, roll, suffrage
from p2pcrawl.model.cluster.placement import RingName
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.job import START_URL, JobId
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.errors import LinkError, StorageError
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.wire.messages.peer_messages import Claim, Discover, MirrorJob, Pull, Quiet, Taken
from p2pcrawl.wire.messages.slave_messages import Forget, Page, Task
from tests.unit.master.fake_slaves import page_of, urls
from tests.unit.master.masters import (
    FakeCluster,
    FakeMaster,
    all_vote,
    arrive,
    books,
    eventually,
    finished,
    records,
    settled,
    submit,
    town_of,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.usefixtures("impatient"),
]


class Web:
    """Pages over many hosts, each leading to others, that count their visits."""

    def __init__(self, count: int = 120, hosts: int = 30, fan: int = 6, seed: int = 1) -> None:
        dice = Random(seed)
        self.urls = urls(count, hosts)
        self.links = {u: dice.sample(self.urls, fan) for u in self.urls}
        self.seeds = self.urls[:3]
        self.visits: Counter[str] = Counter()
        self.reachable: set[str] = set()
        edge = list(self.seeds)
        while edge:
            url = edge.pop()
            if url not in self.reachable:
                self.reachable.add(url)
                edge += self.links[url]
        self.gate: asyncio.Event | None = None
        self.kept: list[Task] = []

    def __call__(self, task: Task) -> Page | None:
        if task.link.url.startswith(START_URL):
            return page_of(task, self.seeds)
        self.visits[task.link.url] += 1
        return page_of(task, self.links[task.link.url], [b'{"url":"%s"}' % task.link.url.encode()])


async def assert_whole(web: Web, houses: list[FakeMaster], *, visits: int = 1) -> None:
    """Every page once, and the books of all masters together balance."""
    whole = await books(houses)
    assert set(web.visits) == web.reachable
    assert max(web.visits.values()) <= visits, web.visits.most_common(3)
    assert whole["discovered"] == len(web.reachable) + 1
    assert whole["done"] == whole["discovered"]
    assert whole["queued"] == 0


# -- crawling together -----------------------------------------------------------------------------


async def test_three_masters_visit_every_page_once_each_its_own(tmp_path: Path) -> None:
    web = Web()
    async with town_of(tmp_path, "1", "2", "3", answer=web) as (_town, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[1])

        await finished(houses)

        await assert_whole(web, houses)
        for house in houses:
            for url, _ in await records(house):
                bucket = house.master.bucket_of_url(url, "host")
                assert house.cluster.ownership.owner(bucket) is None
            assert house.master.jobs[77].counts["pages"] > 0


@pytest.mark.parametrize("ring", list(RingName))
async def test_two_masters_share_out_the_pages_by_the_ring_that_they_were_given(tmp_path: Path, ring: RingName) -> None:
    web = Web()
    async with town_of(tmp_path, "1", "2", answer=web, ring=ring) as (_town, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[1])

        await finished(houses)

        await assert_whole(web, houses)
        table = table_of(ring, {house.id: 1 for house in houses}, 2)
        for house in houses:
            assert house.master.jobs[77].counts["pages"] > 0
            for url, _ in await records(house):
                assert table[house.master.bucket_of_url(url, "host")][0] == house.id


@pytest.mark.parametrize("ring", list(RingName))
async def test_master_that_joins_takes_its_share_under_each_ring(tmp_path: Path, ring: RingName) -> None:
    web = Web(count=400, hosts=40)
    async with town_of(tmp_path, "1", "2", answer=web, ring=ring) as (town, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[0])
        await eventually(lambda: len(web.visits) > 40)

        newcomer = await arrive(town, "3", web)
        await finished([*houses, newcomer])

        await assert_whole(web, [*houses, newcomer])


@pytest.mark.parametrize("key", ["host", "domain", "url"])
async def test_start_of_a_job_is_taken_where_it_is_sent_whatever_its_key(tmp_path: Path, key: str) -> None:
    async with town_of(tmp_path, "1", "2", "3", answer=Web()) as (_town, houses):
        await eventually(lambda: settled(houses))

        async with asyncio.timeout(5):
            for number in range(100, 106):
                await submit(houses[0], JobId(number), shard_key=key)

        for number in range(100, 106):
            await finished(houses, number)


async def test_job_is_finished_though_links_of_another_one_are_stuck(tmp_path: Path) -> None:
    async def lose(_town: Any, _source: Any, _target: Any, request: Any) -> None:
        if isinstance(request, Discover) and request.job == 101:
            raise LinkError("lost")

    async with town_of(tmp_path, "1", "2", answer=Web()) as (town, houses):
        await eventually(lambda: settled(houses))
        town.before = lose
        stuck = asyncio.create_task(submit(houses[0], JobId(101), shard_key="url"))
        await submit(houses[0], JobId(102))

        await finished(houses, 102)

        stuck.cancel()
        await asyncio.gather(stuck, return_exceptions=True)


async def test_job_is_not_finished_while_a_link_is_kept_that_its_owner_has_lost(tmp_path: Path) -> None:
    web, kept = Web(), "http://lost.test/only-in-the-spool"
    web.links[kept] = []
    async with town_of(tmp_path, "1", "2", answer=web) as (_town, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[0])
        bucket = houses[0].master.bucket_of_url(kept, "host")
        finder = next(house for house in houses if house.cluster.ownership.owner(bucket) is not None)
        await finder.cluster.spool.keep(77, [Parcel(Link(kept, fingerprint(kept), depth=1), bucket, Hold())])

        await finished(houses)

        assert web.visits[kept] == 1


async def test_finished_job_is_not_declared_before_it_has_begun(tmp_path: Path) -> None:
    """Everybody knows the job, nobody has anything of it yet: that is not the end, it is the beginning."""
    web = Web()
    async with town_of(tmp_path, "1", "2", answer=web) as (town, houses):
        await eventually(lambda: settled(houses))

        async def slowly(town: FakeCluster, source: str, target: str, request: Any) -> None:
            if isinstance(request, MirrorJob) and source == houses[1].id:
                for house in houses:
                    job = house.master.jobs.get(77)
                    if job is not None:
                        assert await house.cluster.completion.finished_in(job) is None

        town.after = slowly
        job = asyncio.create_task(submit(houses[1]))
        while not job.done():
            for house in houses:
                if 77 in house.master.jobs and house.cluster.dispatch.under_way == 0:
                    assert await house.cluster.completion.finished_in(house.master.jobs[77]) is None or web.visits
            await asyncio.sleep(0)

        await finished(houses)
        await assert_whole(web, houses)


async def test_job_stays_unfinished_while_its_first_record_is_being_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = Web()
    async with town_of(tmp_path, "1", answer=web) as (_town, [house]):
        commit, looked = Store.commit, []

        def watched(store: Store, batch: Any) -> Any:
            if batch.links and 77 in house.master.jobs:
                looked.append(house.cluster.own_standing.of(77).busy)
            return commit(store, batch)

        monkeypatch.setattr(Store, "commit", watched)
        await submit(house)
        await finished([house])

        assert looked and all(looked)


async def test_links_that_arrive_between_two_rounds_keep_the_job_open(tmp_path: Path) -> None:
    web = Web(count=20, hosts=20)
    async with town_of(tmp_path, "1", "2", answer=web) as (town, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[0])
        await finished(houses)
        job = houses[0].master.jobs[77]
        job.state = "running"
        decider, other = houses
        late = next(u for u in (f"http://late{n}.example/" for n in range(100)) if _owner(decider, u) == other.id)
        asked = 0

        async def between(town: FakeCluster, source: str, target: str, request: Any) -> None:
            nonlocal asked
            if isinstance(request, Quiet):
                asked += 1
                if asked == 1:
                    await other.serve(Discover(0, 77, [_found(late)]), decider.id)

        web.links[late] = []
        town.after = between

        assert await decider.cluster.completion.finished_in(job) is None
        assert asked


# -- buckets that change hands ---------------------------------------------------------------------


async def test_master_that_joins_in_mid_crawl_takes_its_share_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    web = Web(count=400, hosts=100)
    async with town_of(tmp_path, "1", "2", answer=web) as (town, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[0])
        await eventually(lambda: sum(web.visits.values()) > 40)

        houses.append(await arrive(town, "3", web))
        await finished([houses[0], houses[1]])
        await eventually(lambda: 77 in houses[2].master.jobs and settled(houses))
        await finished(houses)

        await assert_whole(web, houses)
        assert houses[2].cluster.takeover.handovers > 0


@pytest.mark.parametrize(("ahead", "kind"), [(links_first.LINKS_MAX, Discover), (0, Pull)])
async def test_rows_of_a_job_that_the_newcomer_has_not_been_told_of_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead: int, kind: type[Any]
) -> None:
    """Links that are sent ahead are refused, and rows that are pulled are not taken, until it knows the job."""
    monkeypatch.setattr(links_first, "LINKS_MAX", ahead)
    web = Web(count=200, hosts=60)
    async with town_of(tmp_path, "1", answer=web) as (town, [old]):
        await submit(old)
        await finished([old])
        before = await books([old])
        hold = True
        in_vain: Counter[type[Any]] = Counter()

        async def untold(town: FakeCluster, source: str, target: str, request: Any) -> None:
            if isinstance(request, MirrorJob) and hold:
                raise LinkError("lost")
            # The newcomer was alone, too, and may be asked for what it had: that is not meant.
            if old.id == (source if kind is Discover else target):
                in_vain[type(request)] += 1

        town.before = untold
        new = await arrive(town, "2", web)
        await eventually(lambda: in_vain[kind] > 1)
        assert await records(new) == []
        assert (await books([old]))["discovered"] == before["discovered"]

        hold = False
        await eventually(lambda: settled([old, new]))
        assert await books([old, new]) == before


async def test_two_masters_that_join_at_once_agree_and_nothing_is_lost(tmp_path: Path) -> None:
    web = Web(count=400, hosts=100, seed=3)
    async with town_of(tmp_path, "1", "2", answer=web) as (town, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[1])
        await eventually(lambda: sum(web.visits.values()) > 60)

        houses.append(await arrive(town, "3", web))
        houses.append(await arrive(town, "4", web))
        await eventually(lambda: all(77 in h.master.jobs for h in houses) and settled(houses))
        await finished(houses)

        await assert_whole(web, houses)


async def test_master_that_drains_hands_everything_over_before_it_goes(tmp_path: Path) -> None:
    web = Web(count=400, hosts=100, seed=4)
    async with town_of(tmp_path, "1", "2", "3", answer=web) as (town, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[0])
        await eventually(lambda: sum(web.visits.values()) > 60)

        await houses[2].drain(10.0)
        assert await records(houses[2]) == []
        pages = houses[2].master.jobs[77].counts["pages"]
        await houses[2].close()
        town.leaving.clear()
        town.look()
        await finished(houses[:2])

        whole = await books(houses[:2])
        assert set(web.visits) == web.reachable
        assert max(web.visits.values()) == 1
        assert whole["done"] == whole["discovered"] == len(web.reachable) + 1
        assert whole["pages"] + pages == len(web.reachable)


async def test_busy_master_lets_go_though_pages_of_its_other_buckets_are_always_held(tmp_path: Path) -> None:
    web = Web(count=60, hosts=30)
    async with town_of(tmp_path, "1", "2", answer=web) as (town, houses):
        await eventually(lambda: settled(houses))
        stuck = asyncio.Event()

        async def stall(town: FakeCluster, source: str, target: str, request: Any) -> None:
            if isinstance(request, Discover) and source == houses[0].id and target == houses[1].id:
                await stuck.wait()

        town.before = stall
        seed = next(u for u in web.urls if _owner(houses[0], u) == houses[0].id)
        web.seeds = [seed]
        start = await submit_at_owner(houses)
        await eventually(lambda: houses[0].master.handover.held_in.total() > 0 or start.id != houses[0].id)
        free = frozenset(range(BUCKETS)) - {
            houses[0].master.bucket_of_url(u, "host") for u in [*web.urls, f"{START_URL}77"]
        }

        assert await houses[0].master.handover.can_release(free)
        stuck.set()


async def test_page_that_is_held_for_its_links_holds_its_own_bucket(tmp_path: Path) -> None:
    web = Web(count=60, hosts=30)
    async with town_of(tmp_path, "1", "2", answer=web) as (town, houses):
        await eventually(lambda: settled(houses))
        stuck = asyncio.Event()

        async def stall(town: FakeCluster, source: str, target: str, request: Any) -> None:
            if isinstance(request, Discover) and source == houses[0].id:
                await stuck.wait()

        town.before = stall
        mine = next(u for u in web.urls if _owner(houses[0], u) == houses[0].id)
        theirs = next(u for u in web.urls if _owner(houses[0], u) == houses[1].id)
        web.links = {u: [] for u in web.urls} | {mine: [theirs]}
        web.seeds = [mine]
        task = asyncio.create_task(submit(houses[1]))
        await eventually(lambda: web.visits[mine] == 1 and houses[0].master.handover.held_in.total() == 1)
        bucket = houses[0].master.bucket_of_url(mine, "host")

        # The negative control: its links are not at their owner, so it is not done and its bucket does not move.
        assert (mine, int(Phase.QUEUED)) in await records(houses[0])
        assert not await houses[0].master.handover.can_release({bucket})
        stuck.set()
        await task
        await finished(houses)
        assert (mine, int(Phase.DONE)) in await records(houses[0])
        assert await houses[0].master.handover.can_release({bucket})


async def test_newcomer_that_says_that_it_has_heard_of_a_jobs_end_has_that_on_its_disk(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", answer=Web(count=20, hosts=5)) as (town, houses):
        town.views = {houses[0].id: [houses[0].id], houses[1].id: [houses[1].id]}
        town.look()
        await eventually(lambda: all(h.cluster.ownership.owned == BUCKETS for h in houses))
        await submit(houses[0])
        await finished([houses[0]])
        newcomer, job = houses[1].master, houses[0].master.jobs[77]

        await newcomer.admission.mirror(job.spec, job.control)

        assert [state for *_, state, _ in await newcomer.recorder.run(Store.jobs)] == ["finished"]


async def test_done_record_that_arrives_for_a_queued_one_is_not_fetched_again(tmp_path: Path) -> None:
    """Two halves of a healed partition knew the same page; one had fetched it."""
    web = Web(count=80, hosts=20)
    async with town_of(tmp_path, "1", "2", answer=web) as (town, houses):
        town.views = {houses[0].id: [houses[0].id], houses[1].id: [houses[1].id]}
        town.look()
        await eventually(lambda: all(h.cluster.ownership.owned == BUCKETS for h in houses))
        await submit(houses[0])
        await finished([houses[0]])
        first = set(web.visits)
        assert first == web.reachable
        # The other side has all of it in its queue, unfetched.
        web.visits.clear()
        job = houses[0].master.jobs[77]
        await houses[1].master.admission.mirror(job.spec, Control())
        houses[1].slaves.answer = lambda task: None if not task.link.url.startswith(START_URL) else page_of(task)
        await houses[1].master.ground.mailbox.arrive(77, [_found(u) for u in sorted(first)])

        houses[1].slaves.answer = web
        town.views = {}
        town.look()
        await eventually(lambda: settled(houses))
        await asyncio.sleep(0.3)
        await eventually(lambda: all(h.master.exchange.busy(h.master.jobs[77]) == 0 for h in houses))

        whole = await books(houses)
        assert whole["queued"] == 0


async def test_partition_that_heals_brings_the_work_of_both_sides_together(tmp_path: Path) -> None:
    web = Web(count=300, hosts=80, seed=6)
    async with town_of(tmp_path, "1", "2", "3", answer=web) as (town, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[0])
        await eventually(lambda: sum(web.visits.values()) > 30)
        left, right = [houses[0].id], [houses[1].id, houses[2].id]
        town.views = {houses[0].id: left, houses[1].id: right, houses[2].id: right}
        town.look()
        await asyncio.sleep(0.3)
        for house in houses:
            house.master.jobs[77].state = "running"

        town.views = {}
        town.look()
        await eventually(lambda: settled(houses))
        await eventually(lambda: all(h.master.exchange.busy(h.master.jobs[77]) == 0 for h in houses))

        # Nothing is stranded where nobody serves it, and every record is in one place.
        whole = await books(houses)
        assert whole["queued"] == 0
        assert set(web.visits) == web.reachable
        assert whole["discovered"] == len(web.reachable) + 1


async def test_master_that_cannot_reach_most_grants_nothing_and_claims_its_buckets_anew_when_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = replace(TIMINGS, ask_s=0.1, grant_s=0.4, halt_s=0.5, promise_s=0.9, consent_look_s=0.05)
    monkeypatch.setattr(mandate, "TIMINGS", short)
    web = Web(count=3000, hosts=500, seed=6)
    async with town_of(tmp_path, "1", "2", "3", answer=web, setup=all_vote, majority=True) as (town, houses):
        one, *others = houses
        await eventually(lambda: settled(houses))
        await submit(one)
        await eventually(lambda: sum(web.visits.values()) > 5)
        epochs = {b: one.cluster.ownership.counters[b] for b in range(BUCKETS) if one.cluster.ownership.serves(b)}
        town.apart = {one.id}
        await eventually(lambda: not any(s.leases for s in one.master.sessions.values()) and _serves_nothing(one))
        granted = _granted(one)
        await eventually(lambda: all(h.master.jobs[77].counts["queued"] == 0 for h in others))
        assert _granted(one) == granted
        assert one.master.jobs[77].counts["queued"] > 0

        town.apart = set()
        await finished(houses)

        assert set(web.visits) == web.reachable
        assert all(one.cluster.ownership.counters[b] > epoch for b, epoch in epochs.items())


async def test_two_clusters_that_were_founded_apart_have_one_electorate_when_they_have_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = replace(TIMINGS, ask_s=0.1, grant_s=0.4, halt_s=0.5, promise_s=0.9)
    monkeypatch.setattr(mandate, "TIMINGS", short)
    monkeypatch.setattr(suffrage, "AGAIN_S", 0.2)

    def found_another(town: FakeCluster) -> None:
        later = max(town.houses.values(), key=lambda house: house.id)
        assert later.roll is not None
        later.roll.electorate.found(later.id, 1 << 60, 0.0)

    async with town_of(tmp_path, "1", "2", answer=Web(), setup=found_another, majority=True) as (_, houses):
        one, two = (house.roll.electorate for house in houses if house.roll is not None)

        await eventually(lambda: len(one.voters) == 2 and one.decision == two.decision)
        await eventually(lambda: one.votes(houses[0].id) and two.votes(houses[1].id))

        assert one.version.founded < 1 << 60


async def test_master_that_cannot_write_down_the_cluster_that_it_founds_ends_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(roll, "replace_secret", full)
    async with town_of(tmp_path, "1", answer=Web(), majority=True) as (_, (house,)):
        assert house.run is not None

        with pytest.raises(StorageError, match=r"cannot write .*electorate\.json: No space left on device"):
            await house.run


async def test_master_that_cannot_reach_most_goes_on_where_no_majority_is_asked_for(tmp_path: Path) -> None:
    web = Web()
    async with town_of(tmp_path, "1", "2", answer=web) as (town, houses):
        town.apart = {house.id for house in houses}
        town.look()
        await eventually(lambda: settled(houses))

        await submit(houses[0])
        await finished(houses)

        assert set(web.visits) == web.reachable


async def test_restarted_master_that_ran_alone_gets_back_what_others_took_over(tmp_path: Path) -> None:
    web = Web(count=100, hosts=40)
    async with town_of(tmp_path, "1", "2", answer=web) as (town, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[0])
        await finished(houses)
        alone = {houses[0].id: [houses[0].id], houses[1].id: [houses[1].id]}
        town.views = alone
        town.look()
        await eventually(lambda: all(h.cluster.ownership.owned == BUCKETS for h in houses))
        late = next(u for u in (f"http://late{n}.example/" for n in range(100)) if _owner_in_both(houses, u) == 0)
        web.links[late] = []
        houses[1].master.jobs[77].state = "running"
        houses[1].slaves.answer = lambda task: None
        await houses[1].master.ground.mailbox.arrive(77, [_found(late)])
        await eventually(lambda: houses[1].master.jobs[77].counts["queued"] == 1)
        houses[1].slaves.die()
        houses[1].slaves.answer = web

        town.views = {}
        town.look()
        await eventually(lambda: settled(houses))

        assert late in {url for url, _ in await records(houses[0])}
        assert late not in {url for url, _ in await records(houses[1])}
        await books(houses)


async def test_bucket_that_comes_back_before_it_was_handed_over_is_crawled_on(tmp_path: Path) -> None:
    web = Web(count=60, hosts=20)
    async with town_of(tmp_path, "1", "2", answer=web) as (town, houses):
        one, two = houses
        town.views = {one.id: [one.id], two.id: [two.id]}
        town.look()
        await eventually(lambda: one.cluster.ownership.owned == BUCKETS)
        one.slaves.answer = lambda task: page_of(task, web.seeds) if task.link.url.startswith(START_URL) else None
        web.seeds = web.urls
        await submit(one)
        await eventually(lambda: one.master.jobs[77].counts["queued"] >= len(web.urls))

        town.before = _only(Claim, fails=True)
        town.views = {}
        town.look()
        await eventually(lambda: one.cluster.ownership.owned < BUCKETS)
        town.views = {one.id: [one.id], two.id: [two.id]}
        town.look()
        await eventually(lambda: one.cluster.ownership.owned == BUCKETS)
        one.slaves.die()
        one.slaves.answer = web
        await eventually(lambda: one.master.jobs[77].counts["queued"] == 0)

        assert set(web.visits) == set(web.urls)
        await books([one])


async def _plant(house: FakeMaster, url: str) -> None:
    """A row in a bucket that is another's, as of one that went there a moment ago."""
    company = house.master.company
    router, company.router = company.router, SoleOwner()
    await house.master.ground.mailbox.adopt([_row(url)])
    company.router = router


async def test_late_word_that_rows_were_taken_removes_nothing_that_came_back(tmp_path: Path) -> None:
    web = Web(count=60, hosts=20)
    async with town_of(tmp_path, "1", "2", answer=web) as (_town, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[0])
        await finished(houses)
        mine = {b for b in range(BUCKETS) if houses[0].cluster.ownership.owner(b) is None}
        before = len(await records(houses[0]))
        view = houses[0].cluster.ownership.view
        # Never released to anybody: a Taken for another's bucket, and one for our own.
        await houses[0].serve(Taken(0, bitmap_of(mine), [9] * len(mine), view, [8] * len(mine)), houses[1].id)
        assert len(await records(houses[0])) == before
        stray = next(u for u in (f"http://s{n}.example/" for n in range(99)) if _owner(houses[0], u) == houses[1].id)
        await _plant(houses[0], stray)
        everything = bitmap_of(range(BUCKETS))
        await houses[0].serve(Taken(0, everything, [9] * BUCKETS, view, [8] * BUCKETS), houses[1].id)

        assert stray in {u for u, _ in await records(houses[0])}


async def test_rows_are_not_given_up_to_whoever_took_them_in_another_view(tmp_path: Path) -> None:
    web = Web(count=60, hosts=20)
    async with town_of(tmp_path, "1", "2", answer=web) as (_town, houses):
        await eventually(lambda: settled(houses))
        one, other = houses[0].cluster, houses[1].id
        theirs = [b for b in range(BUCKETS) if one.ownership.owner(b) == other]
        stray = next(u for u in (f"http://s{n}.example/" for n in range(99)) if _owner(houses[0], u) == other)
        await submit(houses[0])
        await _plant(houses[0], stray)
        released = await houses[0].serve(Claim(0, one.ownership.view, bitmap_of(theirs)), other)
        assert released.agreed

        with pytest.raises(LinkError, match="view"):
            epochs = [9] * len(theirs)
            await houses[0].serve(Taken(0, bitmap_of(theirs), epochs, one.ownership.view + 1, epochs), other)

        assert stray in {u for u, _ in await records(houses[0])}


@pytest.mark.parametrize("lost", [Claim, Pull, Taken])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_hand_over_whose_messages_are_lost_is_repeated_until_it_is_whole(
    tmp_path: Path, lost: type, when: str
) -> None:
    web = Web(count=200, hosts=60, seed=9)
    async with town_of(tmp_path, "1", "2", answer=web) as (town, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[0])
        await eventually(lambda: sum(web.visits.values()) > 20)
        setattr(town, when, _only(lost, times=3))

        houses.append(await arrive(town, "3", web))
        await eventually(lambda: 77 in houses[2].master.jobs and settled(houses))
        await finished(houses)

        await assert_whole(web, houses)


@pytest.mark.parametrize("seed", range(3))
async def test_crawl_under_a_stormy_membership_loses_nothing(tmp_path: Path, seed: int) -> None:
    """Views change at random, differ for a while, and messages are lost; at the end nothing is missing or stranded."""
    dice = Random(seed)
    web = Web(count=200, hosts=60, seed=seed)
    async with town_of(tmp_path, "1", "2", "3", answer=web) as (town, houses):
        await eventually(lambda: settled(houses))

        async def mischief(town: FakeCluster, source: str, target: str, request: Any) -> None:
            await asyncio.sleep(dice.random() * 0.01)
            if dice.random() < 0.1 and not isinstance(request, MirrorJob):
                raise LinkError("lost on the way")

        town.before = town.after = mischief
        await submit(houses[0])
        ids = [h.id for h in houses]
        for _ in range(12):
            without = dice.choice(ids[1:])
            for viewer in dice.sample(ids, dice.randint(1, 3)):
                town.views[viewer] = [i for i in ids if i != without or i == viewer]
            town.look()
            await asyncio.sleep(dice.random() * 0.1)
            town.views = {}
            town.look()
            await asyncio.sleep(dice.random() * 0.1)
        town.before = town.after = None
        town.look()
        for house in houses:
            house.master.jobs[77].state = "running"
            house.master.workbench.resume_job(77)
        await eventually(lambda: settled(houses))
        await eventually(lambda: all(h.master.exchange.busy(h.master.jobs[77]) == 0 for h in houses))

        whole = await books(houses)
        assert set(web.visits) == web.reachable
        assert whole["queued"] == 0
        assert whole["discovered"] == len(web.reachable) + 1


async def test_spider_that_closes_at_one_master_closes_at_all(tmp_path: Path) -> None:
    web = Web(count=3000, hosts=300, fan=8)

    def answer(task: Task) -> Page | None:
        page = web(task)
        if task.link.url == web.seeds[0] and page is not None and page.outcome is not None:
            page.outcome.close = "enough"
        return page

    for turn in range(2):
        web.visits.clear()
        async with town_of(tmp_path / str(turn), "1", "2", "3", answer=answer) as (_, houses):
            await eventually(lambda houses=houses: settled(houses))
            wanted = houses[turn * 2].id
            seed = next(u for u in web.urls if _owner(houses[0], u) == wanted)
            others = [u for u in web.urls if _owner(houses[0], u) != wanted]
            web.seeds = [seed, others[0], others[-1]]
            paced = {house.id: house.slaves.answer for house in houses}
            for house in houses:
                if house.id != wanted:
                    # The others would never come to an end by themselves.
                    house.slaves.answer = lambda task: answer(task) if task.link.url.startswith(START_URL) else None
            await submit(houses[1])
            await eventually(lambda houses=houses: all(h.master.jobs[77].closing == "enough" for h in houses))
            for house in houses:
                house.slaves.answer = paced[house.id]
                if house.id != wanted:
                    house.slaves.die()

            await finished(houses)

            assert {h.master.jobs[77].reason for h in houses} == {"enough"}
            assert len(web.visits) < len(web.urls)


async def test_masters_that_come_and_go_under_a_busy_crawl_lose_and_repeat_nothing(tmp_path: Path) -> None:
    dice = Random(1)
    web = Web(count=800, hosts=150, fan=8, seed=1)
    async with town_of(tmp_path, "1", "2", answer=web) as (town, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[0])
        for number in range(3, 6):
            await asyncio.sleep(dice.random() * 0.1)
            houses.append(await arrive(town, str(number), web))
            leaver = houses.pop(1)
            assert await leaver.drain(8.0)
            assert await records(leaver) == []
            await leaver.close()
            town.leaving.discard(leaver.id)
            town.look()
        await eventually(lambda: all(77 in h.master.jobs for h in houses) and settled(houses))
        await finished(houses)

        whole = await books(houses)
        assert set(web.visits) == web.reachable
        assert max(web.visits.values()) == 1
        assert whole["done"] == whole["discovered"] == len(web.reachable) + 1


# -- bad news --------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["dies", "comes back with an empty disk"])
async def test_slaves_forget_what_they_reported_when_it_may_be_lost(tmp_path: Path, how: str) -> None:
    web = Web(count=20, hosts=10)
    async with town_of(tmp_path, "1", "2", answer=web) as (town, houses):
        await eventually(lambda: settled(houses))
        heard: list[object] = []
        received = houses[0].slaves._received
        houses[0].slaves._link.on_message = lambda m: (heard.append(m), received(m))
        await eventually(lambda: bool(houses[0].master.sessions))

        if how == "dies":
            await houses[1].close()
        else:
            houses[1].boot, houses[1].store = b"anotherb", b"another disk...."
        town.look(houses[0].id)

        await eventually(lambda: any(isinstance(m, Forget) for m in heard))


async def test_links_that_became_ours_and_then_anothers_are_sent_on(tmp_path: Path) -> None:
    web = Web(count=40, hosts=20)
    async with town_of(tmp_path, "1", "2", answer=web) as (_town, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[0])
        await finished(houses)
        from p2pcrawl.master.links.dispatch import Hold, Parcel

        url = next(u for u in (f"http://s{n}.example/" for n in range(99)) if _owner(houses[0], u) == houses[1].id)
        web.links[url] = []
        done = asyncio.Event()
        bucket = houses[0].master.bucket_of_url(url, "host")
        houses[0].master.ground.mailbox.take_back(77, [Parcel(_found(url), bucket, Hold(1, done.set))])

        async with asyncio.timeout(5):
            await done.wait()
        assert url in {u for u, _ in await records(houses[1])}
        assert url not in {u for u, _ in await records(houses[0])}


@pytest.mark.parametrize("bitmap", [b"", b"\xff" * 511, b"\xff" * 513, b"\xff" * 100_000])
def test_bitmap_of_another_size_is_refused(bitmap: bytes) -> None:
    with pytest.raises(LinkError):
        buckets_of(bitmap)


def test_bitmap_says_what_was_put_into_it() -> None:
    for chosen in (frozenset(), frozenset(range(BUCKETS)), frozenset({0, 7, 8, 4095})):
        assert buckets_of(bitmap_of(chosen)) == chosen


@pytest.mark.parametrize(
    "change",
    [
        {"url": "http://[" },
        {"url": ""},
        {"url": "\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace")},
        {"url": "http://" + "a" * 100_000},
        {"fingerprint": b""},
        {"fingerprint": b"x" * 400},
        {"priority": (1 << 64) - 1},
        {"depth": -(1 << 63)},
        {"depth": (1 << 64) - 1},
        {"kind": "nonsense" * 1000},
        {"referer": "\x00"},
    ],
)  # fmt: skip
async def test_nonsense_among_links_of_another_master_does_not_end_this_one(tmp_path: Path, change: dict) -> None:
    web = Web(count=10, hosts=5)
    async with town_of(tmp_path, "1", "2", answer=web) as (town, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[0])
        await finished(houses)
        found = _found(
            next(u for u in (f"http://s{n}.example/" for n in range(99)) if _owner(houses[0], u) == houses[0].id)
        )

        try:
            async with asyncio.timeout(2):
                await town.carry(houses[1].id, houses[0].id, Discover(0, 77, [found._replace(**change)]))
        except (LinkError, TimeoutError):
            pass

        assert not houses[0].run.done()
        await books(houses)


@pytest.mark.parametrize("change", [{"phase": 99}, {"fingerprint": b"x"}, {"attempts": 1 << 63}, {"size": -(1 << 63)},
                                    {"url": "nonsense"}, {"status": 1 << 63}])  # fmt: skip
async def test_nonsense_among_rows_of_another_master_does_not_end_this_one(tmp_path: Path, change: dict) -> None:
    web = Web(count=10, hosts=5)
    async with town_of(tmp_path, "1", "2", answer=web) as (_town, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[0])
        await finished(houses)
        from p2pcrawl.wire.messages.peer_messages import Pulled
        from tests.unit.master.masters import over_the_wire

        row = _row("http://y.example/")
        facts = {name: value for name, value in change.items() if name in Link._fields}
        row = structs.replace(row, **change if not facts else {"link": row.link._replace(**facts)})
        try:
            rows = over_the_wire(Pulled(0, [row], 1, False)).rows
            async with asyncio.timeout(2):
                await houses[0].master.ground.mailbox.adopt(rows)
        except (LinkError, TimeoutError):
            pass

        assert not houses[0].run.done()


async def test_refused_job_is_cancelled_everywhere(tmp_path: Path) -> None:
    web = Web(count=10, hosts=5)
    async with town_of(tmp_path, "1", "2", "3", answer=web) as (_town, houses):
        await eventually(lambda: settled(houses))
        houses[2].refusal = "another module"
        from dataclasses import replace

        spec = replace(_spec(78))
        job = await houses[0].master.admission.add(spec)
        refusals = await houses[0].cluster.spread(job)
        assert refusals == ["another module"]
        houses[0].cluster.withdraw(job, refusals[0])

        await eventually(lambda: houses[1].master.jobs[78].state == "cancelled")
        assert houses[0].master.jobs[78].state == "cancelled"
        assert not web.visits


# -- small things ----------------------------------------------------------------------------------


def _owner(house: FakeMaster, url: str) -> str:
    return house.cluster.ownership.owner_id(house.master.bucket_of_url(url, "host"))


def _owner_in_both(houses: list[FakeMaster], url: str) -> int:
    """Which of the two owns it when they see each other."""
    from p2pcrawl.core.ring.rendezvous import Rendezvous

    bucket = houses[0].master.bucket_of_url(url, "host")
    owner = Rendezvous({h.id: 1 for h in houses}).owners(bucket, 1)[0]
    return [h.id for h in houses].index(owner)


def _found(url: str) -> Link:
    return Link(url, fingerprint(url), depth=1)


def _row(url: str, phase: Phase = Phase.QUEUED) -> Any:
    from p2pcrawl.wire.messages.peer_messages import Row

    return Row(77, _found(url), int(phase), 0, 0, 0, "", 0)


def _spec(number: int) -> Any:
    from dataclasses import replace

    from p2pcrawl.model.crawl.job import JobId
    from tests.unit.master.fake_slaves import spec_of

    return replace(spec_of(), id=JobId(number))


def _only(kind: type, *, times: int = 1 << 30, fails: bool = False) -> Any:
    left = times

    async def lose(town: FakeCluster, source: str, target: str, request: Any) -> None:
        nonlocal left
        if isinstance(request, kind) and left:
            left -= 1
            raise LinkError("lost on the way")

    return lose


async def submit_at_owner(houses: list[FakeMaster]) -> FakeMaster:
    """Begins the job; the submission itself may have to wait."""
    asyncio.get_running_loop().call_soon(lambda: None)
    task = asyncio.create_task(submit(houses[0]))
    houses[0].submission = task  # type: ignore[attr-defined]
    await eventually(lambda: 77 in houses[0].master.jobs)
    url = f"{START_URL}77"
    return next(h for h in houses if h.id == _owner(houses[0], url))


async def test_job_that_two_tell_of_at_once_is_noted_once(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", answer=Web()) as (_town, houses):
        job = await submit(houses[0], JobId(500))
        other = replace(job.spec, id=JobId(501))

        answers = await asyncio.gather(*(houses[1].master.admission.mirror(other, Control()) for _ in range(4)))

        assert answers == [""] * 4
        assert 501 in houses[1].master.jobs


async def test_job_that_is_begun_here_while_another_master_tells_of_it_is_noted_once(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", answer=Web()) as (_town, houses):
        job = await submit(houses[0], JobId(500))
        admission, other = houses[1].master.admission, replace(job.spec, id=JobId(501))

        begun, told, again = await asyncio.gather(
            admission.add(other), admission.mirror(other, Control()), admission.add(other)
        )

        assert told == ""
        assert begun is again is houses[1].master.jobs[501]


def _granted(house: FakeMaster) -> int:
    return sum(session.granted for session in house.master.sessions.values())


def _serves_nothing(house: FakeMaster) -> bool:
    return not any(house.cluster.ownership.serves(bucket) for bucket in range(BUCKETS))


async def test_what_a_job_that_was_closed_has_left_undone_keeps_nobody_busy_after_a_restart(tmp_path: Path) -> None:
    web, closers = Web(count=200, hosts=1), list[Callable[[], None]]()

    def answer(task: Task) -> Page | None:
        if web.visits.total() == 8:
            closers[0]()
        return web(task)

    async with town_of(tmp_path, "1", answer=answer) as (_town, [house]):
        closers.append(lambda: house.master.lifecycle.close(JobId(77), "enough"))
        await submit(house)
        job = house.master.jobs[JobId(77)]
        await eventually(lambda: job.state == FINISHED)
        job.closing = ""

        # What was in hand comes to its end.
        await eventually(lambda: house.cluster.own_standing.of(job.id).busy == 0)

        assert job.counts["queued"] > 0
        assert house.cluster.own_standing.of(job.id).closing == "enough"
