"""A project in Scrapy's form is found, its settings read, and its spiders had by their names."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.loading.chosen import merged_settings
from p2pcrawl.spiders.loading.projects import (
    JOB_SETTINGS,
    SETTINGS_VARIABLE,
    closest_scrapy_cfg,
    inside_project,
    open_project,
    project_settings,
)

SPIDER = """
from p2pcrawl import Spider
class {cls}(Spider):
    name = "{name}"
    custom_settings = {{"DEPTH_LIMIT": 3}}
"""


@pytest.fixture(autouse=True)
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leaves the process as it was."""
    modules, path = dict(sys.modules), list(sys.path)
    monkeypatch.setenv(SETTINGS_VARIABLE, "")
    monkeypatch.delenv(SETTINGS_VARIABLE)
    yield
    sys.path[:] = path
    for name in sys.modules.keys() - modules.keys():
        del sys.modules[name]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The folder of a project with two spiders."""
    files = {
        "scrapy.cfg": "[settings]\ndefault = toyshop.settings\nother = toyshop.elsewhere\n",
        "toyshop/__init__.py": "",
        "toyshop/settings.py": 'SPIDER_MODULES = ["toyshop.spiders"]\nDEPTH_LIMIT = 2\nMY_OWN = "mine"\nlower = 1\n',
        "toyshop/elsewhere.py": 'NEWSPIDER_MODULE = "toyshop.spiders"\nDEPTH_LIMIT = 7\n',
        "toyshop/spiders/__init__.py": "",
        "toyshop/spiders/toys.py": SPIDER.format(cls="ToysSpider", name="toys"),
        "toyshop/spiders/more/__init__.py": "",
        "toyshop/spiders/more/books.py": SPIDER.format(cls="BooksSpider", name="books"),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_project_is_found_from_any_folder_in_it(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = open_project(shop / "toyshop" / "spiders")

    assert project.folder == shop
    assert project.settings.getint("DEPTH_LIMIT") == 2
    assert project.settings["MY_OWN"] == "mine"
    assert "lower" not in list(project.settings)
    monkeypatch.chdir(shop / "toyshop")
    assert Path(closest_scrapy_cfg()) == shop / "scrapy.cfg"


def test_settings_of_a_project_from_elsewhere_are_those_of_its_job(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop)
    token = JOB_SETTINGS.set(Settings().updated({"MY_OWN": "the job's"}))

    assert project_settings()["MY_OWN"] == "the job's"

    JOB_SETTINGS.reset(token)
    assert project_settings()["MY_OWN"] == "mine"


def test_spiders_are_had_by_their_names(shop: Path) -> None:
    project = open_project(shop)

    assert project.spider("books").__module__ == "toyshop.spiders.more.books"
    assert sorted(project.spiders()) == ["books", "toys"]


def test_settings_of_a_spider_go_over_those_of_its_project(shop: Path) -> None:
    project = open_project(shop)
    project.settings.set("DEPTH_PRIORITY", 1, "cmdline")

    settings = merged_settings(project.settings, project.spider("toys"))

    assert settings.depth_limit == 3
    assert settings["MY_OWN"] == "mine"


def test_spider_runs_though_another_one_cannot_be_imported(shop: Path) -> None:
    (shop / "toyshop/spiders/broken.py").write_text("import nowhere_to_be_found\n")

    assert open_project(shop).spider("toys").name == "toys"


def test_what_cannot_be_imported_is_told_where_a_spider_is_not_found(
    shop: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (shop / "toyshop/spiders/broken.py").write_text("import nowhere_to_be_found\n")

    with pytest.raises(
        ConfigurationError, match=r"no spider 'games' .*; it has books, toys; .*broken.* 'nowhere_to_be"
    ):
        open_project(shop).spider("games")
    with caplog.at_level(logging.WARNING):
        assert sorted(open_project(shop).spiders()) == ["books", "toys"]
    assert "nowhere_to_be_found" in caplog.text


def test_last_of_several_spiders_of_a_name_is_run_and_told_of(shop: Path, caplog: pytest.LogCaptureFixture) -> None:
    (shop / "toyshop/spiders/zoo.py").write_text(SPIDER.format(cls="ZooSpider", name="toys"))

    found = open_project(shop).spider("toys")

    assert found.__name__ == "ZooSpider"
    assert "several spiders are called toys" in caplog.text


def test_project_of_another_row_is_had_by_the_environment(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRAPY_PROJECT", "other")

    project = open_project(shop)

    assert project.settings.getint("DEPTH_LIMIT") == 7
    assert project.spider("toys").name == "toys"


def test_settings_of_the_project_are_at_hand_in_any_code(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not inside_project()
    assert project_settings()["MY_OWN"] is None

    monkeypatch.chdir(shop)

    assert inside_project()
    assert project_settings()["MY_OWN"] == "mine"


@pytest.mark.parametrize(
    ("config", "told"),
    [
        pytest.param(None, "there is no scrapy.cfg in .* or above it: name the folder", id="none"),
        pytest.param("[deploy]\n", "does not name the module of settings", id="no-settings"),
        pytest.param("nonsense", "does not name the module of settings", id="unreadable"),
        pytest.param(
            "[settings]\ndefault = nowhere.settings\n",
            "the settings that .*cfg names: there is no module nowhere.settings",
            id="no-module",
        ),
    ],
)
def test_what_is_wrong_with_a_project_is_told(tmp_path: Path, config: str | None, told: str) -> None:
    if config is not None:
        (tmp_path / "scrapy.cfg").write_text(config)

    with pytest.raises(ConfigurationError, match=told):
        open_project(tmp_path)


def test_project_without_spiders_is_told(shop: Path) -> None:
    (shop / "toyshop/settings.py").write_text("DEPTH_LIMIT = 1\n")

    with pytest.raises(ConfigurationError, match="name no SPIDER_MODULES"):
        open_project(shop).spider("toys")
