"""Header fields as caching reads them."""

from __future__ import annotations

import pytest

from p2pcrawl.core.caching.directives import DELTA_MAX, Directives, age_of, http_date_of, joined_fields


def told(text: str, *ignored: str) -> Directives:
    return Directives({"cache-control": text}, ignored)


def test_lines_of_one_name_are_one_field() -> None:
    fields = joined_fields([("Vary", "Accept"), ("ETag", '"a"'), ("vary", "Cookie")])

    assert fields == {"vary": "Accept, Cookie", "etag": '"a"'}


def test_directives_are_read_in_any_case_quoted_or_not() -> None:
    directives = told('Public, MAX-AGE="60" ,, s-maxage = 7, private="Set-Cookie, X"')

    assert "public" in directives
    assert directives.seconds("max-age") == 60
    assert directives.seconds("s-maxage") == 7
    assert "x" not in directives


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("max-age=60, max-age=5", 5),
        ("max-age=soon", 0),
        ("max-age", 0),
        ("max-age=-1", 0),
        ("max-age=1.5", 0),
        ("max-age=٣", 0),
        ("max-age=" + "9" * 5_000, DELTA_MAX),
        ("public", None),
    ],
)
def test_doubtful_seconds_are_the_fewest(text: str, seconds: int | None) -> None:
    assert told(text).seconds("max-age") == seconds


def test_directives_can_be_passed_over() -> None:
    directives = told("no-store, max-age=5", "no-store")

    assert "no-store" not in directives
    assert "max-age" in directives


def test_pragma_counts_where_there_is_no_cache_control() -> None:
    assert "no-cache" in Directives({"pragma": "no-cache"})
    assert "no-cache" not in Directives({"pragma": "no-cache", "cache-control": "max-age=5"})


@pytest.mark.parametrize("text", ["=" * 50_000, '"' * 50_000, ", " * 30_000, 'a="' + "\\" * 50_000, "a" * 60_000])
def test_hostile_text_is_read_to_its_end(text: str) -> None:
    assert "no-store" not in told(text)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("Thu, 01 Jan 1970 00:01:00 GMT", 60.0),
        ("Thursday, 01-Jan-70 00:01:00 GMT", 60.0),
        ("Thu Jan  1 00:01:00 1970", 60.0),
        ("0", None),
        ("-1", None),
        ("Thu, 01 Jan 99999 00:00:00 GMT", None),
        ("x" * 100_000, None),
    ],
)
def test_dates_are_read_in_all_forms_and_nothing_else_is(text: str, at: float | None) -> None:
    assert http_date_of({"expires": text}, "expires") == at


def test_age_that_cannot_be_read_is_none() -> None:
    assert age_of({"age": "7"}) == 7
    assert age_of({"age": "7, 9"}) == 7
    assert age_of({"age": "old"}) == age_of({}) == 0
