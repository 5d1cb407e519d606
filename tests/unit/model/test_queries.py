"""Queries in the encoding of their page."""

from __future__ import annotations

import pytest

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import BadRequest
from p2pcrawl.model.http.queries import with_query_in


@pytest.mark.parametrize(
    ("url", "encoding", "sent"),
    [
        ("/é?q=é", "cp1252", "/é?q=%E9"),
        ("/?q=поиск&r=é", "cp1251", "/?q=%EF%EE%E8%F1%EA&r=%26%23233%3B"),
        ("/?q=%E9é", "cp1252", "/?q=%E9%E9"),
        ("/?q=ソ", "cp932", "/?q=%83%5C"),
        ("/?q=é", "utf-16-le", "/?q=é"),
        ("/?q=é", "utf-8", "/?q=é"),
        ("/?q=é", "no-encoding", "/?q=é"),
        ("/?q=é#ü", "cp1252", "/?q=%E9#ü"),
        ("/#é?é", "cp1252", "/#é?é"),
        ("/é", "cp1252", "/é"),
    ],
)
def test_query_is_escaped_in_the_encoding_of_its_page_and_the_path_is_not(url: str, encoding: str, sent: str) -> None:
    assert with_query_in(url, encoding) == sent


def test_request_has_its_query_and_its_body_in_its_encoding() -> None:
    request = Request("http://a.example/?q=é", method="POST", body="é", encoding="latin-1")

    assert (request.url, request.body) == ("http://a.example/?q=%E9", b"\xe9")
    assert request.replace(priority=1).encoding == "latin-1"


def test_encoding_that_is_not_known_is_refused() -> None:
    with pytest.raises(BadRequest, match="encoding"):
        Request("http://a.example/", encoding="utf-9")


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("http://a.example/é ü?q=é r#ö", "http://a.example/%C3%A9%20%C3%BC?q=%C3%A9%20r#%C3%B6"),
        (" http://a.example/x\n", "http://a.example/x"),
        ("http://a.example/a\tb", "http://a.example/ab"),
        ("http://ä.example/x y", "http://ä.example/x%20y"),
        ("http://a.example/\ud800", "http://a.example/%EF%BF%BD"),
        ("http://a.example/%20é%2F", "http://a.example/%20%C3%A9%2F"),
        ("http://a.example?é", "http://a.example?%C3%A9"),
    ],
)
def test_url_of_a_request_is_escaped_as_it_will_be_sent(url: str, sent: str) -> None:
    assert Request(url).url == sent
