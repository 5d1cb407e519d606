"""The verbs that change what a job is to do, or remove it, as people type them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.cli.conftest import ALLOWED, until
from tests.cli.peers import Cluster, asked

pytestmark = pytest.mark.slow

PROJECT = {
    "scrapy.cfg": "[settings]\ndefault = tut.settings\n",
    ".env": "SECRET=1",
    "tut/__init__.py": "",
    "tut/settings.py": """
SPIDER_MODULES = ["tut.spiders"]
ROBOTSTXT_OBEY = False
ITEM_PIPELINES = {"tut.pipelines.Marked": 300}
DEPTH_LIMIT = 1
MY_MARK = "own"
""",
    "tut/items.py": "import scrapy\nclass Page(scrapy.Item):\n    url, mark = scrapy.Field(), scrapy.Field()\n",
    "tut/pipelines.py": """
class Marked:
    @classmethod
    def from_crawler(cls, crawler):
        made = cls()
        made.mark = crawler.settings.get("MY_MARK")
        return made

    def process_item(self, item, spider):
        item["mark"] = self.mark
        return item
""",
    "tut/spiders/__init__.py": "",
    "tut/spiders/pages.py": """
import scrapy
from tut.items import Page
from .. import items

class Pages(scrapy.Spider):
    name = "pages"

    def parse(self, response):
        for link in response.css("a")[:3]:
            yield response.follow(link, self.second, meta={"item": Page(url=response.url)})

    def second(self, response):
        assert type(response.meta["item"]) is Page is items.Page
        yield Page(url=response.url)
