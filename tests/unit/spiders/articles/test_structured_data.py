"""What pages state about themselves for machines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from p2pcrawl.spiders.articles.page_statements import stated_facts
from p2pcrawl.spiders.articles.structured_data import ITEMS_MAX
from p2pcrawl.spiders.page.answer_kinds import HtmlResponse


def page(body: str) -> HtmlResponse:
    return HtmlResponse("https://shop.example/a/b", body=body.encode(), headers={"Content-Type": "text/html"})


def microdata(body: str) -> list[dict[str, Any]]:
    return page(body).structured_data.microdata


@pytest.mark.parametrize(
    ("block", "found"),
    [
        ('{"@type": "Book"}', [{"@type": "Book"}]),
        ('[{"@type": "Book"}, {"@type": "Shop"}]', [{"@type": "Book"}, {"@type": "Shop"}]),
        ('{"@context": "x", "@graph": [{"@type": "Book"}, 7]}', [{"@type": "Book"}]),
        ('<!-- {"@type": "Book"} -->', [{"@type": "Book"}]),
        ('//<![CDATA[\n{"@type": "Book"}\n]]>', [{"@type": "Book"}]),
        ('{"name": "two\nlines"}', [{"name": "two\nlines"}]),
        ("{broken", []),
        ("[" * 100_000, []),
        ('"text"', []),
    ],
)
def test_json_ld_is_read_as_pages_write_it(block: str, found: list[Any]) -> None:
    body = f'<script type="application/ld+json">{block}</script><script type="text/x">{{"a": 1}}</script>'

    assert page(body).structured_data.json_ld == found


def test_opengraph_keeps_all_values_in_their_order() -> None:
    body = """<meta property="og:image" content="/a.png"><meta property="OG:Image" content="/b.png">
    <meta name="twitter:card" content="summary"><meta name="description" content="none of it">"""

    assert page(body).structured_data.opengraph == {"og:image": ["/a.png", "/b.png"], "twitter:card": ["summary"]}


def test_microdata_has_values_by_the_kind_of_their_element() -> None:
    (item,) = microdata(
        """<div itemscope itemtype="https://schema.org/Product" itemid="urn:x"><h1 itemprop="name"> Two
        words </h1><img itemprop="image photo" src="c.png"><meta itemprop="sku" content="17"><data itemprop="price"
        value="9.5">nine</data><time itemprop="date" datetime="2026-01-02">then</time><a itemprop="url" href="//x.y/z">
        </a></div>"""
    )

    assert item == {
        "type": ["https://schema.org/Product"],
        "id": "urn:x",
        "properties": {
            "name": ["Two words"],
            "image": ["https://shop.example/a/c.png"],
            "photo": ["https://shop.example/a/c.png"],
            "sku": ["17"],
            "price": ["9.5"],
            "date": ["2026-01-02"],
            "url": ["https://x.y/z"],
        },
    }


def test_items_stand_within_items_and_only_the_outermost_by_themselves() -> None:
    (item,) = microdata(
        """<div itemscope><span itemprop="name">A</span><div itemprop="offer" itemscope itemtype="Offer"><span
        itemprop="price">5</span></div></div><p itemprop="stray">no item around it</p>"""
    )

    offer = {"type": ["Offer"], "properties": {"price": ["5"]}}
    assert item == {"type": [], "properties": {"name": ["A"], "offer": [offer]}}


def test_items_have_what_stands_elsewhere_and_is_referred_to() -> None:
    (item,) = microdata("""<div itemscope itemref="more"></div><div id="more"><span itemprop="name">B</span></div>""")

    assert item["properties"] == {"name": ["B"]}


def test_item_that_holds_itself_is_written_once() -> None:
    (item,) = microdata(
        """<div itemscope><div id="inner" itemprop="part" itemscope itemref="inner"><b itemprop="n">1</b></div></div>"""
    )

    assert json.loads(json.dumps(item))["properties"]["part"][0]["properties"]["n"] == ["1"]


def test_items_beyond_the_bound_are_left_out() -> None:
    body = "<div itemscope>" + "<i itemprop=a>1</i>" * (ITEMS_MAX + 5) + "</div>"

    (item,) = microdata(body)

    assert len(item["properties"]["a"]) == ITEMS_MAX


@pytest.mark.parametrize(
    ("body", "facts"),
    [
        ('<meta name="author" content="Bo"><meta property="article:published_time" content="2026-02-03T04:05">',
         (None, "2026-02-03", "Bo")),
        ('<script type="application/ld+json">{"headline": "H", "author": [{"name": "A"}, "B", {"url": 1}]}</script>',
         ("H", None, "A; B")),
        ('<time datetime="2026-13-45"></time><time datetime="2025-12-31T10:00">', (None, "2025-12-31", None)),
        ('<meta property="article:author" content="https://x.example/ada">', (None, None, None)),
    ],
)  # fmt: skip
def test_facts_are_those_that_the_page_states(body: str, facts: tuple[str | None, ...]) -> None:
    response = page(f"<html><head>{body}</head><body></body></html>")

    assert tuple(stated_facts(response.tree, response.url)) == facts
