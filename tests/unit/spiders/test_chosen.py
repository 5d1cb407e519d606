"""The settings of a crawl: which of several values counts, and what cannot travel."""

from __future__ import annotations

import re
from typing import Any

import pytest

from p2pcrawl import signals
from p2pcrawl.model.choosing.ranked_settings import RankedSettings
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError, NotConfigured
from p2pcrawl.settings import BaseSettings
from p2pcrawl.settings import Settings as ProjectSettings
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.loading.chosen import merged_settings, spider_of, spiders_say
from p2pcrawl.spiders.loading.plain import Links
from p2pcrawl.spiders.loading.trial import try_spider
from p2pcrawl.spiders.spider import Spider


class Plain(Spider):
    start_urls = ("http://a.example/",)


class Choosy(Plain):
    custom_settings = {"DEPTH_LIMIT": 1, "MINE": "spider", "download_timeout": "9"}  # noqa: RUF012
    download_delay = 0.25

    @classmethod
    def update_settings(cls, settings: Any) -> None:
        super().update_settings(settings)
        settings.set("URLLENGTH_LIMIT", settings.getint("URLLENGTH_LIMIT") + 1, priority="spider")
        settings.set("RETRY_TIMES", 9, priority="addon")


def with_settings(**custom: Any) -> type[Spider]:
    return type("Shop", (Plain,), {"custom_settings": custom})


def test_spider_stands_over_the_project_and_what_was_typed_over_both() -> None:
    project = RankedSettings({"DEPTH_LIMIT": 3, "RETRY_TIMES": 5, "MINE": "project", "THEIRS": 1})

    settings = merged_settings(project, Choosy, {"depth_limit": "7", "MINE": "typed"})

    assert (settings.depth_limit, settings["MINE"], settings["THEIRS"]) == (7, "typed", 1)
    assert merged_settings(project, Choosy).depth_limit == 1
    assert (settings.download_delay, settings.download_timeout) == (0.25, 9.0)
    assert (settings.urllength_limit, settings.retry_times) == (2084, 5)


@pytest.mark.parametrize(
    ("typed", "read"),
    [('{"a.A": 300, "b.B": null}', {"a.A": 300}), ('["b.B", "a.A"]', {"b.B": 0, "a.A": 1}), ("", {})],
    ids=["mapping", "list", "nothing"],
)
def test_components_that_are_typed_are_json(typed: str, read: dict[str, int]) -> None:
    assert merged_settings(Settings(), Plain, {"item_pipelines": typed}).item_pipelines == read


@pytest.mark.parametrize("typed", ["a.A", "{'a.A': 1}", "5"])
def test_components_that_are_typed_otherwise_are_refused_with_the_form(typed: str) -> None:
    with pytest.raises(ConfigurationError, match=r"ITEM_PIPELINES .*JSON"):
        merged_settings(Settings(), Plain, {"ITEM_PIPELINES": typed})


@pytest.mark.parametrize("name", ["ITEM_PIPELINES", "SPIDER_MIDDLEWARES", "DOWNLOADER_MIDDLEWARES", "EXTENSIONS"])
def test_list_of_components_is_taken_in_its_order_and_told_of(name: str, caplog: pytest.LogCaptureFixture) -> None:
    settings = merged_settings(Settings(), with_settings(**{name: ["b.B", Links]}))

    assert settings[name] == {"b.B": 0, "p2pcrawl.spiders.loading.plain:Links": 1}
    assert [record.message for record in caplog.records] == [
        f"setting {name} is a list: its components stand in that order; write "
        "{'b.B': 0, 'p2pcrawl.spiders.loading.plain:Links': 1}"
    ]


def test_class_is_written_as_its_path_and_none_leaves_a_pipeline_out() -> None:
    settings = merged_settings(
        Settings(), with_settings(ITEM_PIPELINES={Links: 1, "a.B": 2, "c.D": None}, MINE=[Links, {"k": (1, 2)}])
    )

    assert settings.item_pipelines == {"p2pcrawl.spiders.loading.plain:Links": 1, "a.B": 2}
    assert settings["MINE"] == ["p2pcrawl.spiders.loading.plain:Links", {"k": [1, 2]}]


