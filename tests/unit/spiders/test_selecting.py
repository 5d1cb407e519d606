"""Selectors are parsel's in all but the time that they take, and joining links is the standard library's."""

from __future__ import annotations

from urllib.parse import urljoin

import parsel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.selector import Selector, SelectorList
from p2pcrawl.spiders.page.joining import LinkBase
from tests.unit.spiders.pages import page

HTML = (
    "<div class=a id=x><p>one <b>1</b></p><p>[1, 2]</p><a href='/x?a=1&amp;b=2'>&lt;x&gt;</a></div>"
    "<svg xmlns='http://www.w3.org/2000/svg'><circle r=5 /></svg>"
)
XML = "<r xmlns:n='http://n/'><n:a>1</n:a><b>2</b></r>"


@pytest.mark.parametrize(
    "query",
    [
        "//p",
        "//p/text()",
        "//a/@href",
        "count(//p)",
        "//p = 7",
        "boolean(//p)",
        "string(//a)",
        "//p[re:test(., 'o.e')]",
        "set:difference(//p, //p[1])",
        "//nothing",
        "//comment()",
        "//*[local-name()='circle']/@r",
        ".",
    ],
)
def test_query_finds_what_parsel_finds(query: str) -> None:
    ours, parsels = Selector(text=HTML), parsel.Selector(text=HTML)

    assert ours.xpath(query).getall() == parsels.xpath(query).getall()
    assert [each.xpath("..").getall() for each in ours.xpath(query)] == [
        each.xpath("..").getall() for each in parsels.xpath(query)
    ]


@pytest.mark.parametrize(
    "query", ["p", "p::text", "a::attr(href)", "#x > p:nth-child(2)::text", "p b, a", "p:contains(on)"]
)
def test_css_finds_what_parsel_finds(query: str) -> None:
    ours, parsels = Selector(text=HTML), parsel.Selector(text=HTML)

    assert ours.css(query).getall() == parsels.css(query).getall()
    assert ours.css("div").css(query).re(r"\w+") == parsels.css("div").css(query).re(r"\w+")


@pytest.mark.parametrize("query", ["//p[", "//n:a", "nothing()", "//p[$x]"])
def test_query_that_cannot_be_read_is_refused_as_parsel_refuses_it(query: str) -> None:
    for kind in (parsel.Selector, Selector):
        with pytest.raises(ValueError, match="XPath error"):
            kind(text=HTML).xpath(query)


def test_namespaces_are_those_of_the_selector_and_of_what_it_finds() -> None:
    selector, other = Selector(text=XML, type="xml"), Selector(text=XML, type="xml")

    selector.register_namespace("m", "http://n/")

    assert selector.xpath("//b").xpath("../m:a/text()").getall() == ["1"]
    assert selector.xpath("//k:a/text()", namespaces={"k": "http://n/"}).getall() == ["1"]
    with pytest.raises(ValueError, match="XPath error"):
        other.xpath("//m:a")
    selector.remove_namespaces()
    assert selector.xpath("//a/text()").getall() == ["1"]


def test_query_takes_variables() -> None:
    assert Selector(text=HTML).xpath("//p[$n]/text()", n=2).get() == "[1, 2]"


def test_json_in_a_page_is_read() -> None:
    selector = Selector(text="""<script>{"a": [{"b": 1}, {"b": 2}]}</script>""")

    assert selector.css("script::text").jmespath("a[].b").getall() == [1, 2]


def test_what_is_selected_knows_its_response_and_can_be_followed() -> None:
    response = page(HTML)
    links = response.css("div").css("a")

    assert isinstance(links, SelectorList)
    assert isinstance(links.css("*"), SelectorList)
    assert isinstance(links[:1], SelectorList)
    assert links[0].response is response
    assert links[0].attrib == {"href": "/x?a=1&b=2"}
    assert [request.url for request in response.follow_all(links)] == ["https://example.com/x?a=1&b=2"]


def test_element_can_be_taken_out() -> None:
    selector = Selector(text=HTML)

    selector.css("b").drop()

    assert selector.css("p").get() == "<p>one </p>"


PARTS = st.sampled_from(
    ["a", "b.html", "..", ".", "", "x:y", "c;d", "%41", "...", "?", "#", "é", " ", "\\", "//", "http://h.x:43799/a",
     "http://h", "https:", "mailto:x", "javascript:", "?q=1", "#f", "&", "~", "'", "0", "/"]
)  # fmt: skip
BASES = st.sampled_from(
    ["http://127.0.0.1:43799/s0/0.html", "http://a.b/", "http://a.b/c/", "http://a.b/c/d?e=f#g", "https://a.b/c//d/e",
     "http://a.b/c/./d", "http://a.b", "http://u:p@a.b/c/d", "http://a.b/c;p/d;q", "http://[::1]:80/a/b",
     "http://a.b:99999/c/d"]
)  # fmt: skip


@given(base=BASES, parts=st.lists(PARTS, max_size=6))
@settings(max_examples=400, deadline=None)
def test_link_is_joined_as_the_standard_library_joins_it(base: str, parts: list[str]) -> None:
    href = "".join(parts)
    try:
        expected = urljoin(base, href)
    except ValueError:
        with pytest.raises(ValueError, match=r"\w"):
            LinkBase(base, "utf-8").join(href)
    else:
        assert LinkBase(base, "utf-8").join(href) == expected
