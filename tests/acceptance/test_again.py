"""A crawl in a data folder that has ended is begun anew where that is asked for; one that has not goes on."""

# ruff: noqa: RUF012 - spiders as people write them

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from p2pcrawl import Crawler, Spider
from p2pcrawl.model.errors import ConfigurationError
from tests.acceptance.test_spiders import SmallSite, links


class Titles(Spider):
    """Takes the title of each page."""

    name = "titles"
    custom_settings = {"DOWNLOAD_DELAY": 0, "CONCURRENT_REQUESTS": 1}

    def __init__(self, start: str) -> None:
        self.start_urls = [start]

    def parse(self, response):
        yield response.follow_all()
        yield {"title": response.title, "url": response.url}


@pytest.fixture
async def site() -> AsyncIterator[SmallSite]:
    small = SmallSite()
    small.pages = {"/": links("/a", "/b")} | dict.fromkeys(("/a", "/b"), "<title>old</title>")
    await small.start()
    yield small
    await small.stop()


def crawler(site: SmallSite, folder: Path, *, again: bool = True, replace: bool = False) -> Crawler:
    output, data = folder / "items.jsonl", folder / "run1"
    arguments = {"start": f"{site.url}/"}
    return Crawler(Titles, slaves=0, arguments=arguments, output=output, data=data, again=again, replace=replace)


def titles(folder: Path) -> list[str]:
    return sorted(json.loads(line)["title"] for line in (folder / "items.jsonl").read_text().splitlines())


@pytest.mark.parametrize(
    ("replace", "found"), [(False, ["links", "links"] + ["new"] * 2 + ["old"] * 2), (True, ["links"] + ["new"] * 2)]
)
async def test_crawl_that_has_ended_begins_anew(
    site: SmallSite, tmp_path: Path, replace: bool, found: list[str]
) -> None:
    await crawler(site, tmp_path).crawl()
    site.pages |= dict.fromkeys(("/a", "/b"), "<title>new</title>")

    anew = crawler(site, tmp_path, replace=replace)
    certificate = await anew.crawl()

    assert anew.began_anew and not anew.resumed
    assert (certificate["pages"], certificate["items"], certificate["conserved"]) == (3, 3, True)
    assert titles(tmp_path) == found


async def test_crawl_that_has_not_ended_goes_on(site: SmallSite, tmp_path: Path) -> None:
    async with crawler(site, tmp_path) as begun:
        async for _ in begun.items():
            begun.abort()
            break

    rest = crawler(site, tmp_path)
    await rest.crawl()

    assert rest.resumed and not rest.began_anew
    assert titles(tmp_path) == ["links", "old", "old"]


async def test_number_of_a_job_that_made_room_is_not_given_again(site: SmallSite, tmp_path: Path) -> None:
    numbers = []
    for _ in range(3):
        crawl = crawler(site, tmp_path)
        numbers.append((await crawl.crawl())["job"])

    assert numbers == [1, 2, 3]


async def test_nothing_is_left_of_what_made_room(site: SmallSite, tmp_path: Path) -> None:
    await crawler(site, tmp_path).crawl()
    async with crawler(site, tmp_path) as anew:
        await anew.wait()
        [certificate] = await anew.audit()

    assert certificate["verified"] and certificate["discovered"] == 4


async def test_items_that_wait_are_delivered_before_anything_begins_anew(site: SmallSite, tmp_path: Path) -> None:
    await crawler(site, tmp_path).crawl()
    output = tmp_path / "second.jsonl"
    arguments = {"start": f"{site.url}/"}
    async with Crawler(Titles, slaves=0, arguments=arguments, output=output, data=tmp_path / "run1") as late:
        # The new output is known, and has got nothing.
        late.abort()
    output.unlink()

    rest = Crawler(Titles, slaves=0, arguments=arguments, output=output, data=tmp_path / "run1", again=True)
    await rest.crawl()

    assert not rest.began_anew
    assert len(output.read_text().splitlines()) == 3


async def test_again_without_a_folder_says_what_to_do() -> None:
    with pytest.raises(ConfigurationError, match="leave --again out, or give --data"):
        await Crawler(Titles, slaves=0, arguments={"start": "http://127.0.0.1/"}, again=True).crawl()
