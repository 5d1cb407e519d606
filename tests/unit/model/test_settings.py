"""Settings: read from text, refused with one clear line."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest

from p2pcrawl.model.choosing.article_reader import ArticleReader
from p2pcrawl.model.choosing.duplicate_pages import DuplicatePages
from p2pcrawl.model.choosing.proxy_stickiness import ProxyStickiness
from p2pcrawl.model.choosing.signature_form import SignatureForm, SignWhen
from p2pcrawl.model.cluster.placement import GroupPlacement
from p2pcrawl.model.crawl.cache_policy import CachePolicy
from p2pcrawl.model.crawl.purpose import ForbiddenPages, Purpose
from p2pcrawl.model.crawl.record import Order, ShardKey
from p2pcrawl.model.crawl.referrer import ReferrerPolicy
from p2pcrawl.model.crawl.settings import Settings, check_typed
from p2pcrawl.model.errors import ConfigurationError

CHANGED = {
    "article_reader": ArticleReader.RESILIPARSE,
    "duplicates": DuplicatePages.MARK,
    "duplicates_near": 0,
    "concurrent_requests": 7,
    "concurrent_requests_per_domain": 3,
    "download_delay": 0.5,
    "autothrottle_enabled": True,
    "default_request_headers": {"Accept": "text/plain"},
    "cookies_enabled": False,
    "http_user": "",
    "http_proxy": "http://proxy.example:3128",
    "fingerprint_headers": ("Accept", "X-Part"),
    "retry_http_codes": (500, 429),
    "retry_exceptions": ("own.Again",),
    "retry_failed_reasons": ("unknown-host", "http-404"),
    "httpcache_policy": CachePolicy.RFC9111,
    "httpcache_ignore_http_codes": (404, 500),
    "httpcache_ignore_schemes": ("https",),
    "httpcache_ignore_response_cache_controls": ("no-store", "no-cache"),
    "httperror_allowed_codes": (404,),
    "queue_order": Order.LIFO,
    "metarefresh_ignore_tags": ("script", "noscript"),
    "downloader_middlewares": {"own.Agents": 400, "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware": None},
    "spider_middlewares": {"own.Depth": 900},
    "addons": {"own.Adding": 1},
    "extensions": {"own.Watch": 1, "scrapy.extensions.telnet.TelnetConsole": None},
    "shard_key": ShardKey.URL,
    "item_pipelines": {"pipelines.Clean": 300},
    "feeds": {"out.csv": {"format": "csv", "fields": ["a"]}},
    "feed_export_fields": {"b": "B", "a": "a"},
    "feed_export_encoding": "UTF8",
    "referrer_policy": ReferrerPolicy.SAME_ORIGIN,
    "cross_origin_headers": ("X-A", "X-B"),
    "user_agents": {"Mozilla/5.0 (X11; Linux x86_64), one": 2.0, "two": 1.0},
    "session_pool": 7,
    "proxy_pool": ("file:proxies.txt", "http://p.example:8080"),
    "proxy_check_url": "https://check.example/",
    "proxy_sticky": ProxyStickiness.HOST,
    "proxy_ban_codes": (403,),
    "signature_key": "",
    "signature_agent": "",
    "signature_covers": ("@method", "@path"),
    "signature_when": SignWhen.ASKED,
    "signature_form": SignatureForm.STRING,
    "purpose": (Purpose.AI_TRAIN, Purpose.SEARCH),
    "purpose_forbidden": ForbiddenPages.MARK,
    "slaves": 2,
    "group_placement": GroupPlacement.HOST_BUCKET,
    "log_level": "DEBUG",
}


def other_value(name: str) -> object:
    default = getattr(Settings(), name)
    if name in CHANGED:
        return CHANGED[name]
    if isinstance(default, bool):
        return not default
    if isinstance(default, int | float):
        return default + 1
    return default + "x"


def as_text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return json.dumps(value) if isinstance(value, dict) else str(value)


NAMES = [f.name for f in fields(Settings) if f.name != "own"]


@pytest.mark.parametrize("name", NAMES)
def test_each_setting_reads_its_text_form_under_its_upper_case_name(name: str) -> None:
    value = other_value(name)

    settings = Settings().updated({name.upper(): as_text(value)})

    assert getattr(settings, name) == value


@pytest.mark.parametrize("name", NAMES)
def test_differences_travel_as_plain_data_and_make_the_same_settings(name: str) -> None:
    settings = Settings().updated({name: other_value(name)})

    again = Settings().updated(json.loads(json.dumps(settings.differences())))

    assert again == settings


@pytest.mark.parametrize(
    ("given", "nearest"),
    [("download_dely", "DOWNLOAD_DELAY"), ("depth_limits", "DEPTH_LIMIT"), ("Robotstxt_Obay", "ROBOTSTXT_OBEY")],
)
def test_unknown_setting_is_refused_with_the_nearest_name(given: str, nearest: str) -> None:
    with pytest.raises(ConfigurationError, match=f"did you mean {nearest}"):
        Settings().updated({given: 1})


def test_upper_case_name_that_is_not_ours_is_kept_and_travels() -> None:
    settings = Settings().updated({"MY_KEYS": ["a", "b"]}).updated({"MY_LIMIT": "7", "DEPTH_LIMIT": "2"})

    again = Settings().updated(json.loads(json.dumps(settings.differences())))

    assert again == settings
    assert (again["MY_KEYS"], again.getint("MY_LIMIT"), again.getint("DEPTH_LIMIT")) == (["a", "b"], 7, 2)
    assert (again.get("NONE"), again["NONE"], "MY_KEYS" in again, "NONE" in again) == (None, None, True, False)


@pytest.mark.parametrize("name", ["DOWNLOAD_DELY", "RETRY_TIME", "robotstxt_obay"])
def test_typed_name_that_is_nearly_ours_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="did you mean"):
        check_typed([name], "the command line")


@pytest.mark.parametrize("name", ["DEPTH_LIMIT", "depth_limit", "HTTPCACHE_ENABLED", "MY_OWN", "LOG_SHORT_NAMES"])
def test_typed_name_that_is_ours_or_scrapys_or_like_no_other_is_taken(name: str) -> None:
    check_typed([name], "the command line")


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        ("getbool", "True", True),
        ("getbool", "0", False),
        ("getint", "3", 3),
        ("getfloat", "0.5", 0.5),
        ("getlist", "a,b", ["a", "b"]),
        ("getdict", '{"a": 1}', {"a": 1}),
        ("getdictorlist", "a,b", ["a", "b"]),
        ("getdictorlist", "[1]", [1]),
        ("getwithbase", '{"a": 1}', {"b": 2, "a": 1}),
    ],
)
def test_own_setting_is_read_from_text_as_what_is_wanted(read: str, text: str, value: object) -> None:
    settings = Settings().updated({"MINE": text, "MINE_BASE": '{"b": 2}'})

    assert getattr(settings, read)("MINE") == value


@pytest.mark.parametrize(
    ("read", "value"),
    [("getbool", False), ("getint", 0), ("getfloat", 0.0), ("getlist", []), ("getdict", {}), ("getdictorlist", [])],
)
def test_setting_that_is_not_there_is_read_as_nothing(read: str, value: object) -> None:
    assert getattr(Settings(), read)("MINE") == value


def test_own_setting_that_is_neither_true_nor_false_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="MINE is true or false"):
        Settings().updated({"MINE": "perhaps"}).getbool("MINE")


def test_setting_like_no_other_is_refused_without_a_guess() -> None:
    with pytest.raises(ConfigurationError) as refused:
        Settings().updated({"xyzzy": 1}, "the command line")

    assert str(refused.value) == "unknown setting 'xyzzy' in the command line"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("download_delay", "nan"),
        ("download_delay", "inf"),
        ("download_delay", float("nan")),
        ("download_delay", -1),
        ("download_timeout", "inf"),
        ("download_timeout", 0),
        ("retry_times", float("inf")),
        ("retry_times", 1.5),
        ("retry_times", "1e3"),
        ("retry_times", []),
        ("concurrent_requests", 0),
        ("retry_http_codes", "500,x"),
        ("retry_http_codes", 500),
        ("default_request_headers", "{"),
        ("default_request_headers", "[1]"),
        ("item_pipelines", '{"a.B": "first"}'),
        ("cookies_enabled", "perhaps"),
        ("user_agent", 5),
        ("user_agent", "a\nb"),
        ("queue_order", "random"),
        ("log_level", "loud"),
        ("http_user", "me"),
        ("http_proxy", "ftp://proxy"),
        ("slaves", -1),
        ("slave_silence", "1e12"),
        ("slave_silence", "1.5"),
        ("download_delay", 1e10),
        ("download_maxsize", "9" * 30),
        ("slaves", 1 << 70),
    ],
)
def test_value_that_cannot_work_is_refused_in_one_line_that_names_the_setting(name: str, value: object) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Settings().updated({name: value})

    assert name.upper() in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["none", "", "auto", "None"])
def test_delay_can_be_left_to_the_hosts(text: str) -> None:
    assert Settings(download_delay=3.0).updated({"download_delay": text}).download_delay is None


def test_names_of_scrapy_and_old_ones_are_understood() -> None:
    settings = Settings().updated({"ROBOTS_OBEY": "no", "loglevel": "debug"})

    assert (settings.robotstxt_obey, settings.log_level) == (False, "debug")


@pytest.mark.parametrize(
    ("user_agent", "set_name", "agent"),
    [
        ("p2pcrawl/0.1", "", "p2pcrawl"),
        ("MyBot (+http://x)", "", "MyBot"),
        ("x/1", "Other", "Other"),
        ("Mozilla/5.0 (compatible; SomeBot/2.1; +http://x)", "", "SomeBot"),
        ("Mozilla/5.0 (X11; Linux x86_64)", "", "Mozilla"),
        ("", "", ""),
    ],
)
def test_name_for_robots_txt_is_the_product_of_the_user_agent(user_agent: str, set_name: str, agent: str) -> None:
    assert Settings(user_agent=user_agent, robotstxt_user_agent=set_name).robots_agent == agent


def test_purpose_that_nobody_knows_is_refused_with_those_that_are() -> None:
    with pytest.raises(ConfigurationError, match="some of search, ai-input, ai-train, not 'profit'"):
        Settings().updated({"PURPOSE": "profit"})


def test_robots_txt_with_signals_is_known_apart_from_that_without() -> None:
    assert Settings(purpose=(Purpose.SEARCH,)).robots_key != Settings().robots_key
    assert Settings(usage_field="usage").reads_robots
    assert not Settings(robotstxt_obey=False).reads_robots


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"SIGNATURE_KEY": "bot.pem"}, "need each other"),
        ({"SIGNATURE_AGENT": "https://bot.example"}, "need each other"),
        (
            {"SIGNATURE_KEY": "bot.pem", "SIGNATURE_AGENT": "http://bot.example"},
            "an origin such as https://bot.example",
        ),
        ({"SIGNATURE_KEY": "bot.pem", "SIGNATURE_AGENT": "https://bot.example/x"}, "without a path"),
        ({"SIGNATURE_COVERS": "@path,cookie"}, "some of @method, .* not 'cookie'"),
    ],
)
def test_signature_that_cannot_be_checked_is_refused(given: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        Settings().updated(given)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"DUPLICATES": "markk"}, "DUPLICATES is one of mark, drop"),
        ({"DUPLICATES_NEAR": "3"}, "DUPLICATES_NEAR needs DUPLICATES"),
        ({"DUPLICATES": "drop", "DUPLICATES_NEAR": "7"}, "from 0 to 6, not 7"),
        ({"DUPLICATES": "mark", "DUPLICATES_FIELD": ""}, "needs DUPLICATES_FIELD"),
    ],
)
def test_duplicates_that_cannot_be_told_are_refused(changes: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Settings().updated(changes)
