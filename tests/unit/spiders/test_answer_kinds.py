"""The classes of answers: which one fits, and responses that people make themselves, in tests of their callbacks."""

from __future__ import annotations

from typing import Any

import pytest

from p2pcrawl.http import Headers, HtmlResponse, JsonResponse, Request, Response, TextResponse, XmlResponse
from p2pcrawl.linkextractors import LinkExtractor
from p2pcrawl.model.errors import NotSupported
from p2pcrawl.responsetypes import responsetypes
from p2pcrawl.selector import Selector
from p2pcrawl.spiders.page.answer_kinds import response_class
from tests.unit.spiders.pages import page

URL = "http://a.example/"
PNG = b"\x89PNG\r\n\x1a\n\x00\x00"


@pytest.mark.parametrize(
    ("content_type", "url", "body", "kind"),
    [
        ("text/html", URL, b"", HtmlResponse),
        ("TEXT/HTML ; charset=x", URL, PNG, HtmlResponse),
        ("application/xhtml+xml", URL, b"", HtmlResponse),
        ("text/xml", URL, b"", XmlResponse),
        ("application/rss+xml; charset=utf-8", URL, b"", XmlResponse),
        ("application/json", URL, b"", JsonResponse),
        ("application/ld+json", URL, b"", JsonResponse),
        ("text/plain", URL, b"<html>", TextResponse),
        ("application/javascript", URL, b"", TextResponse),
        ("image/png", URL, PNG, Response),
        ("application/octet-stream", URL, b"words", TextResponse),
        ("application/octet-stream", f"{URL}a.html?x", b"", HtmlResponse),
        ("", f"{URL}feed.xml", b"", XmlResponse),
        ("", f"{URL}a.json", b"", JsonResponse),
        ("", f"{URL}a.html.gz", PNG, Response),
        ("", URL, b" \n<?xml version='1.0'?>", XmlResponse),
        ("", URL, b"<!DOCTYPE html>", HtmlResponse),
        ("", URL, b"some <HTML>", HtmlResponse),
        ("", URL, b"words", TextResponse),
        ("", URL, "wörds".encode("utf-16"), TextResponse),
        ("", URL, PNG, Response),
        ("", "http://[", b"", TextResponse),
    ],
)
def test_answer_has_the_class_that_its_host_its_url_or_its_content_say(
    content_type: str, url: str, body: bytes, kind: type[Response]
) -> None:
    assert response_class(content_type, url, body) is kind


@pytest.mark.parametrize("ask", [lambda r: r.css("a"), lambda r: r.xpath("//a"), lambda r: r.jmespath("a")])
def test_nothing_is_selected_from_what_is_no_text(ask: Any) -> None:
    response = page(PNG, url=f"{URL}x.png", content_type="image/png")

    with pytest.raises(NotSupported, match="no text"):
        ask(response)
    assert not hasattr(response, "text")
    assert (response.links, response.title) == ([], "")


def test_response_is_made_for_a_test_of_a_callback() -> None:
    request = Request(URL, meta={"a": 1, "depth": 3}, cb_kwargs={"b": 2})

    response = HtmlResponse(
        URL,
        404,
        {"Content-Type": "text/html", "Set-Cookie": ["a=1", b"b=2"]},
        "<title>é</title><a href='x?q=é'>",
        ["cached"],
        request,
        ip_address="10.0.0.1",
        protocol="HTTP/1.1",
        encoding="latin-1",
    )

    assert (response.status, response.body[:9], response.encoding) == (404, b"<title>\xe9<", "cp1252")
    assert response.css("title::text").get() == "é"
    assert response.headers.getlist("set-cookie") == [b"a=1", "b=2"]
    assert (response.flags, response.request, response.cb_kwargs) == (["cached"], request, {"b": 2})
    assert (response.meta["a"], response.depth, response.ip_address, response.protocol) == (
        1,
        3,
        "10.0.0.1",
        "HTTP/1.1",
    )
    assert response.follow(response.css("a")[0]).url == "http://a.example/x?q=%E9"


