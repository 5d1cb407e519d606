"""What comes from a slave's cache costs its host nothing: no wait, and no fetch."""

from __future__ import annotations

from pathlib import Path

from p2pcrawl.model.crawl.job import START_URL
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.wire.messages.slave_messages import Outcome, Page, RobotsResult, RobotsTask, Task
from tests.unit.master.fake_slaves import Slaves, crawl, page_of

PAGES = [f"http://a.example/{n}" for n in range(20)]
HOURS_S = 1e5


async def test_pages_from_a_cache_wait_for_no_delay_and_are_no_fetches(tmp_path: Path) -> None:
    def answer(task: Task) -> Page:
        if task.link.url.startswith(START_URL):
            return page_of(task, PAGES)
        return page_of(task, outcome=Outcome(Phase.DONE, status=200, unasked=True))

    def robots(task: RobotsTask) -> RobotsResult:
        return RobotsResult(task.lease, task.origin, "rules", "User-agent: *\nAllow: /\n", "", unasked=True)

    job, census = await crawl(tmp_path, Slaves(answer, robots), robotstxt_obey=True, download_delay=HOURS_S)

    assert census["done"] == len(PAGES) + 1
    assert (job.counts["pages"], job.counts["fetches"]) == (len(PAGES), 0)
