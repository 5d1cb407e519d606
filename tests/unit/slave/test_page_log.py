"""The lines of the log about pages."""

from __future__ import annotations

import logging

import pytest

from p2pcrawl.fetch.components.chain import Redirected
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure, Filter
from p2pcrawl.slave.hooks.page_log import TOLD_MAX, PageLog
from p2pcrawl.spiders.page.bombs import TAGS_MAX
from p2pcrawl.wire.messages.slave_messages import Outcome
from tests.unit.slave.tasks import FakeLink, task_of
from tests.unit.slave.test_harvest import batch_of, harvest_of
from tests.unit.slave.test_run import Outbox, Plain, answer_of, open_fence, opened, pages_of


async def test_each_answer_is_a_line_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    await pages_of(Plain, answer_of())

    assert "Crawled (200) <GET http://a.example/> (referer: None)" in caplog.messages


def test_start_url_of_megabytes_is_no_line_of_megabytes(caplog: pytest.LogCaptureFixture) -> None:
    long = "http://a.example/" + "a" * 5_000_000

    PageLog("plain").ended(long, Outcome(Phase.FAILED, "http-4xx"), 1)

    assert "http://a.example/aaa" in caplog.text
    assert len(caplog.text) < 3_000


def test_failure_with_a_traceback_is_told_by_what_was_raised(caplog: pytest.LogCaptureFixture) -> None:
    detail = 'Traceback (most recent call last):\n  File "a.py", line 1, in b\np.TooSlow: more than 1 s\n'

    PageLog("plain").ended("http://a.example/", Outcome(Phase.FAILED, Failure.TOO_SLOW, detail), 1)

    assert caplog.messages == ["http://a.example/ failed: too-slow (p.TooSlow: more than 1 s)"]


async def test_redirects_are_told_with_both_ends(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    await pages_of(Plain, Redirected(Request("http://a.example/new"), 301))

    assert "Redirecting (301) from http://a.example/ to http://a.example/new" in caplog.messages


async def test_first_failures_of_a_reason_are_warnings_and_the_rest_is_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gone = FetchError(Failure.CONNECT, "refused")
    urls = [f"http://a.example/{n}" for n in range(TOLD_MAX + 2)]

    async with opened(Plain, gone, retry_enabled=False) as run:
        for number, url in enumerate(urls):
            await run.work(task_of(url, lease=number), Outbox(FakeLink()), open_fence())

    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert told[:TOLD_MAX] == [f"{url} failed: connect (refused)" for url in urls[:TOLD_MAX]]
    assert told[TOLD_MAX:] == ["plain: connect, 2 more pages failed"]


@pytest.mark.slow
async def test_page_of_which_parsers_get_only_the_beginning_is_told_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    whole, cut = b"<a href=/x>x</a>", b"<a href=/x>x</a>" * (TAGS_MAX // 2 + 1_000)
    count = TOLD_MAX + 2

    (told_whole,) = await pages_of(Plain, answer_of(body=whole))
    async with opened(Plain, answer_of(body=cut)) as run:
        for number in range(count):
            await run.work(task_of(lease=number), Outbox(FakeLink()), open_fence())
        counted = run.handle.stats.get_value("pages_cut")

    assert told_whole.outcome is not None and "pages_cut" not in told_whole.outcome.stats
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert counted == count
    assert all("has too many elements" in line for line in told[:TOLD_MAX])
    assert told[TOLD_MAX:] == ["plain: 2 more pages were not parsed to their end"]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"depth_limit": 1}, Filter.DEPTH), ({"urllength_limit": 10}, Filter.URL_LENGTH)],
)
def test_links_that_are_left_out_are_told_with_their_reason(
    settings: dict[str, int], reason: Filter, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    harvest_of(**settings).add_links(batch_of("http://a.example/far"))

    assert caplog.messages == [f"Filtered http://a.example/far: {reason}"]
