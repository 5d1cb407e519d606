"""Sitemaps and the spider that takes pages from them."""

from __future__ import annotations

import gzip
import logging
import os
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from p2pcrawl.model.crawl.request import callback_name
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders import SitemapSpider
from p2pcrawl.spiders.formats.gzip_members import inflated
from p2pcrawl.spiders.formats.sitemap_entries import FIELDS_MAX, plain_chunks, text_entries
from p2pcrawl.utils.sitemap import Sitemap, sitemap_urls_from_robots
from tests.unit.spiders.pages import page

NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
URLSET = f"""<?xml version="1.0" encoding="UTF-8"?>
<!-- made by hand -->
<urlset {NAMESPACE} xmlns:xhtml="http://www.w3.org/1999/xhtml" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <url>
    <loc> https://example.com/item/1?a=1&amp;b=2 </loc><lastmod>2024-05-01</lastmod>
    <xhtml:link rel="alternate" hreflang="de" href="https://example.com/de/item/1"/>
    <image:image><image:loc>https://example.com/1.jpg</image:loc></image:image>
  </url>
  <url><loc>https://example.com/about</loc><lastmod>2020-01-01</lastmod><priority/></url>
  <url><lastmod>2020-01-01</lastmod></url>
</urlset>""".encode()
INDEX = f"""<sitemapindex {NAMESPACE}><sitemap><loc>https://example.com/items.xml.gz</loc></sitemap>
<sitemap><loc>https://example.com/blog.xml</loc></sitemap></sitemapindex>""".encode()


class Items(SitemapSpider):
    sitemap_urls = ("https://example.com/robots.txt",)
    sitemap_rules = (("/item/", "parse_item"), ("", "parse"))

    def parse_item(self, response: Any) -> None: ...


def requests(spider: SitemapSpider, body: bytes, url: str = "https://example.com/sitemap.xml") -> list[tuple[str, str]]:
    first = next(iter(spider.start_requests()))
    made = first.callback(page(body, url=url, content_type="application/xml"))
    return [(each.url.removeprefix("https://example.com"), callback_name(each.callback)) for each in made]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(URLSET, id="as-it-should-be"),
        pytest.param(b"\r\n \t" + URLSET, id="space-before-it"),
        pytest.param(URLSET.replace(NAMESPACE.encode(), b""), id="no-namespace"),
        pytest.param(
            URLSET.replace(NAMESPACE.encode(), b'xmlns="http://www.google.com/schemas"'), id="another-namespace"
        ),
        pytest.param(URLSET.replace(b'xmlns:xhtml="http://www.w3.org/1999/xhtml"', b""), id="prefix-not-declared"),
        pytest.param(URLSET.replace(b"&amp;b", b"&amp;b").replace(b"</urlset>", b""), id="broken-off"),
        pytest.param(URLSET.replace(b"</url>\n", b"\n"), id="end-tags-missing"),
        pytest.param(URLSET.replace(b"<priority/>", b"<x>\xff\xfe & \x01</y>"), id="no-xml"),
    ],
)
def test_entries_are_read_from_sitemaps_as_they_are(body: bytes) -> None:
    sitemap = Sitemap(body)

    entries = {entry["loc"]: entry for entry in sitemap}

    assert sitemap.type == "urlset"
    assert list(entries) == ["https://example.com/item/1?a=1&b=2", "https://example.com/about"]
    assert entries["https://example.com/item/1?a=1&b=2"] == {
        "loc": "https://example.com/item/1?a=1&b=2",
        "lastmod": "2024-05-01",
        "image": "",
        "alternate": ["https://example.com/de/item/1"],
    }


@pytest.mark.parametrize("body", [b"", b"  ", b"plain text", b"\x00\x01\x02", b"<"])
def test_what_is_no_sitemap_has_no_type_and_no_entries(body: bytes) -> None:
    sitemap = Sitemap(body)

    assert (sitemap.type, list(sitemap)) == ("", [])


def test_encoding_of_the_declaration_counts() -> None:
    body = '<?xml version="1.0" encoding="iso-8859-1"?><urlset><url><loc>http://a/é</loc></url></urlset>'.encode(
        "latin-1"
    )

    assert [entry["loc"] for entry in Sitemap(body)] == ["http://a/é"]


def test_entities_bring_nothing_in() -> None:
    body = b'<!DOCTYPE u [<!ENTITY f SYSTEM "file:///etc/passwd">]><urlset><url><loc>http://a/&f;</loc></url></urlset>'

    assert list(Sitemap(body)) == [{"loc": "http://a/"}]


def test_long_sitemap_takes_little_memory() -> None:
    def pieces() -> Iterator[bytes]:
        yield b"<urlset>"
        for number in range(60):
            yield b"<junk><deep/></junk>" * 100
            yield b"".join(b"<url><loc>http://a/%d/%d</loc></url>" % (number, each) for each in range(100))
        yield b"<url><loc>http://a/last</loc>" + b"<x/>" * 50_000 + b"<y>" + b"long" * 100_000 + b"</y></url></urlset>"

    tracemalloc.start()
    count = sum(1 for _ in Sitemap(pieces()))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert count == 6_001
    assert most < 2_000_000


def test_entry_has_so_many_fields_and_no_more() -> None:
    body = (
        b"<urlset><url><loc>http://a/</loc>"
        + b"".join(b"<f%d/>" % n for n in range(FIELDS_MAX + 9))
        + b"</url></urlset>"
    )

    assert len(next(iter(Sitemap(body)))) == FIELDS_MAX


