"""Several boards in one job on one machine: each its own, also when the crawl goes on with more of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from p2pcrawl import Crawler
from p2pcrawl.crawler import TogetherBoards
from p2pcrawl.model.errors import ConfigurationError
from tests.acceptance.test_spiders import SmallSite, links

PAGES = 4
QUICK = {"DOWNLOAD_DELAY": 0}


@pytest.fixture
async def site() -> AsyncIterator[SmallSite]:
    small = SmallSite()
    for name in ("press", "wine", "sports"):
        pages = [f"/{name}/{n}" for n in range(PAGES)]
        small.pages |= {f"/{name}/": links(*pages)} | dict.fromkeys(pages, "<h1>a page</h1>")
    await small.start()
    yield small
    await small.stop()


def board(site: SmallSite, folder: Path, name: str, more: str = "", *, entry: str = "") -> str:
    path = folder / f"{name}.toml"
    path.write_text(
        f"entries = ['{site.url}{entry or f'/{name}/'}']\n[articles]\nallow = ['/{name}/\\d']\n"
        f"[follow]\nallow = ['/{name}/$']\n[fields]\ntitle = 'h1::text'\n{more}"
    )
    return str(path)


def crawler(folder: Path, *boards: str) -> Crawler:
    return Crawler(
        TogetherBoards(boards), slaves=0, settings=QUICK, data=folder / "run1", output=folder / "items.jsonl"
    )


def items_in(folder: Path) -> Counter[str]:
    items = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    assert len({item["url"] for item in items}) == len(items)
    return Counter(item["board"] for item in items)


async def test_crawl_goes_on_with_a_board_more_and_one_that_changed(site: SmallSite, tmp_path: Path) -> None:
    press, wine = board(site, tmp_path, "press"), board(site, tmp_path, "wine")

    first = await crawler(tmp_path, press, wine).crawl()
    brought = items_in(tmp_path)
    site.pages |= {"/wine/new/": links("/wine/9"), "/wine/9": "<h1>new</h1>"}
    wine = board(site, tmp_path, "wine", entry="/wine/new/")
    await crawler(tmp_path, press, wine, board(site, tmp_path, "sports")).crawl()

    assert (first["name"], first["state"], brought) == ("press+wine", "finished", {"press": PAGES, "wine": PAGES})
    assert items_in(tmp_path) == {"press": PAGES, "wine": PAGES + 1, "sports": PAGES}
    # What was known has not been asked for again.
    assert max(Counter(site.targets).values()) == 1


async def test_board_that_is_left_out_of_a_crawl_that_goes_on_is_to_be_named(site: SmallSite, tmp_path: Path) -> None:
    press, wine = board(site, tmp_path, "press"), board(site, tmp_path, "wine")
    await crawler(tmp_path, press, wine).crawl()

    with pytest.raises(ConfigurationError, match=r"has another board \(wine\): name it, too"):
        await crawler(tmp_path, press).crawl()


async def test_board_that_has_reached_its_limit_ends_and_the_others_go_on(site: SmallSite, tmp_path: Path) -> None:
    many = [f"/press/{n}" for n in range(200)]
    site.pages |= {"/press/": links(*many)} | dict.fromkeys(many, "<h1>a page</h1>")
    limited = board(site, tmp_path, "press", "[limits]\nitems = 2\n[speed]\ndelay = 0.1")

    wine = board(site, tmp_path, "wine")
    whole = Crawler(TogetherBoards([limited, wine]), slaves=0, output=tmp_path / "items.jsonl")
    certificate = await whole.crawl()

    brought = items_in(tmp_path)
    assert brought["wine"] == PAGES
    assert 2 <= brought["press"] < 200
    assert certificate["dropped_by_reason"] == {"board-gone": 200 - brought["press"]}
    assert (certificate["state"], certificate["reason"]) == ("finished", "")
