"""Failed pages that are tried again on a slower period: durably, as often as is said, and the job ends."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from p2pcrawl.core.bench.candidate import host_key
from p2pcrawl.frontier.records.retried import FailedAgain
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.jobs.job import FINISHED
from p2pcrawl.master.taken_up import take_up_failed
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.outcome import Failure
from p2pcrawl.model.reason_choice import reasons_named
from p2pcrawl.wire.messages.slave_messages import Outcome, Page, Task
from tests.unit.frontier.batches import ORDERS, assert_counters_equal_census, batch_of, end, grant, link, load
from tests.unit.master.fake_slaves import Site, Slaves, crawl, master_of, page_of, spec_of, until

GONE, BROKEN, WELL = (f"http://{name}.example/" for name in ("gone", "broken", "well"))
ENDS = {GONE: Outcome(Phase.FAILED, Failure.NO_NAME), BROKEN: Outcome(Phase.FAILED, Failure.CALLBACK, answered=True)}


class FailingSite:
    """Fails pages in their first visits, as many as is said."""

    def __init__(self, visits_in_vain: int) -> None:
        self._site = Site([GONE, BROKEN, WELL])
        self._in_vain = visits_in_vain
        self.visits: Counter[str] = Counter()

    def __call__(self, task: Task) -> Page:
        url = task.link.url
        self.visits[url] += 1
        if url in ENDS and self.visits[url] <= self._in_vain:
            return page_of(task, outcome=ENDS[url])
        return self._site(task)


async def test_page_whose_host_has_no_name_is_tried_again_and_done_when_it_has_one(tmp_path: Path) -> None:
    site = FailingSite(visits_in_vain=2)

    job, census = await crawl(tmp_path, Slaves(site), retry_failed_after=1)

    assert (site.visits[GONE], site.visits[BROKEN], site.visits[WELL]) == (3, 1, 1)
    assert (job.state, census["failed"], job.counts["again"]) == (FINISHED, 1, 0)


async def test_job_ends_when_failed_pages_have_had_their_times(tmp_path: Path) -> None:
    site = FailingSite(visits_in_vain=99)

    job, census = await crawl(
        tmp_path, Slaves(site), retry_failed_after=1, retry_failed_times=1, retry_failed_reasons=()
    )

    assert (site.visits[GONE], site.visits[BROKEN], site.visits[WELL]) == (2, 2, 1)
    assert (job.state, census["failed"], job.counts["failed:no-such-name"]) == (FINISHED, 2, 1)


async def test_without_the_setting_nothing_is_tried_again(tmp_path: Path) -> None:
    site = FailingSite(visits_in_vain=99)

    job, _ = await crawl(tmp_path, Slaves(site))

    assert (site.visits[GONE], job.state) == (1, FINISHED)


async def test_page_that_waits_is_tried_again_after_a_restart(tmp_path: Path) -> None:
    site = FailingSite(visits_in_vain=1)
    async with master_of(tmp_path, Slaves(site)) as master:
        job = await master.submit(spec_of(retry_failed_after=2))
        running = asyncio.create_task(master.run())
        await until(lambda: job.counts["again"] == 1 and not job.counts["queued"])
        before = job.state
        running.cancel()

    resumed, census = await crawl(tmp_path, Slaves(site), retry_failed_after=2)

    assert before != FINISHED
    assert (resumed.state, census["failed"], site.visits[GONE], site.visits[WELL]) == (FINISHED, 1, 2, 1)


def ended_store(folder: Path) -> Store:
    """Makes a store with pages that failed for three reasons, and one that was dropped."""
    store = Store(folder)
    store.add_job(1, "test", b"spec", link("http://start.example/"), batch_of())
    reasons = {"a": "no-such-name", "b": "http-5xx", "c": "robots-unknown-host", "d": "robots"}
    candidates = store.commit(batch_of([link(f"http://{name}.example/") for name in reasons])).fresh
    for candidate in candidates:
        batch = batch_of()
        grant(batch, candidate)
        store.commit(batch)
        batch, reason = batch_of(), reasons[candidate.link.url[7]]
        phase = Phase.DROPPED if reason == "robots" else Phase.FAILED
        end(batch, candidate, phase, reason=reason)
        batch.tallies[1][f"{phase.name.lower()}:{reason}"] += 1
        store.commit(batch)
    return store


@pytest.mark.parametrize(
    ("reason", "queued"),
    [("", "abc"), ("unknown-host", "ac"), ("robots", "d"), ("http-503", ""), ("http-5xx", "b")],
)
def test_only_pages_of_the_reason_are_taken_up_again(tmp_path: Path, reason: str, queued: str) -> None:
    with closing(ended_store(tmp_path / "data")) as store:
        changes, _ = store.retry(1, ORDERS, reasons_named(reason))

        taken = [name for name in "abcd" if load(store, f"http://{name}.example/")]
        assert ("".join(taken), changes["queued"]) == (queued, len(queued))
        assert_counters_equal_census(store)


def test_page_of_a_host_that_stays_down_is_put_aside_for_good_in_the_end(tmp_path: Path) -> None:
    with closing(ended_store(tmp_path / "data")) as store:
        url = "http://down.example/"
        store.commit(batch_of([link(url)]))
        failed = FailedAgain(due=1_000, times=1)

        first, _ = store.abandon(1, host_key(url), 10, None, failed)
        (due,) = store.due_visits(1, 1_000, 10)
        store.begin_visits(1, [due.record], [], ORDERS)
        second, _ = store.abandon(1, host_key(url), 10, None, failed)

        assert (first["failed"], first["again"]) == (1, 1)
        assert (second["failed"], second["again"]) == (1, 0)
        assert store.due_visits(1, 2_000, 10) == []


async def test_failed_pages_of_a_folder_are_taken_up_and_its_crawl_goes_on(tmp_path: Path) -> None:
    site = FailingSite(visits_in_vain=1)
    await crawl(tmp_path, Slaves(site))

    none = take_up_failed(tmp_path, reasons_named("http-404"))
    retried = take_up_failed(tmp_path, reasons_named("unknown-host"))
    job, census = await crawl(tmp_path, Slaves(site))

    assert (none, retried) == (0, 1)
    assert (job.state, census["failed"], site.visits[GONE], site.visits[BROKEN]) == (FINISHED, 1, 2, 1)
    with pytest.raises(ConfigurationError, match="not a p2pcrawl data folder"):
        take_up_failed(tmp_path / "nowhere", reasons_named(""))


def test_wrong_reason_in_the_setting_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="is not a reason"):
        Settings().updated({"retry_failed_reasons": "nonsense"})
