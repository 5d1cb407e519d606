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