def test_response_without_a_request_says_so() -> None:
    response = TextResponse(URL, body=b"words")

    with pytest.raises(AttributeError, match="request="):
        _ = response.meta
    assert response.request is None


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: Response(URL, body="text"), "TextResponse"),  # type: ignore[arg-type]
        (lambda: TextResponse(URL, body="text"), "encoding"),
        (lambda: Response(7), "not int"),  # type: ignore[arg-type]
    ],
)
def test_response_of_the_wrong_types_is_refused(made: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        made()


def test_copy_has_what_is_not_changed() -> None:
    response = HtmlResponse(URL, 200, {"A": ["1", "2"]}, b"\xe9", encoding="cp1252", request=Request(URL))

    changed = response.replace(status=500, body=b"\xe8")

    assert (type(changed), changed.status, changed.text, changed.headers) == (HtmlResponse, 500, "è", {"A": ["1", "2"]})
    assert changed.request is response.request
    assert type(response.replace(cls=XmlResponse)) is XmlResponse
    assert response.copy().headers is not response.headers


def test_xml_is_parsed_as_xml_whatever_its_headers_say() -> None:
    assert XmlResponse(URL, body=b"<a><link>x</link></a>").xpath("//link/text()").get() == "x"


def test_selector_is_that_of_its_response() -> None:
    response = HtmlResponse(URL, body=b"<p>1<p>2")

    assert Selector(response).css("p::text").getall() == Selector(response=response).xpath("//p/text()").getall()
    assert Selector(text="<p>3").css("p::text").get() == "3"
    assert Selector(text='{"a": 1}', type="json").jmespath("a").get() == 1
    assert response.selector.response is response


def test_headers_of_an_answer_are_read_in_either_idiom() -> None:
    response = page("", headers={"X-A": "1"})

    assert isinstance(response.headers, Headers)
    assert response.headers.get("x-a") == b"1"
    assert response.headers[b"Content-Type"].decode().startswith("text/html")


BASES = [
    ("<base href='/b/'><a href=x>", "https://example.com/b/x"),
    ("<BASE href='/b/'><a href=x>", "https://example.com/b/x"),
    ("<base target=x><a href=x>", "https://example.com/shop/x"),
    ("<a href=x>", "https://example.com/shop/x"),
]


@pytest.mark.parametrize("first", ["tree", "selector", "url"])
@pytest.mark.parametrize(("body", "joined"), BASES)
def test_link_is_joined_to_the_base_of_its_page_whatever_was_asked_before(body: str, joined: str, first: str) -> None:
    response = page(body)
    getattr(response, first)

    assert response.urljoin("x") == joined


def test_base_of_a_page_in_utf_16_counts() -> None:
    response = page("<base href='/b/'>".encode("utf-16"))

    assert response.urljoin("x") == "https://example.com/b/x"


def test_what_a_link_extractor_finds_is_followed() -> None:
    response = page("<a href='x?b=1'>")
    links = LinkExtractor().extract_links(response)

    assert response.follow(links[0]).url == "https://example.com/shop/x?b=1"
    assert response.follow_all(links).urls == ["https://example.com/shop/x?b=1"]


def test_text_that_is_posted_from_a_page_is_in_its_encoding() -> None:
    response = page("ü".encode("cp1252"), content_type="text/html; charset=windows-1252")

    assert response.follow("/x", method="POST", body="ü").body == b"\xfc"
    assert response.follow("/x", method="POST", body="ü", encoding="utf-8").body == b"\xc3\xbc"


def test_flags_and_headers_can_be_set() -> None:
    response = page("")

    response.flags = ["cached"]
    response.headers = {b"X-A": [b"1", "2"]}  # type: ignore[assignment]

    assert response.flags == ["cached"]
    assert response.headers.getlist("x-a") == ["1", "2"]


def test_json_is_read_once() -> None:
    response = JsonResponse(URL, body=b'{"a": 1}')

    assert response.json() is response.json()


@pytest.mark.parametrize("nothing", [None, ""])
def test_link_that_is_not_there_is_joined_to_the_page_itself(nothing: Any) -> None:
    assert page("").urljoin(nothing) == "https://example.com/shop/list.html"


def test_text_has_the_name_that_old_spiders_know() -> None:
    assert page("<p>é").body_as_unicode() == "<p>é"


@pytest.mark.parametrize(
    ("known", "kind"),
    [
        ({"url": "http://a.example/x.csv"}, TextResponse),
        ({"headers": Headers({"Content-Type": "text/html"}), "url": "http://a.example/x.xml"}, HtmlResponse),
        ({"headers": {b"Content-Type": [b"text/xml"]}}, XmlResponse),
        ({"headers": {"Content-Disposition": 'attachment; filename="a b.json"'}}, JsonResponse),
        ({"headers": {"Content-Type": "text/html", "Content-Encoding": "gzip"}, "body": PNG}, Response),
        ({"url": URL, "filename": "of/them.html"}, HtmlResponse),
        ({"filename": "what?.xml.gz"}, Response),
        ({"url": URL, "body": b"<!doctype html>"}, HtmlResponse),
        ({"body": PNG}, Response),
        ({}, Response),
    ],
)
def test_kind_is_chosen_by_what_is_known(known: dict[str, Any], kind: type[Response]) -> None:
    assert responsetypes.from_args(**known) is kind


@pytest.mark.parametrize("kind", [Response, HtmlResponse])
def test_body_that_is_neither_is_refused_though_it_be_empty(kind: type[Response]) -> None:
    with pytest.raises(TypeError, match="is bytes, not dict"):
        kind(URL, body={})  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [Response, HtmlResponse])
def test_answer_without_a_body_is_empty(kind: type[Response]) -> None:
    assert kind(URL, body=None).body == kind(URL, body=b"x").replace(body=None).body == b""
