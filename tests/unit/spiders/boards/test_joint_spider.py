"""Several boards in one job: each reads its own pages, and what is one per job they agree on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from p2pcrawl.model.boards.job_board import REMOVED, JobBoard, mark_of
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.boards.board_file import read_board
from p2pcrawl.spiders.boards.joint_spider import JointSpider, joint_class
from p2pcrawl.spiders.boards.shared_settings import check_joins, shared_settings, without_own
from p2pcrawl.spiders.callbacks import iterate
from p2pcrawl.spiders.hooks.crawl_stats import CrawlStats
from p2pcrawl.spiders.loading.boards_together import boards_together
from p2pcrawl.spiders.page.answer_kinds import HtmlResponse

PRESS = """entries = ["https://press.example/"]
[articles]
allow = ['/20']
[fields]
headline = "h1::text"
[revisit]
navigation = 600
"""
WINE = """entries = ["https://wine.example/list"]
depth = 1
[follow]
allow = ['/list']
[articles]
allow = ['/bottle']
[fields]
name = "h1::text"
[revisit]
articles = "adaptive"
"""
FRONT = '<a href="/2026/one">1</a><a href="https://wine.example/bottle/1">b</a><a href="https://far.example/2026">f</a>'


def spider_of(name: str = "press+wine", **boards: JobBoard) -> JointSpider:
    spider = joint_class(name, boards, file="press.toml", code=PRESS)()
    spider.crawler = SimpleNamespace(stats=CrawlStats())  # type: ignore[assignment]
    return spider


def both() -> JointSpider:
    return spider_of(press=JobBoard(1, PRESS), wine=JobBoard(1, WINE))


async def read(spider: JointSpider, mark: str, url: str, body: str, depth: int = 0) -> list[Any]:
    response = HtmlResponse(url, body=body.encode(), headers={"Content-Type": "text/html"})
    response.depth = depth
    callback = getattr(spider, mark) if mark else spider.parse
    return [each async for each in iterate(callback(response))]


def test_entries_are_marked_with_their_board() -> None:
    entries = list(both().start_requests())

    assert [(each.url, each.callback) for each in entries] == [
        ("https://press.example/", mark_of("press")),
        ("https://wine.example/list", mark_of("wine")),
    ]


async def test_board_follows_its_own_links_and_leaves_those_of_others() -> None:
    found = await read(both(), mark_of("press"), "https://press.example/", FRONT)

    assert [(each.url, each.callback) for each in found] == [
        ("https://press.example/2026/one", mark_of("press")),
        # Counted, where links are, as one that leads off the site.
        ("https://far.example/2026", mark_of("press")),
    ]


async def test_item_has_the_fields_and_the_name_of_its_board_and_is_counted() -> None:
    spider = both()

    [item] = await read(spider, mark_of("wine"), "https://wine.example/bottle/1", "<h1>Red</h1>")

    assert item == {"url": "https://wine.example/bottle/1", "name": "Red", "board": "wine"}
    assert spider.crawler.stats.get_stats() == {"boards/wine/pages": 1, "boards/wine/items": 1}


async def test_depth_is_each_boards_own() -> None:
    body = '<a href="/list/2">next</a><a href="/2026/x">x</a>'

    first = await read(both(), mark_of("wine"), "https://wine.example/list", body)
    deep = await read(both(), mark_of("wine"), "https://wine.example/list/2", body, depth=1)
    other = await read(both(), mark_of("press"), "https://press.example/", body, depth=1)

    assert [len([each for each in found if isinstance(each, Request)]) for found in (first, deep, other)] == [1, 0, 2]


def test_periods_are_each_boards_own() -> None:
    spider, press, wine = both(), mark_of("press"), mark_of("wine")

    assert spider.period(press, "https://press.example/", "index") == 600
    assert spider.period(press, "https://press.example/2026/x", "detail") == 0
    assert spider.period(wine, "https://wine.example/bottle/1", "detail") == "adaptive"


def test_pages_of_a_job_that_began_with_one_board_stay_that_boards() -> None:
    spider = spider_of("press", wine=JobBoard(7, WINE))

    assert [each.callback or "" for each in spider.start_requests()] == ["", mark_of("wine")]
    assert spider.standing("", "https://wine.example/list", seed=True) == ""
    assert spider.period("", "https://press.example/", "index") == 600


def test_page_that_somebody_has_put_in_is_that_boards_within_whose_domains_it_is() -> None:
    assert both().mark_for("https://wine.example/new") == mark_of("wine")
    assert both().mark_for("https://nobody.example/") == mark_of("press")


def test_pages_of_a_board_that_was_taken_away_are_not_asked_for() -> None:
    spider = spider_of(press=JobBoard(1, PRESS), wine=JobBoard(9, WINE, closed=REMOVED))

    assert spider.standing(mark_of("wine"), "https://wine.example/bottle/1", seed=False) == "gone"
    assert spider.standing(mark_of("press"), "https://press.example/", seed=True) == ""
    assert spider.standing(mark_of("other"), "https://other.example/", seed=True) == "unknown"


def test_entry_that_is_gone_is_not_asked_for() -> None:
    spider = spider_of(press=JobBoard(9, PRESS, gone=("https://press.example/old",)))

    assert spider.standing(mark_of("press"), "https://press.example/old", seed=True) == "gone"
    assert spider.standing(mark_of("press"), "https://press.example/old", seed=False) == ""


def test_nothing_of_a_job_is_asked_for_whose_boards_were_all_taken_away() -> None:
    spider = spider_of("press", press=JobBoard(9, PRESS, closed=REMOVED))

    assert spider.standing("", "https://press.example/", seed=True) == "gone"


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ("[speed]\ndelay = 1", "[speed]\ndelay = 2", "a and b contradict each other: speed.delay .* say 1.0 and 2.0"),
        ('output = ["a.jsonl"]', 'output = ["b.jsonl"]', "output is one per job, and they say a.jsonl and b.jsonl"),
        ('[settings]\nUSER_AGENT = "x"', '[settings]\nUSER_AGENT = "y"', "USER_AGENT is one per job"),
        ("[revisit]\nmax = 900", "[revisit]\nnavigation = 9e3", "board b: REVISIT_INDEX is longer than REVISIT_MAX"),
    ],
)
def test_boards_that_contradict_each_other_are_told_in_one_line(one: str, other: str, said: str) -> None:
    entries = 'entries = ["https://press.example/"]\n'

    with pytest.raises(ConfigurationError, match=said):
        shared_settings([read_board(entries + one, "a.toml"), read_board(entries + other, "b.toml")])


def test_what_one_says_and_the_other_leaves_out_is_the_jobs(tmp_path: Path) -> None:
    (tmp_path / "press.toml").write_text(PRESS + "[speed]\ndelay = 2")
    (tmp_path / "wine.toml").write_text(WINE + "[limits]\npages = 5")

    ref, cls, texts = boards_together([str(tmp_path / "press.toml"), str(tmp_path / "wine.toml")])

    assert cls.custom_settings == {"DOWNLOAD_DELAY": 2.0}
    assert (cls.name, ref.file, list(texts)) == ("press+wine", str(tmp_path / "press.toml"), ["press", "wine"])


def test_boards_of_one_name_and_what_is_no_board_are_refused(tmp_path: Path) -> None:
    (tmp_path / "press.toml").write_text(PRESS)
    (tmp_path / "other.toml").write_text('name = "press"\n' + WINE)

    with pytest.raises(ConfigurationError, match="two boards are called press"):
        boards_together([str(tmp_path / "press.toml"), str(tmp_path / "other.toml")])
    with pytest.raises(ConfigurationError, match=r"spider.py is no board"):
        boards_together([str(tmp_path / "press.toml"), "spider.py"])


def test_board_that_joins_leaves_out_what_is_the_jobs_or_says_the_same() -> None:
    job, known = Settings().updated({"DOWNLOAD_DELAY": 2}), [read_board('output = ["a.jsonl"]\n' + PRESS, "press.toml")]

    check_joins(read_board(WINE, "wine.toml"), known, job)
    check_joins(read_board('output = ["a.jsonl"]\n' + WINE + "[speed]\ndelay = 2", "wine.toml"), known, job)
    with pytest.raises(ConfigurationError, match=r"speed.delay is one per job, which has 2.0 and not 3.0"):
        check_joins(read_board(WINE + "[speed]\ndelay = 3", "wine.toml"), known, job)
    with pytest.raises(ConfigurationError, match="output is one per job"):
        check_joins(read_board('output = ["b.jsonl"]\n' + WINE, "wine.toml"), known, job)


def test_periods_of_the_first_board_are_not_for_those_that_join_it_but_typed_ones_are() -> None:
    own, typed = {"revisit_index": 600.0, "download_delay": 1.0}, {"revisit_index": 60.0}

    assert without_own(own, "press", "press.toml", PRESS) == {"download_delay": 1.0}
    assert without_own(typed, "press", "press.toml", PRESS) == typed
