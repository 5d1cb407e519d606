"""Crawls on a loop that runs already, as in a notebook."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from p2pcrawl import Crawler, Spider
from p2pcrawl.model.errors import ConfigurationError


def spider_of_a_cell() -> type[Spider]:
    class Cell(Spider):
        name = "<cell>"

        async def start(self) -> Any:
            for number in range(2):
                yield {"n": number}

        def parse(self, response: Any) -> None:
            """Is never called."""

    return Cell


async def test_run_says_what_to_write_where_a_loop_runs() -> None:
    with pytest.raises(ConfigurationError, match=r"await crawler\.crawl\(\)"):
        Crawler(spider_of_a_cell()).run()


async def test_items_of_a_class_that_cannot_travel_come_as_a_frame(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=tuple))
    caplog.set_level("INFO")

    frame = await Crawler(spider_of_a_cell()).to_frame()

    assert frame == ({"n": 0}, {"n": 1})
    assert "all runs in this one (slaves=0)" in caplog.text


async def test_frame_without_pandas_is_refused_before_anything_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(ConfigurationError, match="pip install pandas"):
        await Crawler(spider_of_a_cell()).to_frame()


async def test_crawl_is_shown_as_a_table() -> None:
    crawler = Crawler(spider_of_a_cell())
    before = crawler._repr_html_()

    await crawler.crawl()

    assert "a crawl of &lt;cell&gt;, not begun" in before
    assert "<td>&lt;cell&gt;</td><td>finished</td><td>0</td><td>2</td>" in crawler._repr_html_()
