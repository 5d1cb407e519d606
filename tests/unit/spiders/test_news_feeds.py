"""Entries of RSS, Atom and JSON Feed, and the spider that takes them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.spiders import FeedSpider
from p2pcrawl.spiders.callbacks import iterate
from p2pcrawl.spiders.formats.news_entries import news_entries
from tests.unit.spiders.pages import page

RSS2 = """<?xml version="1.0"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:media="http://search.yahoo.com/mrss/" xmlns:atom="http://www.w3.org/2005/Atom">
<channel><title>News of
 the day</title><link>https://example.com/</link><image><title>Logo</title></image>
<item><!-- x --><title>One <!-- y -->&amp; two</title><link>/1?a=1</link><guid isPermaLink="false">urn:1</guid>
<description>Short</description><content:encoded><![CDATA[<p>Long</p>]]></content:encoded><dc:creator>Ada</dc:creator>
<pubDate>Sat, 07 Sep 2002 09:42:31 GMT</pubDate><category>a</category><category domain="x">b</category>
<enclosure url="/1.mp3" type="audio/mpeg" length="123"/><media:title>other</media:title></item>
<item><guid>https://example.com/2</guid><pubDate>yesterday</pubDate></item>
</channel></rss>"""
RSS1 = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
 xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="https://example.com/"><title>Old</title></channel>
<item rdf:about="https://example.com/1"><title>One</title><dc:date>2002-09-07T09:42:31Z</dc:date></item></rdf:RDF>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Atoms</title><entry xml:base="https://example.com/blog/">
<title type="html">&lt;b&gt;One&lt;/b&gt;</title><link rel="self" href="self"/><link href="1"/>
<link rel="enclosure" href="1.mp3" type="audio/mpeg"/><id>tag:1</id><updated>2003-12-13T18:30:02Z</updated>
<published>2003-12-13T08:29:29-04:00</published><author><name>Ada</name><email>a@b.c</email></author>
<category term="a"/><summary>Short</summary>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Long</p></div></content></entry></feed>"""
JSON = {
    "version": "https://jsonfeed.org/version/1.1",
    "title": "Objects",
    "items": [
        {
            "id": 1,
            "url": "/1",
            "title": "One",
            "summary": "Short",
            "content_html": "<p>Long</p>",
            "date_published": "2010-02-07T14:04:00-05:00",
            "authors": [{"name": "Ada"}, {"url": "x"}],
            "tags": ["a"],
            "attachments": [{"url": "/1.mp3", "mime_type": "audio/mpeg", "size_in_bytes": 123}],
        },
        "no item",
    ],
}


def entries(body: str | bytes, content_type: str = "application/rss+xml") -> list[dict[str, Any]]:
    return list(news_entries(page(body, url="https://example.com/feed", content_type=content_type)))


def test_rss_entries_come_as_dicts() -> None:
    first, second = entries(RSS2)

    assert first == {
        "title": "One & two",
        "url": "https://example.com/1?a=1",
        "id": "urn:1",
        "summary": "Short",
        "content": "<p>Long</p>",
        "author": "Ada",
        "published": "2002-09-07T09:42:31+00:00",
        "categories": ["a", "b"],
        "enclosures": [{"url": "https://example.com/1.mp3", "type": "audio/mpeg", "length": 123}],
        "feed": "News of the day",
    }
    assert second == {
        "id": "https://example.com/2",
        "url": "https://example.com/2",
        "published": "yesterday",
        "feed": "News of the day",
    }


def test_rss_1_entries_are_found_in_their_namespace() -> None:
    assert entries(RSS1) == [
        {
            "id": "https://example.com/1",
            "url": "https://example.com/1",
            "title": "One",
            "published": "2002-09-07T09:42:31+00:00",
            "feed": "Old",
        }
    ]


