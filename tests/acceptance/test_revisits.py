"""Crawls that do not end: each article once and soon, whatever is killed and when."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.kit.measure import ROOT, Watched, until
from benchmarks.kit.peers import Peers, user_files
from p2pcrawl import Crawler
from p2pcrawl.master.jobs.job import RUNNING
from tests.acceptance.programs.living_news import News
from tests.sites.living import LivingSite

SPIDER = ROOT / "tests" / "acceptance" / "programs" / "living_news.py"
SOON_S = 60.0


@pytest.fixture
def site() -> Iterator[LivingSite]:
    with LivingSite() as site:
        yield site


def items_in(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def told_in(path: Path) -> set[str]:
    return {item["url"] for item in items_in(path)}


def crawled(site: LivingSite, tmp_path: Path, **settings: object) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    chosen = {"LOG_LEVEL": "WARNING", "ROBOTSTXT_OBEY": False, **settings}
    crawler = Crawler(
        News,
        output=tmp_path / "items.jsonl",
        data=tmp_path / "data",
        slaves=0,
        settings=chosen,
        arguments={"url": site.url},
    )
    return crawler.run(), items_in(tmp_path / "items.jsonl")


def test_crawl_of_rounds_ends_when_each_page_was_visited_so_often(site: LivingSite, tmp_path: Path) -> None:
    told, items = crawled(site, tmp_path, REVISIT_INDEX=1, REVISIT_DETAIL=1, REVISIT_ROUNDS=3)

    assert (told["state"], told["reason"], told["again"]) == ("finished", "", 0)
    assert told["conserved"]
    assert site.asked("/") == 3
    assert site.sent() == {f"/a/{n}": 1 for n in range(5)}
    assert told["revisits_by_result"] == {"unchanged": 2 * 6}
    assert [item["visit"] for item in items] == [0] * 5


def test_article_that_changes_is_told_again_and_one_that_goes_once(site: LivingSite, tmp_path: Path) -> None:
    crawled(site, tmp_path, REVISIT_INDEX=1, REVISIT_DETAIL=2, CLOSESPIDER_ITEMCOUNT=5)
    site.articles[0] = "another text"
    del site.articles[1]
    with sqlite3.connect(tmp_path / "data" / "frontier.db") as db:
        db.execute("UPDATE job SET state = 'running', reason = ''")
    db.close()

    told, items = crawled(site, tmp_path, REVISIT_INDEX=1, REVISIT_DETAIL=2, REVISIT_ROUNDS=3)

    changed = [item for item in items if item["visit"]]
    assert [(item["url"], item["title"], item["changed"]) for item in changed] == [
        (site.article(0), "another text", True)
    ]
    assert told["revisits_by_result"]["gone"] == 1
    assert told["items"] == 5


@pytest.mark.slow
def test_each_article_is_found_and_told_once_though_the_crawl_is_killed_at_any_moment(
    site: LivingSite, tmp_path: Path
) -> None:
    output, data = tmp_path / "items.jsonl", tmp_path / "data"
    settings = {"REVISIT_INDEX": 1, "REVISIT_DETAIL": 2, "ROBOTSTXT_OBEY": False}
    options = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    command = [sys.executable, "-m", "p2pcrawl", "crawl", str(SPIDER), "-a", f"url={site.url}", "-o", str(output)]
    command += ["--data", str(data), "--slaves", "1", *options]
    wanted = {site.article(n) for n in site.articles}

    for kill in range(4):
        with Watched(command, tmp_path / f"run-{kill}", user_files(tmp_path)) as crawl:
            wanted |= set(site.publish(f"found in run {kill}"))
            until(lambda: told_in(output) >= wanted, SOON_S, "the new article is told")  # noqa: B023 - asked at once
            visited = site.asked("/a/0")
            until(lambda before=visited: site.asked("/a/0") > before, SOON_S, "an article is visited again")
            crawl.kill()

    with Watched(command, tmp_path / "last", user_files(tmp_path)) as crawl:
        until(lambda: site.asked("/a/0") > visited + 1, SOON_S, "it goes on")
        os.kill(crawl.pid, signal.SIGINT)
        assert crawl.wait(SOON_S).code == 130
    assert Counter(item["url"] for item in items_in(output)) == dict.fromkeys(wanted, 1)
    assert max(site.sent().values()) <= 2
    """Once more than once is an article whose end was not durable when the crawl was killed."""


@pytest.mark.slow
def test_visits_go_on_when_masters_die_and_when_all_come_back(site: LivingSite, tmp_path: Path) -> None:
    settings = {"REVISIT_INDEX": 1, "REVISIT_DETAIL": 3, "ROBOTSTXT_OBEY": False, "SHARD_KEY": "url"}
    wanted = {site.article(n) for n in site.articles}
    with Peers(tmp_path, 3, 1) as peers:
        job = peers.submit(SPIDER, {"url": site.url}, settings)
        number = [0]

        def told() -> list[dict[str, Any]]:
            number[0] += 1
            peers.results(job, tmp_path / f"results-{number[0]}.jsonl")
            return items_in(tmp_path / f"results-{number[0]}.jsonl")

        def has_all() -> bool:
            return wanted <= {item["url"] for item in told()}

        until(has_all, SOON_S, "all articles are found", every_s=0.5)
        victim = peers.living[-1]
        victim.kill()
        peers.drop(victim)
        peers.until_agreed()
        wanted |= set(site.publish("found by two"))
        until(has_all, SOON_S, "an article is found after a death", every_s=0.5)

        folders = [victim.data, *(peer.data for peer in peers.living)]
        for peer in list(peers.living):
            peer.kill()
            peers.drop(peer)
        wanted |= set(site.publish("found by all that are back"))
        for folder in folders:
            peers.start(folder)
        peers.until_agreed()
        until(has_all, 2 * SOON_S, "an article is found by a cluster that was away", every_s=0.5)

        visits = {url: site.asked(url.removeprefix(site.url[:-1])) for url in wanted}
        until(
            lambda: all(site.asked(url.removeprefix(site.url[:-1])) > count for url, count in visits.items()),
            SOON_S,
            "each article is visited again",
        )
        stands = peers.job(job)
        assert stands["state"] == RUNNING
        assert stands["again"] + stands["queued"] + stands["leased"] >= len(wanted)
        items = told()
        peers.run("cancel", job)
    assert Counter(item["url"] for item in items) == dict.fromkeys(wanted, 1)
    assert max(site.sent().values()) <= 3
