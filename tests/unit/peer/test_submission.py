"""What a submission may be: it comes over HTTP and over links, and ends at every master."""

from __future__ import annotations

import re
from typing import Any

import pytest

from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.answers.submission import Submission, check_code, flag_of, submission_of
from p2pcrawl.spiders.spider import Spider

GOOD = {"name": "a", "urls": ["http://a.example/"], "qualname": "Links", "module": "p2pcrawl.spiders.loading.plain"}


def test_good_submission_is_read_and_written_the_same() -> None:
    assert Submission.read(GOOD).plain() == Submission.read(Submission.read(GOOD).plain()).plain()


@pytest.mark.parametrize(
    "change",
    [
        {"unknown": 1},
        {"name": ""},
        {"name": 5},
        {"name": None},
        {"urls": "http://a.example/"},
        {"urls": [5]},
        {"urls": [None]},
        {"urls": [["http://a.example/"]]},
        {"arguments": {"a": 5}},
        {"arguments": {"a": None}},
        {"arguments": ["a"]},
        {"settings": {"no_such_setting": 1}},
        {"settings": {"concurrent_requests": "many"}},
        {"settings": []},
        {"settings": {"FEEDS": {"https://ada:s3cret@h/hook": {}}}},
        {"code": "x = 1", "file": ""},
        {"code": "x = 1", "file": ".."},
        {"code": "x = 1", "file": "a\x00b"},
        {"code": 5},
        {"outputs": [5]},
        {"sinks": "s3://a"},
        {"sinks": [5]},
        {"sinks": [{"url": 5}]},
        {"sinks": [{"url": "s3://a", "options": {"mode": 5}}]},
        {"sinks": [{"url": "s3://" + "a" * 5000}]},
        {"sinks": [{"url": "pages.jsonl"}]},
        {"sinks": [{"url": "-"}]},
        {"sinks": [{"url": "mongodb://ada:s3cret@db/shop"}]},
    ],
)
def test_bad_submission_is_one_clear_line(change: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError) as error:
        Submission.read({**GOOD, **change})
    assert "\n" not in str(error.value)
    assert "s3cret" not in str(error.value)


def test_sinks_travel_with_their_passwords_and_are_a_part_of_the_job_without() -> None:
    sink = {"url": "mongodb://ada@db/shop", "options": {"mode": "history"}, "replace": True, "secret": "s3cret"}

    submission = Submission.read(Submission.read({**GOOD, "sinks": [sink]}).plain())

    assert submission.sinks[0].secret == "s3cret"
    assert "s3cret" not in repr(submission)
    assert "s3cret" not in repr(submission.spec())
    assert submission.spec().sinks[0].options == {"mode": "history"}


def test_submission_without_a_spider_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="names a spider"):
        Submission.read({"name": "a"})


class Fed(Spider):
    """A spider that says itself where its items go."""

    name = "fed"
    start_urls = ("http://a.example/",)
    custom_settings = {"FEEDS": {"https://ada:s3cret@h/%(shelf)s": {"where": "price > 5"}}}  # noqa: RUF012


def test_feeds_of_a_spider_are_its_sinks_and_no_setting_of_the_job() -> None:
    submission = submission_of(Fed, Settings(), {}, {"shelf": "one"})

    assert submission.sinks == [SinkSpec("https://ada@h/one", {"where": "price > 5"}, secret="s3cret")]
    assert submission.settings == {}


def test_sinks_that_are_given_take_the_place_of_the_spiders_own_feeds() -> None:
    given = SinkSpec("https://h/other")

    typed = {"feeds": '{"https://h/hook": {}}'}

    assert submission_of(Fed, Settings(), {}, {"shelf": "one"}, [given]).sinks == [given]
    assert submission_of(Fed, Settings(), typed, {}, [given]).sinks == [given, SinkSpec("https://h/hook")]
    assert submission_of(Fed, Settings(), {"FEEDS": "{}"}, {}).sinks == []


def test_table_in_a_file_is_no_place_for_a_cluster() -> None:
    plain = submission_of(Fed, Settings(), {"FEEDS": {}}, {}, [SinkSpec("sqlite:////data/shop.db?table=books")]).plain()

    with pytest.raises(ConfigurationError, match=r"sqlite:.* is a file.*results JOB -o sqlite"):
        Submission.read(plain)


def test_feed_that_is_a_file_is_no_place_for_a_cluster() -> None:
    with pytest.raises(ConfigurationError, match=r"out\.json is a file.*-s FEEDS=\{\}"):
        submission_of(Fed, Settings(), {"FEEDS": {"out.json": {}}}, {})


@pytest.mark.parametrize("value", ["false", "true", 0, 1, None, []])
def test_what_is_neither_true_nor_false_is_not_taken_for_either(value: object) -> None:
    with pytest.raises(ConfigurationError, match="force is true or false"):
        flag_of({"force": value}, "force")


def test_flag_that_is_not_named_is_not_set() -> None:
    assert [flag_of(call, "force") for call in ({}, {"force": False}, {"force": True})] == [False, False, True]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import p2pcrawl\n\nclass News(p2pcrawl.Spider:\n", "news.py, line 3: "),
        ("x = 1\nreturn x\n", "news.py, line 2: 'return' outside function"),
        ("x = '\x00'", "news.py"),
        ("(" * 5_000, "news.py"),
    ],
)
async def test_code_that_does_not_compile_is_refused_with_its_line(code: str, told: str) -> None:
    submission = Submission.read({"name": "news", "file": "news.py", "code": code})

    with pytest.raises(ConfigurationError, match=re.escape(told)):
        await check_code(submission)


async def test_code_that_compiles_and_boards_are_not_refused_for_their_code() -> None:
    await check_code(Submission.read({"name": "news", "file": "news.py", "code": "import what_is_not_there"}))
    await check_code(Submission.read({"name": "news", "file": "news.toml", "code": "entries = ['http://a.example/']"}))