""",
}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("alone")) as cluster:
        cluster.start("--slaves", 1, "--data", "node1")
        yield cluster


@pytest.fixture(scope="module")
def small(alone: Cluster, site: dict[str, Any]) -> str:
    """A job that is called so: the start page alone."""
    alone.told("submit", site["start"], *ALLOWED, "-s", "DEPTH_LIMIT=1", "--name", "small", "--wait")
    return "small"


@pytest.fixture
def finished(alone: Cluster, small: str) -> str:
    """The small job when it is over, also where a test before has let it go on."""

    def over() -> bool:
        return any(
            (job["label"], job["state"]) == (small, "finished") for job in asked(alone.peers[0].api, "jobs")["jobs"]
        )

    until(over, "the small job is finished")
    return small


def pages(alone: Cluster, called: str) -> int:
    listed = alone.told("jobs")["jobs"]
    return next(int(job["pages"]) for job in listed if job["label"] == called)


def test_urls_of_a_file_are_put_into_a_finished_job_and_crawled(
    alone: Cluster, finished: str, site: dict[str, Any]
) -> None:
    before = pages(alone, finished)
    (alone.folder / "urls.txt").write_text(f"# two of them\n{site['start']}?one\n\n{site['start']}?two\n")

    result = alone.run("inject", finished, "-i", "urls.txt")

    assert result.returncode == 0, result.stderr
    assert "2 URLs put into job" in result.stdout and "is running; it was finished" in result.stdout
    assert alone.told("inject", "--last", f"{site['start']}?two")["injected"] == 1
    assert before <= pages(alone, finished)


def test_queue_is_cleared_and_entries_are_begun_anew(alone: Cluster, finished: str) -> None:
    result = alone.run("clear", finished, "--queue", "all", "--restart")
    told = alone.told("clear", finished, "--queue", "index")

    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("0 queued pages dropped, ") and "is running" in result.stdout
    assert told["queue"] == "index" and told["restarted"] == 0


def test_setting_is_changed_and_told_with_what_it_was(alone: Cluster, site: dict[str, Any]) -> None:
    # A host of its own, whose second page is not asked for while this test lasts.
    start = f"http://localhost:{urlsplit(site['start']).port}/s0/0.html"
    alone.told("submit", start, *ALLOWED, "-s", "DOWNLOAD_DELAY=30", "--name", "slow")
    alone.told("inject", "slow", f"{start}?later")

    result = alone.run("set", "slow", "CLOSESPIDER_PAGECOUNT=5000", "DEPTH_LIMIT=7")

    assert (result.returncode, result.stderr) == (0, "")
    assert "CLOSESPIDER_PAGECOUNT 5000 (was 0)" in result.stdout and "DEPTH_LIMIT 7 (was 0)" in result.stdout
    assert alone.run("cancel", "slow").returncode == 0


def test_finished_job_refuses_settings_and_says_what_to_do(alone: Cluster, finished: str) -> None:
    result = alone.run("set", finished, "CLOSESPIDER_PAGECOUNT=5000")

    assert result.returncode == 2 and "it is finished; `p2pcrawl retry` or `inject`" in result.stderr


def test_what_failed_is_told_in_words_and_as_json(alone: Cluster, site: dict[str, Any]) -> None:
    alone.run("submit", f"{site['start']}?gone", *ALLOWED, "--name", "gone", "--wait")

    errors, hosts = alone.run("errors", "gone"), alone.run("hosts", "gone")

    assert alone.run("stats", "gone", "--by", "host").returncode == alone.run("stats").returncode == 0
    assert errors.stdout.startswith("http-4xx: 1 page of 1 host\n") and "?gone, " in errors.stdout
    assert hosts.stdout == "no host has anything queued\n"
    assert [kind["count"] for kind in alone.told("errors", "gone")["errors"]] == [1]


def test_reasons_are_told_in_words_and_as_json_and_their_pages_are_exported(
    alone: Cluster, site: dict[str, Any], tmp_path: Path
) -> None:
    alone.run("submit", f"{site['start']}?gone", *ALLOWED, "--name", "why-gone", "--wait")
    gone = tmp_path / "gone.csv"

    words = alone.run("why", "--summary", "why-gone")
    told = alone.told("why", "--last", "--summary", "--reason", "http-404")
    exported = alone.run("why", "why-gone", "--reason", "http-404", "--urls", "-o", gone)
    of_nobody = alone.run("why", "--urls")

    assert words.stdout.startswith("failed\n  http-4xx: 1 page of 1 host (404: 1)\n")
    assert [(each["reason"], each["count"]) for each in told["reasons"]] == [("http-4xx", 1)]
    assert exported.returncode == 0 and "1 page in" in exported.stderr
    assert [line.split(",")[1:4] for line in gone.read_text().splitlines()[1:]] == [["failed", "http-4xx", "404"]]
    assert of_nobody.returncode == 2 and "name a JOB" in of_nobody.stderr


def test_host_is_changed_and_shown_and_given_back(alone: Cluster) -> None:
    changed = alone.run("host", "slow.example", "--delay", "2.5", "--pause")
    shown = alone.run("host", "slow.example")
    listed = alone.told("hosts", "--changed")["hosts"]
    back = alone.run("host", "slow.example", "--default", "--resume")

    assert changed.stdout == "slow.example: a delay of 2.5 s, paused; it was the delay of its jobs\n", changed.stderr
    assert "a person has set its delay to 2.5 s" in shown.stdout and "until --resume" in shown.stdout
    assert [(row["host"], row["ordered_s"], row["paused"]) for row in listed] == [("slow.example", 2.5, True)]
    assert "it was a delay of 2.5 s, paused" in back.stdout
    assert alone.told("hosts", "--changed")["hosts"] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["inject"], "Missing argument 'JOB'"),
        (["inject", "small"], "no URL was given"),
        (["inject", "small", "-"], "no URL was given"),
        (["clear", "small"], "Missing option '--queue'"),
        (["clear", "small", "--queue", "both"], "'both' is not one of"),
        (["inject", "small", "example.com"], "did you mean https://example.com?"),
        (["inject", "small", "-i", "nothing.txt"], "cannot read nothing.txt"),
        (["set", "small"], "say what to change"),
        (["set", "small", "USER_AGENT=x"], "USER_AGENT cannot be changed while a job runs"),
        (["set", "small", "DOWNLOAD_DELAY"], "needs the form NAME=VALUE"),
        (["delete", "nobody"], "there is no job nobody"),
        (["stats", "nobody"], "there is no job nobody"),
        (["errors", "nobody"], "there is no job nobody"),
        (["hosts", "nobody"], "there is no job nobody"),
        (["host", "http://a.example/", "--delay", "5"], "is not the name of a host"),
        (["host", "a.example", "--delay", "-1"], "the body is not what changeHost takes"),
        (["host", "a.example", "--delay", "5", "--default"], "give either --delay or --default"),
        (["forget", "12345678"], "no other master is called '12345678'"),
    ],
)
def test_mistake_is_one_line_and_2(alone: Cluster, finished: str, arguments: list[str], said: str) -> None:
    result = alone.run(*arguments)

    assert (result.returncode, result.stdout) == (2, "")
    assert said in result.stderr and result.stderr.count("\n") == 1, result.stderr


def test_deleted_job_is_gone_and_its_name_is_free(alone: Cluster, site: dict[str, Any]) -> None:
    alone.told("submit", site["start"], *ALLOWED, "-s", "DEPTH_LIMIT=1", "--name", "brief", "--wait")

    result = alone.run("delete", "brief")

    assert result.returncode == 0 and "is deleted; it was finished" in result.stdout
    assert "job brief was deleted" in alone.run("results", "brief", "-o", "-").stderr
    again = json.loads(alone.run("submit", site["start"], *ALLOWED, "--name", "brief", "--json").stdout)
    assert str(again["job"]) in alone.run("jobs", "--json").stdout


def test_project_of_scrapys_travels_to_peers_that_have_never_seen_it(
    alone: Cluster, site: dict[str, Any], tmp_path: Path
) -> None:
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    arguments = ["-a", f"start_urls={site['start']}", *ALLOWED, "--name", "tut", "--wait", "-o", "tut.jsonl"]

    end = alone.told("submit", "--scrapy", tmp_path, "pages", *arguments)

    items = [json.loads(line) for line in (alone.folder / "tut.jsonl").read_text().splitlines()]
    assert end["state"] == "finished" and items
    assert {item["mark"] for item in items} == {"own"}
