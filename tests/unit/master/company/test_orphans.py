"""What slaves bring from masters that have died."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from p2pcrawl.core.bench.candidate import host_key
from p2pcrawl.core.ring.rendezvous import bucket_of_hash
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.wire.messages.slave_messages import OrphanPage, Orphans, Outcome, Page, Task
from tests.unit.master.copies.test_copies import assert_nothing_lost, synced
from tests.unit.master.fake_slaves import links_to
from tests.unit.master.masters import FakeMaster, eventually, finished, settled, submit, town_of
from tests.unit.master.test_cluster import Web

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.usefixtures("impatient"),
]


def orphan(web: Web, url: str) -> OrphanPage:
    """A page that was fetched for a master that died before it was reported."""
    task = Task(1, 99, 77, Link(url, fingerprint(url), depth=1), 1)
    item = b'{"url":"%s"}' % url.encode()
    page = Page(1, 99, 77, [links_to(web.links[url], 1)], [item], Outcome(Phase.DONE, status=200, answered=True))
    return OrphanPage(task, page)


async def take(house: FakeMaster, *pages: OrphanPage) -> None:
    (session, *_) = house.master.sessions.values()
    await house.cluster.adoption.take(session.pid, Orphans(1, list(pages)))


async def test_page_that_a_slave_brings_is_not_fetched_again(tmp_path: Path) -> None:
    web = Web()
    brought = sorted(web.reachable)[:10]
    async with town_of(tmp_path, "1", "2", "3", answer=web) as (_town, houses):
        await eventually(lambda: synced(houses) and all(h.master.sessions for h in houses))
        for house in houses:
            for url in brought:
                # Nobody is to be quicker.
                house.master.workbench.known.pause(host_key(url), house.master.now + 1.0)
        await submit(houses[0], robotstxt_obey=False)

        await take(houses[1], *(orphan(web, url) for url in brought))
        await finished(houses)

        assert not set(brought) & set(web.visits)
        web.visits.update(brought)
        await assert_nothing_lost(web, houses, refetched=0)


async def test_page_that_was_fetched_again_meanwhile_counts_once(tmp_path: Path) -> None:
    web = Web()
    async with town_of(tmp_path, "1", "2", answer=web) as (_town, houses):
        await eventually(lambda: settled(houses))
        await submit(houses[0])
        await finished(houses)

        await take(houses[0], *(orphan(web, url) for url in sorted(web.reachable)))

        await assert_nothing_lost(web, houses, refetched=0)
        assert Counter(h.master.jobs[77].state for h in houses) == {"finished": 2}


async def test_pages_of_a_job_that_nobody_knows_are_left_out(tmp_path: Path) -> None:
    web = Web()
    async with town_of(tmp_path, "1", answer=web) as (_town, houses):
        await eventually(lambda: bool(houses[0].master.sessions))

        await take(houses[0], orphan(web, sorted(web.reachable)[0]))

        assert not houses[0].master.jobs


def owner_of(houses: Sequence[FakeMaster], url: str) -> FakeMaster:
    [owner] = [h for h in houses if h.cluster.ownership.owner(bucket_of_hash(host_key(url))) is None]
    return owner


@pytest.mark.parametrize("key", ["host", "url"])
async def test_pause_that_only_a_slave_knew_of_comes_to_the_owner_of_its_host(tmp_path: Path, key: str) -> None:
    web = Web()
    async with town_of(tmp_path, "1", "2", "3", answer=web) as (_town, houses):
        await eventually(lambda: synced(houses) and all(h.master.sessions for h in houses))
        await submit(houses[0], shard_key=key)
        await finished(houses)
        for url in sorted(web.reachable)[:6]:
            brought = orphan(web, url)
            brought.page.outcome = Outcome(Phase.FAILED, "http-5xx", status=503, answered=True, host_pause_s=60.0)
            assert brought.task.job == 77
            owner = owner_of(houses, url)

            await take(next(h for h in houses if h is not owner), brought)

            note = owner.master.workbench.note(host_key(url), owner.master.now)
            assert note is not None and 50.0 < note.pause_s <= 60.0


async def test_host_that_said_slow_down_to_an_orphan_is_slowed_down(tmp_path: Path) -> None:
    web = Web()
    async with town_of(tmp_path, "1", "2", answer=web) as (_town, houses):
        await eventually(lambda: settled(houses) and all(h.master.sessions for h in houses))
        await submit(houses[0])
        await finished(houses)
        brought = orphan(web, url := sorted(web.reachable)[0])
        brought.page.outcome = Outcome(Phase.QUEUED, "http-429", status=429, answered=True, slow_down=True)

        await asyncio.gather(*(take(house, brought) for house in houses))

        owner = owner_of(houses, url)
        note = owner.master.workbench.note(host_key(url), owner.master.now)
        assert note is not None and note.penalty_s > 0.0


async def test_page_that_closed_its_job_closes_it_where_it_is_brought(tmp_path: Path) -> None:
    web = Web()
    async with town_of(tmp_path, "1", "2", answer=web) as (_town, houses):
        await eventually(lambda: settled(houses) and all(h.master.sessions for h in houses))
        for house in houses:
            for url in web.reachable:
                # The job is not to be over before.
                house.master.workbench.known.pause(host_key(url), house.master.now + 60.0)
        await submit(houses[0], robotstxt_obey=False)
        brought = orphan(web, sorted(web.reachable)[0])
        brought.page.outcome = Outcome(Phase.DONE, status=200, answered=True, close="enough")

        await take(houses[1], brought)
        await finished(houses)

        assert {h.master.jobs[77].reason for h in houses} == {"enough"}
