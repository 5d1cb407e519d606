"""Scrapy's FEEDS, read as destinations of ours; what cannot be kept is refused by its name."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.feeds.feed_sinks import feed_sinks, same_but_for_time, tells_time

NOW = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)


class GzipPlugin:
    """Stands for the class that people import from Scrapy."""


def read(address: Any, **options: Any) -> SinkSpec:
    (found,) = feed_sinks({str(address): options}, "books", {"category": "fi ction"}, NOW)
    return found


@pytest.mark.parametrize(
    ("address", "options", "spec"),
    [
        ("out.json", {"format": "json"}, SinkSpec("out.json")),
        ("out.jl", {"format": "jsonlines"}, SinkSpec("out.jl")),
        ("out.csv", {}, SinkSpec("out.csv")),
        ("out.csv", {"overwrite": True}, SinkSpec("out.csv", replace=True)),
        ("out.dat", {"format": "csv"}, SinkSpec("out.dat", {"format": "csv"})),
        ("file:///tmp/a%20b.json", {"format": "json"}, SinkSpec("/tmp/a b.json")),
        ("stdout:", {"format": "jsonlines"}, SinkSpec("-")),
        ("%(name)s-%(category)s.json", {}, SinkSpec("books-fi ction.json")),
        ("%(time)s.json", {}, SinkSpec("2026-01-02T03-04-05+00-00.json")),
        ("100%.json", {}, SinkSpec("100%.json")),
        ("out.json", {"indent": 4}, SinkSpec("out.json", {"indent": "4"})),
        ("out.json", {"indent": 0}, SinkSpec("out.json", {"indent": "0"})),
        ("out.jsonl", {"indent": 4}, SinkSpec("out.jsonl")),
        ("out.xml", {"indent": 0}, SinkSpec("out.xml")),
        ("out.json", {"fields": ["b", "a"]}, SinkSpec("out.json", {"fields": '["b", "a"]'})),
        ("out.json", {"fields": {"b": "B"}}, SinkSpec("out.json", {"fields": '{"b": "B"}'})),
        ("out.json", {"fields": None, "item_filter": None, "uri_params": None}, SinkSpec("out.json")),
        ("out.json", {"encoding": "utf8", "store_empty": True, "item_classes": []}, SinkSpec("out.json")),
        ("out.csv", {"encoding": "utf-8-sig"}, SinkSpec("out.csv", {"encoding": "utf-8-sig"})),
        ("out.json", {"batch_item_count": 0, "postprocessing": []}, SinkSpec("out.json")),
        ("out.json", {"where": "price > 5", "batch": 7}, SinkSpec("out.json", {"where": "price > 5", "batch": "7"})),
        ("out.csv.gz", {"format": "csv", "postprocessing": [GzipPlugin]}, SinkSpec("out.csv.gz")),
        ("out.parquet", {"format": "parquet"}, SinkSpec("out.parquet")),
        ("out.json.zst", {"format": "json"}, SinkSpec("out.json.zst")),
        ("out.zst", {"format": "json"}, SinkSpec("out.zst", {"format": "json.zst"})),
        (
            "out.csv",
            {"format": "csv", "postprocessing": ["scrapy.extensions.postprocessing.GzipPlugin"]},
            SinkSpec("out.csv", {"format": "csv.gz"}),
        ),
        (
            "https://ada:s@h/%(category)s?x=1",
            {"format": "json", "fields": ["a&b"], "where": "p > 5", "mode": "history", "store_empty": False},
            SinkSpec(
                "https://ada@h/fi%20ction?x=1", {"fields": '["a&b"]', "where": "p > 5", "mode": "history"}, secret="s"
            ),
        ),
        ("s3://b/a.jsonl.zst", {"format": "jsonlines"}, SinkSpec("s3://b/a.jsonl.zst")),
        ("s3://b/a.parquet", {"beside": "url"}, SinkSpec("s3://b/a.parquet", {"beside": "url"})),
        (
            "postgresql://h/shop",
            {"table": "books", "add_columns": True},
            SinkSpec("postgresql://h/shop?table=books", {"add_columns": "True"}),
        ),
        ("file:///d/a.jsonl", {"batch_item_count": 9}, SinkSpec("file:///d/a.jsonl", {"batch": "9"})),
        ("https://h/hook", {"auth": "sign"}, SinkSpec("https://h/hook", {"auth": "sign"})),
        ("https://h/hook", {"batch_item_count": 9}, SinkSpec("https://h/hook", {"batch": "9"})),
    ],
)  # fmt: skip
def test_feed_is_a_destination_in_other_words(address: str, options: dict[str, Any], spec: SinkSpec) -> None:
    assert read(address, **options) == spec


@pytest.mark.parametrize(
    ("address", "options", "told"),
    [
        ("out.json", {"format": "pickle"}, ", csv, xml, parquet: 'jsonlines' keeps all"),
        ("out.json", {"item_filter": "my.Filter"}, "'item_filter' is not known here: write what passes as 'where'"),
        ("out.json", {"item_classes": ["my.Item"]}, "'item_classes' is not known here"),
        ("out.json", {"item_export_kwargs": {"delimiter": ";"}}, "'item_export_kwargs' is not known here"),
        ("out.json", {"uri_params": "my.params"}, "'uri_params' is not known here: write %(name)s"),
        ("out.json", {"encoding": "latin-1"}, "all is written in UTF-8: 'encoding': 'latin-1' cannot be kept"),
        ("out.json", {"store_empty": False}, "'store_empty': False cannot be kept"),
        ("out.json", {"overwrite": "yes"}, "'overwrite' is True or False, not 'yes'"),
        ("out.json", {"indent": "x"}, "'indent' is a whole number"),
        ("out.xml", {"indent": 2}, "XML is not indented"),
        ("out.json", {"batch_item_count": 100}, "name a folder of parts instead, as file:///absolute/folder"),
        ("out-%(batch_id)d.json", {}, "leave %(batch_id)s out"),
        ("%(colour)s.json", {}, "%(colour)s is not known: there are %(category)s, %(name)s, %(time)s"),
        ("out.json", {"fields": "a,b"}, "'fields' is a list of names, or a mapping"),
        ("out.json", {"fields": ["a", "a"]}, "'a' is given twice"),
        ("out.json", {"postprocessing": ["scrapy.x.LZMAPlugin"]}, "no plugin scrapy.x.LZMAPlugin here"),
        ("out.parquet", {"postprocessing": [GzipPlugin]}, "compressed already"),
        ("out.csv.zst", {"postprocessing": [GzipPlugin]}, "says zstd, and GzipPlugin gzip"),
        ("out.json", {"gzip_compresslevel": 9}, "'gzip_compresslevel' is not known here: leave it out"),
        ("out.json", {"format": ["json"]}, "there is no format ['json']"),
        ("out.json", {"postprocessing": 5}, "'postprocessing' is a list of plugins, not 5"),
        ("out.json", {"where": ["price > 5"]}, "'where' is a text or a number, not ['price > 5']"),
        ("out.json", {"overwrit": True}, "no option 'overwrit': did you mean 'overwrite'?"),
        ("out.json", {"mode": "history"}, "no option 'mode'"),
        ("out.json", {"colour": "red"}, "no option 'colour'"),
        ("stdout:", {"format": "csv"}, "standard output is in JSON Lines only"),
        ("https://h/out.csv", {"format": "json"}, "ends in .csv, and that is its format"),
        ("https://h/out.csv", {"postprocessing": [GzipPlugin]}, "end the address in .csv.gz"),
    ],
)  # fmt: skip
def test_what_cannot_be_kept_is_refused_by_its_name(address: str, options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read(address, **options)

    assert told in str(caught.value)
    assert str(caught.value).startswith("FEEDS: ")


@pytest.mark.parametrize("address", ["https://ada:hidden@h/hook?token=hidden", "mongodb://ada:hid/hidden@h/a.b"])
def test_password_of_a_feed_is_not_shown(address: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read(address, format="json", colour="red")

    assert "hidden" not in str(caught.value)


def test_password_of_feeds_that_cannot_be_read_is_not_shown() -> None:
    with pytest.raises(ConfigurationError, match="in text as JSON") as caught:
        Settings().updated({"FEEDS": '{"https://ada:hidden@h/hook": {]'})

    assert "hidden" not in str(caught.value)
    assert "hidden" not in repr(Settings().updated({"FEEDS": '{"https://ada:hidden@h/hook": {}}'}))


def test_feed_that_is_no_mapping_is_told() -> None:
    with pytest.raises(ConfigurationError, match="a feed is a mapping"):
        feed_sinks({"out.json": "json"}, "books", {}, NOW)


def test_addresses_may_be_paths_and_feeds_may_be_typed() -> None:
    by_path = Settings().updated({"FEEDS": {Path("a/out.json"): {"format": "json"}}})
    typed = Settings().updated({"FEEDS": '{"a/out.json": {"format": "json"}}'})

    assert by_path.feeds == typed.feeds == {"a/out.json": {"format": "json"}}


@pytest.mark.parametrize("address", ["out/%(time)s.json", "https://h/%(time)s/items?x=1"])
def test_feed_of_another_start_is_known_by_all_but_the_time(address: str) -> None:
    later = NOW.replace(year=2027)
    (one,), (other,) = (feed_sinks({address: {}}, "books", {}, now) for now in (NOW, later))

    assert one.url != other.url
    assert same_but_for_time(one.url, other.url)
    assert not same_but_for_time(one.url, other.url + "x")


def test_feed_whose_name_tells_the_time_is_known_as_such() -> None:
    assert tells_time("out/%(time)s.json")
    assert not tells_time("out/%(name)s.json")
