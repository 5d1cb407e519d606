"""Several spiders in one crawl: they run side by side, into one output or several, and go on together."""

# ruff: noqa: RUF012 - spiders as people write them

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from p2pcrawl import Crawler, Spider
from p2pcrawl.model.errors import ConfigurationError
from tests.acceptance.test_spiders import SmallSite, links

PAGES = 6


class Numbers(Spider):
    """Follows the links of one corner of the site."""

    custom_settings = {"DOWNLOAD_DELAY": 0}
    corner = ""

    def __init__(self, site: str, **kwargs: str) -> None:
        super().__init__(**kwargs)
        self.start_urls = [f"{site}/{self.corner}/"]

    def parse(self, response):
        yield response.follow_all()
        yield {"of": self.name, "url": response.url}


class Even(Numbers):
    name = "even"
    corner = "even"


class Odd(Numbers):
    name = "odd"
    corner = "odd"


@pytest.fixture
async def site() -> AsyncIterator[SmallSite]:
    small = SmallSite()
    for corner in ("even", "odd"):
        pages = [f"/{corner}/{n}" for n in range(PAGES)]
        small.pages |= {f"/{corner}/": links(*pages)} | dict.fromkeys(pages, "<title>a page</title>")
    await small.start()
    yield small
    await small.stop()


def crawler(site: SmallSite, *spiders: type[Spider], **options: object) -> Crawler:
    return Crawler(list(spiders), slaves=0, arguments={"site": site.url}, **options)


def items_in(path: Path) -> Counter[str]:
    text = path.read_text()
    items = json.loads(text) if path.suffix == ".json" else [json.loads(line) for line in text.splitlines()]
    assert len({item["url"] for item in items}) == len(items)
    return Counter(item["of"] for item in items)


async def test_two_spiders_crawl_side_by_side(site: SmallSite) -> None:
    certificate = await crawler(site, Even, Odd).crawl()

    assert [(job["name"], job["state"], job["items"]) for job in certificate["jobs"]] == [
        ("even", "finished", PAGES + 1),
        ("odd", "finished", PAGES + 1),
    ]


@pytest.mark.parametrize("name", ["items.jsonl", "items.json"])
async def test_items_of_both_go_into_one_file(site: SmallSite, tmp_path: Path, name: str) -> None:
    await crawler(site, Even, Odd, output=tmp_path / name).crawl()

    assert items_in(tmp_path / name) == {"even": PAGES + 1, "odd": PAGES + 1}


async def test_one_csv_of_two_spiders_has_one_header(site: SmallSite, tmp_path: Path) -> None:
    await crawler(site, Even, Odd, output=tmp_path / "items.csv").crawl()

    rows = list(csv.DictReader((tmp_path / "items.csv").read_text().splitlines()))
    assert Counter(row["of"] for row in rows) == {"even": PAGES + 1, "odd": PAGES + 1}


async def test_feeds_of_the_caller_take_the_items_of_both(site: SmallSite, tmp_path: Path) -> None:
    feeds = {str(tmp_path / "all.jsonl"): {}, str(tmp_path / "%(name)s.jsonl"): {}}

    await crawler(site, Even, Odd, settings={"FEEDS": feeds}).crawl()

    assert items_in(tmp_path / "all.jsonl") == {"even": PAGES + 1, "odd": PAGES + 1}
    assert items_in(tmp_path / "even.jsonl") == {"even": PAGES + 1}
    assert items_in(tmp_path / "odd.jsonl") == {"odd": PAGES + 1}


async def test_own_feeds_of_a_spider_take_its_items_only(site: SmallSite, tmp_path: Path) -> None:
    class Fed(Even):
        custom_settings = {**Numbers.custom_settings, "FEEDS": {str(tmp_path / "even.jsonl"): {}}}

    await crawler(site, Fed, Odd).crawl()

    assert items_in(tmp_path / "even.jsonl") == {"even": PAGES + 1}


async def test_two_spiders_go_on_where_they_were_with_each_item_once(site: SmallSite, tmp_path: Path) -> None:
    options = {"output": tmp_path / "items.jsonl", "data": tmp_path / "run1", "settings": {"CONCURRENT_REQUESTS": 2}}
    for _ in range(4):
        async with crawler(site, Even, Odd, **options) as begun:
            async for _ in begun.items():
                begun.abort()
                break

    again = crawler(site, Even, Odd, **options)
    await again.crawl()

    assert again.resumed
    assert items_in(tmp_path / "items.jsonl") == {"even": PAGES + 1, "odd": PAGES + 1}


async def test_items_of_both_are_told_as_they_come(site: SmallSite) -> None:
    async with crawler(site, Even, Odd) as running:
        seen = [item["of"] async for item in running.items()]

    assert Counter(seen) == {"even": PAGES + 1, "odd": PAGES + 1}


async def test_folder_with_another_spider_says_which_to_name(site: SmallSite, tmp_path: Path) -> None:
    await crawler(site, Even, Odd, data=tmp_path / "run1").crawl()

    with pytest.raises(ConfigurationError, match=r"has another spider .*Odd.*: name it, too"):
        await crawler(site, Even, data=tmp_path / "run1").crawl()


async def test_spider_that_is_given_twice_is_refused(site: SmallSite) -> None:
    with pytest.raises(ConfigurationError, match="spider even is given twice"):
        await crawler(site, Even, Odd, Even).crawl()


async def test_output_that_two_want_written_differently_is_refused_by_name(site: SmallSite, tmp_path: Path) -> None:
    class Indented(Odd):
        custom_settings = {**Numbers.custom_settings, "FEED_EXPORT_INDENT": 4}

    with pytest.raises(ConfigurationError, match=r"even and odd want .*items.json written in different ways"):
        await crawler(site, Even, Indented, output=tmp_path / "items.json").crawl()


async def test_place_that_each_of_two_would_replace_is_refused(site: SmallSite, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="each of even and odd would replace what is in"):
        await crawler(site, Even, Odd, output=f"file://{tmp_path}/items.jsonl", replace=True).crawl()


async def test_folder_of_parts_takes_the_items_of_both(site: SmallSite, tmp_path: Path) -> None:
    await crawler(site, Even, Odd, output=f"file://{tmp_path}/parts/items.jsonl").crawl()

    found = Counter(
        json.loads(line)["of"]
        for part in (tmp_path / "parts").rglob("*.jsonl")
        if part.is_file()
        for line in part.read_text().splitlines()
    )
    assert found == {"even": PAGES + 1, "odd": PAGES + 1}
