"""``--scrapy``: projects and files that import scrapy run as they are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ALLOWED, Run

FILES = {
    "scrapy.cfg": "[settings]\ndefault = shop.settings\n",
    "shop/__init__.py": "",
    "shop/settings.py": """
BOT_NAME = "shop"
SPIDER_MODULES = ["shop.spiders"]
ITEM_PIPELINES = {"shop.pipelines.Upper": 300}
MY_WORD = "from the project"
""",
    "shop/items.py": """
import scrapy
class Page(scrapy.Item):
    title = scrapy.Field()
    word = scrapy.Field()
""",
    "shop/pipelines.py": """
from scrapy.exceptions import DropItem
from scrapy.utils.project import get_project_settings
WORD = get_project_settings().get("MY_WORD")
class Upper:
    def process_item(self, item, spider):
        if not item["title"]:
            raise DropItem("no title")
        item["title"] = item["title"].upper()
        item["word"] = [WORD, spider.settings["MY_WORD"]]
        return item
""",
    "shop/spiders/__init__.py": "",
    "shop/spiders/pages.py": """
import scrapy
from scrapy.spiders import Spider
from ..items import Page
class PagesSpider(Spider):
    name = "pages"
    def __init__(self, start=None, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.start_urls = [start]
    def parse(self, response):
        assert isinstance(response.request, scrapy.Request)
        yield Page(title=response.css("title::text").get())
""",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project as Scrapy's users have it, with not a word of ours."""
    folder = tmp_path / "project"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.slow
def test_spider_of_a_project_runs_unchanged_in_processes_of_its_own(
    run: Run, site: dict[str, Any], project: Path
) -> None:
    typed = ("-a", f"start={site['start']}", "-s", "MY_WORD=typed", *ALLOWED, "--slaves", 2)

    result = run("crawl", "--scrapy", project, "pages", "-o", "-", *typed)

    assert result.returncode == 0, result.stderr
    item = json.loads(result.stdout)
    assert item["title"] == item["title"].upper() != ""
    assert item["word"] == ["from the project", "typed"]


def test_file_in_a_project_has_its_settings_too(run: Run, site: dict[str, Any], project: Path) -> None:
    typed = ("-a", f"start={site['start']}", *ALLOWED, "--slaves", 0)

    result = run("crawl", "--scrapy", project / "shop/spiders/pages.py", "-o", "-", *typed)

    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["word"] == ["from the project"] * 2


@pytest.mark.parametrize(
    ("names", "told"),
    [
        pytest.param((), "name a spider of .*: pages", id="none-named"),
        pytest.param(("pagse",), "there is no spider 'pagse' in .*; it has pages", id="misspelt"),
    ],
)
def test_spiders_of_a_project_are_told_where_none_can_be_run(
    run: Run, project: Path, names: tuple[str, ...], told: str
) -> None:
    result = run("crawl", "--scrapy", project, *names)

    assert result.returncode == 2
    assert result.stderr.startswith("p2pcrawl: ") and result.stderr.count("\n") == 1
    assert re.search(told, result.stderr)


def test_scrapy_is_not_answered_unless_it_is_asked_for(run: Run, project: Path) -> None:
    result = run("crawl", project / "shop/spiders/pages.py", "-a", "start=http://127.0.0.1:1/")

    assert result.returncode == 2
    assert "pages.py, line 2: there is no scrapy" in result.stderr