def test_atom_entries_come_as_dicts() -> None:
    assert entries(ATOM) == [
        {
            "title": "<b>One</b>",
            "url": "https://example.com/blog/1",
            "id": "tag:1",
            "updated": "2003-12-13T18:30:02+00:00",
            "published": "2003-12-13T08:29:29-04:00",
            "author": "Ada",
            "categories": ["a"],
            "summary": "Short",
            "content": '<div xmlns="http://www.w3.org/1999/xhtml"><p>Long</p></div>',
            "enclosures": [{"url": "https://example.com/blog/1.mp3", "type": "audio/mpeg"}],
            "feed": "Atoms",
        }
    ]


@pytest.mark.parametrize("length", ["9" * 5_000, "-1", "many", ""])
def test_length_that_is_none_is_left_out(length: str) -> None:
    feed = f'<rss><channel><item><enclosure url="/1.mp3" length="{length}"/></item></channel></rss>'

    assert entries(feed) == [{"enclosures": [{"url": "https://example.com/1.mp3"}]}]


def test_json_entries_come_as_dicts() -> None:
    assert entries(json.dumps(JSON), "application/feed+json") == [
        {
            "id": "1",
            "url": "https://example.com/1",
            "title": "One",
            "summary": "Short",
            "content": "<p>Long</p>",
            "author": "Ada",
            "published": "2010-02-07T14:04:00-05:00",
            "feed": "Objects",
            "categories": ["a"],
            "enclosures": [{"url": "https://example.com/1.mp3", "type": "audio/mpeg", "length": 123}],
        }
    ]


@pytest.mark.parametrize("body", ["", "{", "{}", '{"items": 5}', "[1]", "<feed/>", "plain", "<rss><channel/></rss>"])
def test_what_has_no_entries_yields_none(body: str) -> None:
    assert entries(body) == []


def test_broken_feed_is_read_as_far_as_it_can_be() -> None:
    rest = "<item><title>Fish & chips<b></title></item><item><title>Last</title></item>"
    body = RSS2.replace("</channel></rss>", rest).replace("&amp;", "&nbsp;")

    assert [entry.get("title") for entry in entries(body)] == ["One  two", None, "Fish  chips", "Last"]


@settings(max_examples=25, deadline=None)
@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_any_json_is_survived(value: Any) -> None:
    item = dict.fromkeys(("id", "url", "title", "authors", "author", "tags", "attachments", "date_published"), value)

    assert len(entries(json.dumps({"items": [item]}))) == 1


async def taken(spider: FeedSpider, response: Any) -> list[Any]:
    return [each async for each in iterate(getattr(spider, "_parse")(response))]  # noqa: B009


async def test_entries_are_the_items_unless_the_spider_makes_more_of_them() -> None:
    class Follows(FeedSpider):
        async def parse_entry(self, response: Any, entry: dict[str, Any]) -> Any:
            return [response.follow(entry["url"], cb_kwargs={"title": entry.get("title")})]

    response = page(RSS2, content_type="text/xml")

    assert [each["id"] for each in await taken(FeedSpider(), response)] == ["urn:1", "https://example.com/2"]
    assert [each.url for each in await taken(Follows(), response)] == [
        "https://example.com/1?a=1",
        "https://example.com/2",
    ]


async def test_page_leads_to_the_feeds_that_it_names(caplog: pytest.LogCaptureFixture) -> None:
    head = (
        "<link rel=alternate type=application/rss+xml href=/rss><link rel='alternate home' type='application/atom+xml' "
        "href=atom><link rel=alternate hreflang=de href=/de><link rel=stylesheet type=application/rss+xml href=/no>"
    )

    assert [each.url for each in await taken(FeedSpider(), page(head))] == [
        "https://example.com/rss",
        "https://example.com/shop/atom",
    ]
    assert (
        await taken(FeedSpider(), page("<p>")) == await taken(FeedSpider(), page("<x/>", content_type="text/xml")) == []
    )
    assert [message.partition(" ")[2] for message in caplog.messages] == [
        "is a page that names no feed",
        "has no entries of a feed",
    ]