def test_value_that_cannot_travel_is_left_out_and_told(caplog: pytest.LogCaptureFixture) -> None:
    settings = merged_settings(Settings(), with_settings(PATTERN=re.compile("a"), WANTS={"it": lambda: True}, MINE=1))

    assert settings.own == {"MINE": 1}
    assert "setting PATTERN is left out: it holds a Pattern" in caplog.text


@pytest.mark.parametrize("custom", [{"download_dely": 1}, ["DEPTH_LIMIT"]])
def test_custom_settings_that_cannot_be_are_refused_by_the_spiders_name(custom: Any) -> None:
    spider = type("Shop", (Plain,), {"custom_settings": custom})

    with pytest.raises(ConfigurationError, match="custom_settings of spider shop"):
        merged_settings(Settings(), spider)


def test_none_stands_for_the_default() -> None:
    assert merged_settings(Settings(), with_settings(USER_AGENT=None)).user_agent == Settings().user_agent


def test_trial_tells_of_what_has_no_effect_and_of_what_may_be_meant(caplog: pytest.LogCaptureFixture) -> None:
    settings = merged_settings(
        Settings(),
        with_settings(DOWNLAOD_DELAY=1, DUPEFILTER_CLASS="my.Filter", TELNETCONSOLE_ENABLED=False, USER_AGENTS=["a"]),
    )

    try_spider(Plain, {}, settings)

    told = [record.message for record in caplog.records]
    assert len(told) == 2
    assert told[0].startswith("setting DUPEFILTER_CLASS has no effect: ")
    assert told[1].endswith("was DOWNLOAD_DELAY meant?")


@pytest.mark.parametrize(
    ("settings", "told"),
    [({}, 1), ({"REVISIT_INDEX": 60}, 0), ({"REVISIT_DETAIL": "adaptive"}, 0), ({"REVISIT_ROUNDS": 1}, 0)],
)
def test_rounds_without_a_period_are_told_of(
    settings: dict[str, object], told: int, caplog: pytest.LogCaptureFixture
) -> None:
    try_spider(Plain, {}, merged_settings(Settings(), with_settings(**{"REVISIT_ROUNDS": 3, **settings})))

    lines = [record.message for record in caplog.records]
    assert [line.startswith("setting REVISIT_ROUNDS (--rounds) is 3, and no period is set") for line in lines] == (
        [True] * told
    )


@pytest.mark.parametrize("encoding, told", [("utf-8-sig", 0), ("UTF8", 0), ("gb18030", 1), ("no-such", 1)])
def test_encoding_of_outputs_ends_no_crawl_and_is_told_of(
    encoding: str, told: int, caplog: pytest.LogCaptureFixture
) -> None:
    try_spider(Plain, {}, merged_settings(Settings(), with_settings(FEED_EXPORT_ENCODING=encoding)))

    lines = [f"setting FEED_EXPORT_ENCODING: outputs are in UTF-8, and not in {encoding}"] * told
    assert [record.message for record in caplog.records] == lines


def test_pace_that_a_spider_sets_on_itself_is_heard_before_the_crawl() -> None:
    class Slow(Plain):
        def __init__(self, **arguments: Any) -> None:
            super().__init__(**arguments)
            self.max_concurrent_requests = 3

    settings = try_spider(Slow, {"download_delay": "2.5"}, Settings())

    assert (settings.download_delay, settings.concurrent_requests_per_domain) == (2.5, 3)
    with pytest.raises(ConfigurationError, match="DOWNLOAD_DELAY"):
        try_spider(Plain, {"download_delay": "slow"}, Settings())


def test_attributes_that_a_spider_sets_on_itself_count_in_its_slave() -> None:
    spider = Plain(user_agent="Mine/1.0", download_delay="2")

    settings = spiders_say(Settings(), spider)

    assert (settings.user_agent, settings.download_delay) == ("Mine/1.0", None)


