"""Headers as spiders write and read them: in text or bytes, one value or several, in any case."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from multidict import CIMultiDict

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import BadRequest
from p2pcrawl.model.http.headers import Headers, header_lines


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ({"X-A": "1"}, [("X-A", "1")]),
        ({b"X-A": b"1"}, [("X-A", "1")]),
        ({"X-A": b"\xc3\xa9"}, [("X-A", "é")]),
        ({"X-A": ["1", b"2", 3]}, [("X-A", "1"), ("X-A", "2"), ("X-A", "3")]),
        ({"X-A": ("1", "2")}, [("X-A", "1"), ("X-A", "2")]),
        ({"X-A": 7}, [("X-A", "7")]),
        ([("X-A", "1"), ("X-B", "2")], [("X-A", "1"), ("X-B", "2")]),
        ([("X-A", "1"), (b"x-a", ["2", "3"])], [("X-A", "1"), ("X-A", "2"), ("X-A", "3")]),
        ({"X-A": None}, []),
    ],
)
def test_header_is_read_from_text_bytes_numbers_and_lists(given: Any, lines: list[tuple[str, str]]) -> None:
    assert Headers(given).lines == lines


def test_names_are_the_same_in_any_case_and_are_sent_as_they_were_written() -> None:
    headers = Headers({"x-api-KEY": "1"})

    headers.setdefault("X-Api-Key", "2")

    assert headers["X-API-KEY"] == headers[b"x-api-key"] == "1"
    assert "X-Api-Key" in headers
    assert headers.lines == [("x-api-KEY", "1")]


def test_value_can_be_treated_as_its_bytes() -> None:
    value = Headers({"Content-Type": "text/html; charset=utf-8"})["Content-Type"]

    assert value == b"text/html; charset=utf-8"
    assert value.decode("ascii").startswith("text/html")
    assert b"html" in value
    assert value.startswith(b"text/")
    assert value.split(b";")[0] == b"text/html"
    assert type(value.decode()) is str


def test_of_several_values_the_last_is_the_one() -> None:
    headers = Headers()
    headers.appendlist("Set-Cookie", "a=1")
    headers.appendlist("set-cookie", b"b=2")

    assert headers.get("Set-Cookie") == "b=2"
    assert headers.getlist("Set-Cookie") == [b"a=1", b"b=2"]
    assert headers.to_unicode_dict() == {"Set-Cookie": "a=1,b=2"}
    assert headers.setlistdefault("set-cookie", ["c=3"]) == ["a=1", "b=2"]
    assert headers.getlist("no", [b"default"]) == [b"default"]


def test_header_of_no_value_is_there_and_is_not_sent() -> None:
    headers = Headers({"Accept": None})

    headers.setdefault("Accept", "*/*")

    assert "Accept" in headers
    assert headers.get("Accept", "none") == "none"
    assert (dict(headers), headers.lines, bool(headers)) == ({}, [], True)


def test_headers_equal_what_they_are_made_of() -> None:
    headers = Headers({"A": "1", "B": ["2", "3"]})

    assert headers == {"a": b"1", "b": [b"2", b"3"]}
    assert headers != {"a": "1"}
    assert copy.deepcopy(headers) == headers.copy() == headers


@pytest.mark.parametrize(
    ("headers", "error", "told"),
    [
        ({"X-A": "1\r\nX-B: 2"}, BadRequest, "X-A"),
        ({"X-A": "token\n"}, BadRequest, "strip"),
        ({"X-A": b"\xff"}, BadRequest, "UTF-8"),
        ({"X-A": "\ud800"}, BadRequest, "half a character"),
        ({"X A": "1"}, BadRequest, "name of a header"),
        ({"": "1"}, BadRequest, "name of a header"),
        ({"X-A": object()}, TypeError, "X-A"),
        ({"X-A": {"a": 1}}, TypeError, "X-A"),
        ({7: "1"}, TypeError, "name"),
    ],
)
def test_header_that_cannot_be_sent_is_refused_where_it_is_written(headers: Any, error: Any, told: str) -> None:
    with pytest.raises(error, match=told):
        Request("http://a.example/", headers=headers)


def test_headers_that_are_set_later_are_read_likewise() -> None:
    request = Request("http://a.example/")

    request.headers = {b"X-A": [b"1", b"2"]}  # type: ignore[assignment]

    assert request.headers.lines == [("X-A", "1"), ("X-A", "2")]


def test_defaults_fill_what_is_not_there() -> None:
    headers = Headers({"accept": "mine", "X-A": None})

    headers.fill(Headers({"Accept": "theirs", "X-A": "1", "X-B": ["2", "3"]}))

    assert headers.lines == [("accept", "mine"), ("X-B", "2"), ("X-B", "3")]


def test_items_are_names_with_all_their_values() -> None:
    headers = Headers({"A": "1", "B": ["2", b"3"]})

    assert [(name, [value.decode() for value in values]) for name, values in headers.items()] == [
        ("A", ["1"]),
        ("B", ["2", "3"]),
    ]
    assert dict(headers) == {"A": "1", "B": "3"}
    assert header_lines(headers) == header_lines(CIMultiDict(headers.lines)) == [("A", "1"), ("B", "2"), ("B", "3")]


def test_bytes_of_a_host_are_read_whatever_they_are() -> None:
    assert Headers.lenient({b"X-A": [b"\xe9", b"\xc3\xa9"], "x": None}).lines == [("X-A", "é"), ("X-A", "é")]


def test_default_can_be_treated_as_bytes_as_a_value_can() -> None:
    headers = Headers({"X-A": "1"})

    assert headers.get("X-B", "none").decode("utf-8") == headers.get("X-B", "none") == "none"
    assert headers.get("X-B", "") == b""
    assert headers.getlist("X-B", "none") == headers.getlist("X-B", [b"none"]) == ["none"]
    assert (headers.get("X-B"), headers.get("X-B", b"").decode(), headers.getlist("X-B")) == (None, "", [])


def test_names_can_be_given_one_value() -> None:
    assert Headers.fromkeys(["X-A", "X-B"], 1).lines == [("X-A", "1"), ("X-B", "1")]
