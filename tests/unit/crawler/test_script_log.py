"""The log of a crawl that a script has begun, where no log is set up."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from p2pcrawl import Crawler, Spider
from p2pcrawl.crawler.told_end import end_line, fruitless_words

ALONE = {"ROBOTSTXT_OBEY": False, "RETRY_ENABLED": False}


@pytest.fixture
def no_log(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Takes away the log that tests have when it is called, as in a script that sets up none."""
    return lambda: monkeypatch.setattr(logging.getLogger(), "handlers", [])


class Nowhere(Spider):
    name = "nowhere"
    start_urls = ("http://127.0.0.1:9/",)

    def parse(self, response: Any) -> None:
        """Is never called."""


def test_script_whose_pages_cannot_be_had_says_so_and_why(
    no_log: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    no_log()

    certificate = Crawler(Nowhere, slaves=0, settings=ALONE).run()

    told = capsys.readouterr().err
    assert "WARNING: http://127.0.0.1:9/ failed: connect" in told
    assert "nowhere finished: 0 pages, 0 items; failed: connect 1" in told
    assert "ERROR: nowhere: no page could be had" in told
    assert certificate["exit_code"] == 1
    assert not logging.getLogger().handlers


def test_script_has_its_lines_in_its_own_form(no_log: Callable[[], None], capsys: pytest.CaptureFixture[str]) -> None:
    no_log()

    Crawler(Nowhere, slaves=0, settings={**ALONE, "LOG_FORMAT": "%(levelname)s|%(message)s"}).run()

    assert "ERROR|nowhere: no page could be had" in capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("quiet", [{"LOG_ENABLED": False}, {"LOG_LEVEL": "CRITICAL"}])
def test_script_is_silent_where_that_is_asked_for(
    quiet: dict[str, Any], no_log: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    no_log()

    Crawler(Nowhere, slaves=0, settings={**ALONE, **quiet}).run()

    assert capsys.readouterr().err == ""


def test_crawl_whose_spider_failed_is_not_said_to_have_had_no_page() -> None:
    raised = {"discovered": 2, "pages": 0, "failed": 1, "failed_by_reason": {"callback": 1}}

    assert fruitless_words([raised]) == "the spider failed at each page"
    assert fruitless_words([{**raised, "failed_by_reason": {"dns": 1}}]) == "no page could be had"


def test_one_page_is_no_pages() -> None:
    nothing: dict[str, Any] = {"failed_by_reason": {}, "dropped_by_reason": {}, "filtered_links": {}}
    ended = {"name": "a", "state": "finished", "reason": "", "pages": 1, "items": 2000, **nothing}

    assert end_line(ended) == "a finished: 1 page, 2,000 items"
