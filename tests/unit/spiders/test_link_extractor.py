"""LinkExtractor: which links of a page it finds, and how their URLs and texts come out."""

from __future__ import annotations

import re
from typing import Any

import parsel
import pytest

from p2pcrawl.link import Link
from p2pcrawl.linkextractors import IGNORED_EXTENSIONS, LinkExtractor
from tests.unit.spiders.pages import page

SHOP = """
<nav><a href="/about">About <b>us</b></a> <a href="/cart" rel="noopener, nofollow">Cart</a></nav>
<ul class="goods">
  <li><a href="item?id=1">One</a> <a href="item?id=1">One again</a></li>
  <li><a href="item?id=2#reviews">Two</a> <a href=" /picture.PNG ">Picture</a></li>
</ul>
<a href="https://other.example/x">Other</a> <a href="http://sub.example.com/y">Sub</a>
<a href="mailto:a@b.c">Mail</a> <a href="javascript:go('/secret')">Script</a> <a href="http://[broken">Broken</a>
<img src="/logo"> <link href="/style"> <area href="/area">
"""


def urls(html: str = SHOP, **chosen: Any) -> list[str]:
    return [link.url for link in LinkExtractor(**chosen).extract_links(page(html))]


def test_links_come_once_in_order_with_text_and_nofollow() -> None:
    links = LinkExtractor(deny_domains=["other.example", "sub.example.com"]).extract_links(page(SHOP))

    assert links == [
        Link("https://example.com/about", "About us"),
        Link("https://example.com/cart", "Cart", nofollow=True),
        Link("https://example.com/shop/item?id=1", "One"),
        Link("https://example.com/shop/item?id=2#reviews", "Two"),
        Link("https://example.com/area"),
    ]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        pytest.param({"allow": r"id=\d"}, ["shop/item?id=1", "shop/item?id=2#reviews"], id="allow"),
        pytest.param({"allow": [re.compile("ABOUT", re.I), "cart"]}, ["about", "cart"], id="allow-several"),
        pytest.param({"allow": "item", "deny": ["=2"]}, ["shop/item?id=1"], id="deny-wins"),
        pytest.param({"restrict_css": "nav"}, ["about", "cart"], id="css"),
        pytest.param({"restrict_css": "ul.goods > li:first-child"}, ["shop/item?id=1"], id="css-of-cssselect"),
        pytest.param({"restrict_xpaths": ["//ul", "//nav"], "allow": "about|=1"}, ["shop/item?id=1", "about"], id="x"),
        pytest.param({"restrict_text": "^Two|us$"}, ["about", "shop/item?id=2#reviews"], id="text"),
        pytest.param({"restrict_text": "again"}, [], id="text-of-the-first-link-to-a-url"),
        pytest.param({"tags": ("img", "link"), "attrs": ("src", "href")}, ["logo", "style"], id="tags-and-attrs"),
        pytest.param({"tags": "*", "deny_tags": ["a", "area"]}, ["style"], id="deny-tags"),
        pytest.param({"allow": "PNG", "deny_extensions": ["gif"]}, ["picture.PNG"], id="extensions"),
        pytest.param(
            {"allow": "item", "unique": False},
            ["shop/item?id=1", "shop/item?id=1", "shop/item?id=2#reviews"],
            id="not-unique",
        ),
        pytest.param({"allow": "=2", "canonicalize": True}, ["shop/item?id=2"], id="canonical"),
    ],
)
def test_links_are_chosen(chosen: dict[str, Any], expected: list[str]) -> None:
    assert urls(allow_domains="EXAMPLE.com", deny_domains="sub.example.com", **chosen) == [
        f"https://example.com/{each}" for each in expected
    ]


def test_domains_are_chosen_with_what_is_below_them_and_on_any_port() -> None:
    html = "<a href=http://example.com:81/a></a><a href=http://x.example.com/b></a><a href=http://badexample.com/c></a>"

    assert urls(html, allow_domains=["example.com"]) == ["http://example.com:81/a", "http://x.example.com/b"]
    assert urls(html, allow_domains=["example.com:81"]) == ["http://example.com:81/a"]