def test_gzip_is_inflated_piece_by_piece_and_broken_gzip_as_far_as_it_goes() -> None:
    packed = gzip.compress(URLSET) + gzip.compress(b"<!-- second member -->")

    assert b"".join(plain_chunks(packed)) == URLSET + b"<!-- second member -->"
    assert b"".join(plain_chunks(packed[:200])) == URLSET[: len(b"".join(plain_chunks(packed[:200])))]
    with pytest.raises(ValueError, match="more than 1,000,000 bytes"):
        list(plain_chunks(gzip.compress(bytes([65]) * 10_000_000), 1_000_000))


def test_members_without_number_are_read_up_to_a_bound() -> None:
    packed = gzip.compress(b"a") + gzip.compress(b"", mtime=0) * 1_000_000 + gzip.compress(b"b")

    assert b"".join(plain_chunks(packed)) == b"a"


def test_members_are_told_apart_wherever_pieces_end() -> None:
    members = [os.urandom(n) for n in (1, 70_000, 65_536, 65_000, 500, 200_000)]

    assert b"".join(inflated(b"".join(map(gzip.compress, members)))) == b"".join(members)


@pytest.mark.parametrize("as_text", [False, True])
def test_sitemaps_of_a_robots_txt_are_found_in_any_case(as_text: bool) -> None:
    body = "\ufeffUser-agent: *\r\nSitemap: /a.xml\nsitemap:https://b.example/b.xml\r  SITEMAP : c.xml\n# Sitemap: no\n"

    found = sitemap_urls_from_robots(body if as_text else body.encode(), "https://example.com/robots.txt")

    assert list(found) == ["https://example.com/a.xml", "https://b.example/b.xml", "https://example.com/c.xml"]


def test_pages_go_to_the_callback_of_the_first_rule_that_is_found() -> None:
    assert requests(Items(), URLSET) == [("/item/1?a=1&b=2", "parse_item"), ("/about", "parse")]


def test_robots_txt_and_indexes_lead_to_sitemaps() -> None:
    class Blog(Items):
        sitemap_follow = ("blog",)

    robots = b"Sitemap: /sitemap.xml\nSitemap: mailto:a@b.c\n"

    assert requests(Items(), robots, "https://example.com/robots.txt") == [("/sitemap.xml", "_parse_sitemap")]
    assert [url for url, _ in requests(Items(), INDEX)] == ["/items.xml.gz", "/blog.xml"]
    assert requests(Blog(), INDEX) == [("/blog.xml", "_parse_sitemap")]


def test_gzipped_sitemap_is_read_whatever_it_is_called() -> None:
    assert len(requests(Items(), gzip.compress(URLSET), "https://example.com/map?x=1")) == 2


def test_spider_may_have_its_own_way_to_the_body_of_a_sitemap() -> None:
    class Lines(Items):
        def _get_sitemap_body(self, response: Any) -> bytes | None:
            if response.body.startswith(b"http"):
                return b"<urlset><url><loc>" + response.body + b"</loc></url></urlset>"
            return super()._get_sitemap_body(response)

    assert requests(Lines(), b"https://example.com/item/9") == [("/item/9", "parse_item")]
    assert len(requests(Lines(), gzip.compress(URLSET))) == 2


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_list_of_urls_is_a_sitemap_too(pack: Callable[[bytes], bytes]) -> None:
    body = "\ufeffhttps://example.com/item/1\r\n\nhttps://example.com/é\nno URL\nhttps://example.com/item/2".encode()

    assert requests(Items(), pack(body)) == [("/item/1", "parse_item"), ("/%C3%A9", "parse")]


def test_lines_of_a_long_list_are_whole() -> None:
    urls = [f"https://example.com/item/{n}" for n in range(30_000)]

    assert [entry["loc"] for entry in text_entries(plain_chunks("\n".join(urls).encode()))] == urls
    assert list(text_entries([b"https://example.com/", b"x" * 100_000, b"\nhttps://example.com/"])) == []


def test_alternates_are_taken_where_that_is_wanted() -> None:
    class Translated(Items):
        sitemap_alternate_links = True

    assert [url for url, _ in requests(Translated(), URLSET)] == ["/item/1?a=1&b=2", "/de/item/1", "/about"]


def test_filter_sees_entries_and_the_type() -> None:
    class Fresh(Items):
        def sitemap_filter(self, entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
            for entry in entries:
                if entry["lastmod"] > "2024":
                    entry["loc"] += "&fresh"
                    yield entry

    assert requests(Fresh(), URLSET) == [("/item/1?a=1&b=2&fresh", "parse_item")]


@pytest.mark.parametrize("body", [b"<html><p>404", b"", b"<rss/>"])
def test_what_is_no_sitemap_is_told(body: bytes, caplog: pytest.LogCaptureFixture) -> None:
    assert requests(Items(), body) == []
    assert "https://example.com/sitemap.xml is no sitemap" in caplog.text


def test_rest_of_a_bomb_is_left_out_and_told(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("p2pcrawl.spiders.kinds.sitemap_spider.SITEMAP_SIZE", 1)
    spider = Items()
    spider.settings = spider.settings.updated({"DOWNLOAD_MAXSIZE": 100_000})
    body = b"<urlset>" + b"<url><loc>/item/1</loc></url>" * 10_000 + b"</urlset>"

    assert 0 < len(requests(spider, gzip.compress(body))) < 4_000
    assert "the rest is left out" in caplog.text


def test_what_cannot_be_a_sitemap_spider_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    class Misspelled(SitemapSpider):
        sitemap_rules = (("", "parse_itm"),)

    with pytest.raises(ConfigurationError, match="'parse_itm', which is no method"):
        Misspelled()
    with pytest.raises(ConfigurationError, match="sitemap_urls of spider items"):
        list(Items(sitemap_urls="example.com/sitemap.xml").start_requests())
    with caplog.at_level(logging.WARNING):
        assert list(SitemapSpider().start_requests()) == []
    assert "has no sitemap_urls" in caplog.text
