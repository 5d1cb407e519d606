"""Queues that are cleared while a job runs, and begun anew, over all masters."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2pcrawl.model.errors import ConfigurationError, NotNow
from tests.unit.peer.test_control import ended, until
from tests.unit.peer.test_peer import PAGES, lead_of, peer, site_of, spider

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.usefixtures("impatient", "own_folders"),
]


async def test_what_is_queued_is_dropped_at_all_masters_and_queued_again_where_it_is_found_again(
    tmp_path: Path,
) -> None:
    async with site_of() as site, peer() as one, peer(one.address) as two:
        await until(lambda: len(lead_of(one).node.members()) == len(lead_of(two).node.members()) == 2)
        site.gate.clear()
        job = await one.submit(spider(tmp_path, site))
        await until(lambda: bool(site.waiting))
        await job.pause()
        await job.inject([site.url(number) for number in range(1, PAGES)])
        cleared = await two.tell("clear", {"job": job.id, "queue": "index"})
        left = await one.ask("job", {"job": job.id})
        site.gate.set()
        await job.resume()
        end = await ended(job)

        assert cleared["cleared"] == PAGES - 1 and cleared["missing"] == []
        assert left["queued"] == 0 and left["conserved"]
        assert left["dropped_by_reason"] == {"cleared": PAGES - 1}
        assert (end["pages"], end["dropped"], end["conserved"]) == (PAGES, 0, True)
        assert max(site.visits.values()) == 1


async def test_entries_of_a_job_are_visited_again_and_their_items_take_the_place_of_those_before(
    tmp_path: Path,
) -> None:
    async with site_of() as site, peer() as one, peer(one.address) as two:
        await until(lambda: len(lead_of(one).node.members()) == len(lead_of(two).node.members()) == 2)
        job = await one.submit(spider(tmp_path, site))
        await ended(job)
        again = await two.tell("clear", {"job": job.id, "queue": "all", "restart": True})
        end = await ended(job)
        items = [item["url"] async for item in job.items()]

        assert (again["was"], again["state"], again["cleared"]) == ("finished", "running", 0)
        # The spider's start, and its URL.
        assert again["restarted"] == 2
        assert (end["pages"], end["conserved"]) == (PAGES, True)
        assert sorted(items) == sorted(site.url(n) for n in range(PAGES))
        assert [url for url, visits in site.visits.items() if visits > 1] == [site.url(0)]


async def test_why_tells_of_a_page_that_was_cleared(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        site.gate.clear()
        job = await one.submit(spider(tmp_path, site))
        await until(lambda: bool(site.waiting))
        url = f"{site.url(7)}?late"
        await job.pause()
        await job.inject([url])
        await one.tell("clear", {"job": job.id, "queue": "index"})
        told = await one.ask("why", {"url": url})
        site.gate.set()

    (found,) = told["records"]
    assert (found["phase"], found["reason"]) == ("dropped", "cleared")


async def test_other_queue_stays_as_it_is(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        site.gate.clear()
        job = await one.submit(spider(tmp_path, site))
        await until(lambda: bool(site.waiting))
        await job.inject([site.url(7)])
        cleared = await one.tell("clear", {"job": job.id, "queue": "detail"})
        site.gate.set()
        end = await ended(job)

    assert cleared["cleared"] == 0 and end["pages"] == PAGES


async def test_queue_that_there_is_not_and_job_that_is_over_for_good_are_refused(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        job = await one.submit(spider(tmp_path, site))
        with pytest.raises(ConfigurationError, match="no queue 'both': it is index, detail, all"):
            await one.tell("clear", {"job": job.id, "queue": "both"})
        await job.cancel()
        with pytest.raises(NotNow, match="it is cancelled, which is final"):
            await one.tell("clear", {"job": job.id, "queue": "all"})