def test_process_value_gets_joined_values_and_may_leave_links_out() -> None:
    seen = []

    def process_value(value: str) -> str | None:
        seen.append(value)
        found = re.match(r"javascript:go\('(.*?)'\)", value)
        return found[1] if found else None

    assert urls(process_value=process_value) == ["https://example.com/secret"]
    assert "https://example.com/about" in seen


def test_queries_are_in_the_encoding_of_the_page_and_paths_in_utf8() -> None:
    response = page("<a href='/ж?q=ж'>x</a>".encode("cp1251"), content_type="text/html; charset=windows-1251")

    assert [link.url for link in LinkExtractor().extract_links(response)] == ["https://example.com/%D0%B6?q=%E6"]


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("?page=2", "https://example.com/shop/list.html?page=2"),
        ("#top", "https://example.com/shop/list.html#top"),
        ("", "https://example.com/shop/list.html"),
        ("../up", "https://example.com/up"),
        ("a/./b/../c", "https://example.com/shop/a/c"),
        ("//other.com/x", "https://other.com/x"),
        ("HTTP://EXAMPLE.org/A", "http://example.org/A"),
        ("/a b|c'?x='", "https://example.com/a%20b%7Cc'?x=%27"),
        ("/x\n/y", "https://example.com/x/y"),
        ("/p;v=1?", "https://example.com/p;v=1"),
    ],
)
def test_links_are_joined_and_escaped_as_scrapy_does(href: str, url: str) -> None:
    html = f'<a href="{href}"></a>'

    assert urls(html) == [url]
    assert urls(html, restrict_xpaths="//body") == [url]


def test_base_of_the_page_counts() -> None:
    assert urls('<base href="/root/"><a href=x></a><a href="?q=1"></a>') == [
        "https://example.com/root/x",
        "https://example.com/root/?q=1",
    ]


def test_libxml2_is_not_needed_unless_an_xpath_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsel.Selector, "__init__", None)

    assert urls(allow="about") == urls(restrict_css="nav", allow="about") == ["https://example.com/about"]
    with pytest.raises(TypeError):
        urls(restrict_xpaths="//nav")


@pytest.mark.parametrize("content_type", ["application/pdf", "image/png", "application/json"])
def test_what_is_no_markup_has_no_links(content_type: str) -> None:
    assert LinkExtractor().extract_links(page(SHOP, content_type=content_type)) == []


def test_xml_is_read_as_xml() -> None:
    response = page("<r><Item url='/a'>A</Item><link>/b</link></r>", content_type="text/xml")

    found = LinkExtractor(tags="Item", attrs="url").extract_links(response)

    assert [(link.url, link.text) for link in found] == [("https://example.com/a", "A")]


def test_region_that_is_no_element_is_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match="leave out the @attribute"):
        urls(restrict_xpaths="//nav/a/@href")


def test_css_that_is_none_is_refused_where_it_is_written() -> None:
    with pytest.raises(Exception, match="Expected"):
        LinkExtractor(restrict_css="div >")


def test_matches_asks_patterns_and_domains_only() -> None:
    extractor = LinkExtractor(allow="/a", deny="b", allow_domains="example.com")

    assert extractor.matches("http://example.com/a.pdf")
    assert not extractor.matches("http://example.com/ab")
    assert not extractor.matches("http://example.org/a")
    assert not extractor.matches("http://example.com/c")


def test_every_ignored_extension_is_ignored() -> None:
    html = "".join(f"<a href='/x.{each}?y=1'></a>" for each in IGNORED_EXTENSIONS) + "<a href=/x.html></a>"

    assert urls(html) == ["https://example.com/x.html"]


def test_links_are_equal_by_all_they_hold() -> None:
    assert Link("http://a/", "x") == Link("http://a/", "x")
    assert len({Link("http://a/", "x"), Link("http://a/", "x"), Link("http://a/", "y")}) == 2
    assert repr(Link("http://a/")) == "Link(url='http://a/', text='', fragment='', nofollow=False)"
    with pytest.raises(TypeError, match="text"):
        Link(b"http://a/")  # type: ignore[arg-type]
