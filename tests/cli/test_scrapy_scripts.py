"""Scripts that begin crawls in Scrapy's words run as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

PROCESS = """
import scrapy
from scrapy.crawler import CrawlerProcess

class TitleSpider(scrapy.Spider):
    name = "titles"
    custom_settings = {{"FEEDS": {{"titles-%(tag)s.json": {{"format": "json"}}}}}}
    def __init__(self, tag=None, pages=(), **arguments):
        super().__init__(**arguments)
        self.tag, self.pages = tag, pages
        self.start_urls = ["{start}"]
    def parse(self, response):
        yield {{"tag": self.tag, "pages": self.pages, "title": response.css("title::text").get()}}

process = CrawlerProcess({{"LOG_LEVEL": "INFO", "SLAVES": 2, "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8"}})
process.crawl(TitleSpider, tag="a", pages=(1, 2))
process.crawl(TitleSpider, tag="b")
process.start()
print("after the crawls")
"""

RUNNER = """
import asyncio
import scrapy
from scrapy.crawler import AsyncCrawlerRunner

class TitleSpider(scrapy.Spider):
    name = "titles"
    start_urls = ["{start}"]
    def parse(self, response):
        yield {{"title": response.css("title::text").get()}}

async def main():
    runner = AsyncCrawlerRunner(
        {{"FEEDS": {{"t.json": {{"format": "json"}}}}, "SLAVES": 0, "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8"}}
    )
    await runner.crawl(TitleSpider)

if __name__ == "__main__":
    asyncio.run(main())
"""

COMMAND = """
from scrapy import cmdline
cmdline.execute("scrapy runspider spider.py -o out.json -a tag=a --nolog -s SLAVES=0".split())
"""


def written(folder: Path, text: str, name: str = "script.py") -> Path:
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.slow
def test_process_runs_its_crawls_once_though_slaves_import_the_script(
    run: Run, site: dict[str, Any], tmp_path: Path
) -> None:
    script = written(tmp_path, PROCESS.format(start=site["start"]))

    result = run("crawl", "--scrapy", script)

    assert result.returncode == 0, result.stderr
    assert result.stdout.count("after the crawls") == 1
    assert "titles has ended: 1 pages, 1 items" in result.stderr
    (first,), (second,) = (json.loads((tmp_path / f"titles-{tag}.json").read_text()) for tag in "ab")
    assert (first["tag"], first["pages"], second["tag"], second["pages"]) == ("a", [1, 2], "b", [])
    assert first["title"] == second["title"] != ""


def test_runner_is_awaited(run: Run, site: dict[str, Any], tmp_path: Path) -> None:
    script = written(tmp_path, RUNNER.format(start=site["start"]))

    result = run("crawl", "--scrapy", script)

    assert result.returncode == 0, result.stderr
    assert json.loads((tmp_path / "t.json").read_text())[0]["title"]


def test_commands_in_scrapys_words_end_with_an_exit_code(run: Run, site: dict[str, Any], tmp_path: Path) -> None:
    spider = PROCESS.format(start=site["start"]).partition("process =")[0]
    spider = spider.replace("from scrapy.crawler import CrawlerProcess", "").replace("custom_settings", "other")
    written(tmp_path, spider, "spider.py")

    result = run("crawl", "--scrapy", written(tmp_path, COMMAND))

    assert result.returncode == 0, result.stderr
    assert json.loads((tmp_path / "out.json").read_text())[0]["tag"] == "a"


@pytest.mark.parametrize(("verb", "code", "told"), [("list", 0, "titles\n"), ("check", 1, "no contract was found")])
def test_commands_for_all_spiders_of_a_project_are_there(
    run: Run, tmp_path: Path, verb: str, code: int, told: str
) -> None:
    written(tmp_path, "[settings]\ndefault = shop.settings\n", "scrapy.cfg")
    for name, text in [
        ("__init__", ""),
        ("settings", "SPIDER_MODULES = ['shop.spiders']"),
        ("spiders", "import scrapy\nclass Titles(scrapy.Spider):\n    name = 'titles'"),
    ]:
        (tmp_path / "shop").mkdir(exist_ok=True)
        written(tmp_path / "shop", text, f"{name}.py")
    script = written(tmp_path, f"from scrapy import cmdline\ncmdline.execute('scrapy {verb}'.split())")

    result = run("crawl", "--scrapy", script)

    assert result.returncode == code, result.stderr
    assert result.stdout.startswith(told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(
            "from twisted.internet import reactor\nfrom scrapy.crawler import CrawlerRunner",
            "script.py, line 1: p2pcrawl has no twisted.internet.reactor: crawls run on asyncio",
            id="reactor",
        ),
        pytest.param(
            "from scrapy.crawler import CrawlerRunner\nfrom scrapy import Spider\nCrawlerRunner().crawl(Spider)",
            "begins crawls on an asyncio loop that runs, and there is none",
            id="no-loop",
        ),
        pytest.param(
            "from scrapy.crawler import CrawlerProcess\nCrawlerProcess().create_crawler('a')",
            "there is no create_crawler here",
            id="create-crawler",
        ),
        pytest.param(
            "from scrapy.crawler import CrawlerProcess\nfrom scrapy import Spider\nCrawlerProcess().crawl(Spider, 7)",
            "arguments of a spider have names here",
            id="positional",
        ),
        pytest.param(
            "import asyncio\nfrom scrapy import Spider\nfrom scrapy.crawler import CrawlerProcess\n"
            "async def main():\n    p = CrawlerProcess()\n    p.crawl(Spider)\n    p.start()\nasyncio.run(main())",
            "start() runs a loop of its own, and one is running here: `await CrawlerRunner(",
            id="on-a-loop",
        ),
        pytest.param(
            "from scrapy.cmdline import execute\nexecute(['scrapy', 'fetch', 'http://a.example/'])",
            "`scrapy fetch` is not here",
            id="other-command",
        ),
        pytest.param(
            "from scrapy.cmdline import execute\nexecute(['scrapy', 'crawl', 'a', '--pdb'])",
            "`scrapy crawl` does not take --pdb here",
            id="other-option",
        ),
    ],
)
def test_what_scripts_cannot_have_is_told_in_one_line(run: Run, tmp_path: Path, text: str, told: str) -> None:
    result = run("crawl", "--scrapy", written(tmp_path, text))

    assert result.returncode == 2
    assert told in result.stderr
    assert result.stderr.count("\n") == 1


def test_options_that_would_not_reach_a_script_are_refused(run: Run, tmp_path: Path) -> None:
    result = run("crawl", "--scrapy", written(tmp_path, COMMAND), "-o", "x.json")

    assert result.returncode == 2
    assert "begins its crawls by itself, and no option reaches them" in result.stderr
