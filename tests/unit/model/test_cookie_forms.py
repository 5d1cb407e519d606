"""Cookies as spiders write them."""

from __future__ import annotations

from typing import Any

import pytest

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import BadRequest


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (None, {}),
        ({"a": "1"}, {"a": "1"}),
        ({b"a": b"\xc3\xa9", "n": 7}, {"a": "é", "n": "7"}),
        ([{"name": "a", "value": "b"}], [{"name": "a", "value": "b"}]),
        (
            [{"name": b"a", "value": 1, "domain": ".a.example", "path": "/x", "secure": False, "httpOnly": True}],
            [{"name": "a", "value": "1", "domain": ".a.example", "path": "/x", "secure": False}],
        ),
    ],
)
def test_cookies_are_read_from_dicts_and_lists(given: Any, read: Any) -> None:
    assert Request("http://a.example/", cookies=given).cookies == read


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ([{"value": "b"}], BadRequest, "name"),
        ([{"name": "a"}], BadRequest, "no value"),
        ({"a": None}, BadRequest, "no value"),
        ({"a": ["1"]}, TypeError, "not list"),
        (["a=1"], TypeError, "dict"),
        ("a=1", TypeError, "not str"),
        (7, TypeError, "not int"),
    ],
)
def test_what_is_no_cookie_is_refused_where_it_is_written(given: Any, error: Any, told: str) -> None:
    with pytest.raises(error, match=told):
        Request("http://a.example/", cookies=given)