class Sets(Plain):
    seen: Any = None

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Any:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.settings.set("ITEM_PIPELINES", {"my.Pipeline": 3, "my.Other": None}, priority="spider")
        spider.settings.set("MINE", spider.settings.getint("DEPTH_LIMIT") + 1)
        crawler.settings.set("DOWNLOAD_DELAY", 4)
        cls.seen = (crawler.settings.depth_limit, crawler.settings["MINE"], "MINE" in spider.settings)
        return spider


def test_settings_that_a_spider_sets_while_it_is_made_count() -> None:
    handle = CrawlHandle(Settings(depth_limit=6), Sets)

    spider = spider_of(Sets, handle, {})

    assert Sets.seen == (6, 7, True)
    assert spider.settings is handle.settings
    assert dict(handle.settings.item_pipelines) == {"my.Pipeline": 3}
    assert (handle.settings["MINE"], handle.settings.download_delay, handle.settings.depth_limit) == (7, 4.0, 6)
    assert try_spider(Sets, {}, Settings()).download_delay == 4.0
    with pytest.raises(AttributeError):
        spider.settings.set("MINE", 8)  # type: ignore[attr-defined]


def test_settings_of_a_spider_that_cannot_be_made_are_as_they_were() -> None:
    class Breaks(Sets):
        @classmethod
        def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Any:
            super().from_crawler(crawler, *args, **kwargs)
            raise ValueError("no")

    handle = CrawlHandle(Settings(), Breaks)

    with pytest.raises(ValueError, match="no"):
        spider_of(Breaks, handle, {})
    assert handle.settings == Settings()


class Adding:
    """Adds a component, and a setting below what people set."""

    @classmethod
    def from_crawler(cls, crawler: Any) -> Any:
        if crawler.spidercls.name == "alone":
            raise NotConfigured("it is alone")
        return cls()

    def update_settings(self, settings: Any) -> None:
        settings.set("DEPTH_LIMIT", 9, priority="addon")
        settings.set("MINE", "added", priority="addon")
        settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", Links, 5)


def test_add_on_changes_settings_below_those_that_people_set() -> None:
    settings = merged_settings(RankedSettings({"ADDONS": {Adding: 1}, "DEPTH_LIMIT": 2}), Plain)

    assert (settings.depth_limit, settings["MINE"]) == (2, "added")
    assert settings.item_pipelines == {"p2pcrawl.spiders.loading.plain:Links": 5}


def test_add_on_that_is_not_configured_takes_no_part(caplog: pytest.LogCaptureFixture) -> None:
    spider = type("Alone", (Plain,), {"name": "alone"})

    settings = merged_settings(RankedSettings({"ADDONS": {Adding: 1}}), spider)

    assert "MINE" not in settings
    assert "takes no part: it is alone" in caplog.text


def test_settings_of_a_project_know_the_defaults() -> None:
    settings = ProjectSettings({"DEPTH_LIMIT": 3})

    copy = settings.copy()

    assert (copy.getint("DEPTH_LIMIT"), copy.getint("RETRY_TIMES"), copy["NONE"]) == (3, 2, None)
    assert merged_settings(settings, Plain).depth_limit == 3
    assert isinstance(settings, BaseSettings)


class FedWhenIdle(Spider):
    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> FedWhenIdle:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.feed, signal=signals.spider_idle)
        return spider

    def feed(self) -> None:
        """Would queue requests."""


def test_spider_that_is_fed_when_idle_needs_nowhere_to_start() -> None:
    try_spider(FedWhenIdle, {}, Settings())

    with pytest.raises(ConfigurationError, match="nowhere to start"):
        try_spider(Spider, {}, Settings())


@pytest.mark.parametrize("setting", ["ITEM_PIPELINES", "DOWNLOADER_MIDDLEWARES", "SPIDER_MIDDLEWARES", "EXTENSIONS"])
def test_component_that_is_missing_is_told_with_the_setting_that_names_it(setting: str) -> None:
    settings = Settings(**{setting.lower(): {"nowhere.pipes.Pipe": 1}})

    with pytest.raises(ConfigurationError, match=rf"no module nowhere.* \({setting} names nowhere\.pipes\.Pipe\)$"):
        try_spider(Plain, {}, settings)
