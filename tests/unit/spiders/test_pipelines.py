"""Pipelines: order, DropItem, opening and closing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError, DropItem
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.hooks.making import make_spider
from p2pcrawl.spiders.loading.pipelines import Pipelines
from p2pcrawl.spiders.loading.trial import try_spider
from p2pcrawl.spiders.spider import Spider

CALLS: list[str] = []


def handle_of(name: str = "plain") -> CrawlHandle:
    handle = CrawlHandle(Settings(), Spider)
    make_spider(Spider, handle, {"name": name})
    return handle


class Plain:
    def open_spider(self, spider: Spider) -> None:
        CALLS.append(f"open plain {spider.name}")

    def process_item(self, item: Any, spider: Spider) -> Any:
        return {**item, "plain": spider.name}

    def close_spider(self, spider: Spider) -> None:
        CALLS.append("close plain")


class Modern:
    async def open_spider(self) -> None:
        CALLS.append("open modern")

    async def process_item(self, item: Any) -> Any:
        if item.get("drop"):
            raise DropItem("unwanted")
        return {**item, "modern": "plain" in item}

    async def close_spider(self) -> None:
        CALLS.append("close modern")
        raise OSError("full")


class Forgetful:
    def process_item(self, item: Any, spider: Spider) -> Any: ...


class Unable:
    def open_spider(self, spider: Spider) -> None:
        raise OSError("no database")


@pytest.fixture(autouse=True)
def no_calls() -> None:
    CALLS.clear()


async def test_lower_number_comes_first_and_both_styles_work() -> None:
    pipelines = Pipelines.load({f"{__name__}.Modern": 800, Plain: 100}, handle_of(name="s"))  # type: ignore[dict-item]

    assert await pipelines.process({}) == {"plain": "s", "modern": True}


async def test_dropped_item_says_so() -> None:
    with pytest.raises(DropItem, match="unwanted"):
        await Pipelines.load({Modern: 1}, handle_of()).process({"drop": True})


async def test_forgotten_return_is_pointed_out() -> None:
    with pytest.raises(DropItem, match="returned None"):
        await Pipelines.load({Forgetful: 1}, handle_of()).process({})


async def test_all_are_closed_last_first_although_one_fails() -> None:
    pipelines = Pipelines.load({Plain: 1, Modern: 2}, handle_of(name="s"))
    await pipelines.open()

    with pytest.raises(OSError, match="full"):
        await pipelines.close()
    await pipelines.close()

    assert CALLS == ["open plain s", "open modern", "close modern", "close plain"]


async def test_those_that_were_opened_are_closed_when_one_cannot_open() -> None:
    pipelines = Pipelines.load({Plain: 1, Unable: 2}, handle_of(name="s"))

    with pytest.raises(OSError, match="no database"):
        await pipelines.open()

    assert CALLS == ["open plain s", "close plain"]


async def test_pipeline_is_found_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "pipes.py"
    file.write_text("class P:\n    def process_item(self, item):\n        return {'p': 1}\n")

    assert await Pipelines.load({f"{file}:P": 1}, handle_of()).process({}) == {"p": 1}


@pytest.mark.parametrize("path", ["nowhere.Missing", "p2pcrawl.spiders.Missing", "noname", "missing.py:P"])
def test_pipeline_that_is_not_there_is_one_clear_line(path: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Pipelines.load({path: 1}, handle_of())
    assert "\n" not in str(caught.value)


async def test_pipeline_whose_order_is_none_takes_no_part() -> None:
    settings = Settings().updated({"ITEM_PIPELINES": {"nowhere.Missing": None, f"{__name__}.Plain": 1}})

    pipelines = Pipelines.load(settings.item_pipelines, handle_of(name="s"))

    assert await pipelines.process({}) == {"plain": "s"}
    try_spider(Started, {}, settings)


def test_pipeline_that_is_not_there_is_refused_by_name() -> None:
    settings = Settings().updated({"ITEM_PIPELINES": {f"{__name__}.Missing": 1}})

    with pytest.raises(ConfigurationError, match=f"there is no Missing in {__name__}"):
        try_spider(Started, {}, settings)


class Started(Spider):
    name = "started"
    start_urls = ("https://example.com/",)
