"""Names from before Scrapy 1.0 still do what they did."""

from __future__ import annotations

import logging

import pytest

from p2pcrawl import Field, Item, Request, Spider, log
from p2pcrawl.linkextractors.sgml import SgmlLinkExtractor
from p2pcrawl.logformatter import LogFormatter
from p2pcrawl.selector import HtmlXPathSelector, XmlXPathSelector
from p2pcrawl.spider import BaseSpider
from p2pcrawl.utils.log import logformatter_adapter
from tests.unit.spiders.pages import page


def test_selectors_select() -> None:
    rows = HtmlXPathSelector(page("<ul><li><a href='/a'>A</a><li><a href='/b'>B</a></ul>")).select("//li")

    assert [row.select("a/text()").extract() for row in rows] == [["A"], ["B"]]
    assert rows.select("a/@href").extract() == ["/a", "/b"]


def test_selectors_select_from_xml() -> None:
    found = XmlXPathSelector(text="<urlset><loc>x</loc></urlset>").select("/urlset/loc/text()")

    assert found.extract() == ["x"]


def test_spider_and_link_extractor_are_those_of_today() -> None:
    assert BaseSpider is Spider
    links = SgmlLinkExtractor(allow=r"/a").extract_links(page("<a href='/a'></a><a href='/b'></a>"))
    assert [link.url for link in links] == ["https://example.com/a"]


def test_log_is_written_to_by_msg(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        log.msg("100% done", level=log.WARNING, spider=Spider(name="toys"))
        log.err("it broke")

    assert [(each.name, each.levelname, each.getMessage()) for each in caplog.records] == [
        ("toys", "WARNING", "100% done"),
        ("scrapy", "ERROR", "it broke"),
    ]


class Fruit(Item):
    """An item with one field."""

    name = Field()


def test_lines_of_a_formatter_can_be_logged(caplog: pytest.LogCaptureFixture) -> None:
    formatter, answer, request = LogFormatter(), page(""), Request("http://a.example/")
    said = [
        formatter.crawled(request, answer, None),
        formatter.scraped(Fruit(name="fig"), answer, None),
        formatter.dropped(Fruit(name="fig"), ValueError("rotten"), answer, None),
        formatter.item_error(Fruit(name="fig"), ValueError("rotten"), answer, None),
        formatter.spider_error(None, request, answer, None),
        formatter.download_error(None, request, None, " (too slow)"),
    ]

    with caplog.at_level(logging.DEBUG):
        for each in said:
            assert each is not None
            level, text, told = logformatter_adapter(each)
            logging.getLogger("lines").log(level, text, told)

    lines = [(each.levelname, each.getMessage()) for each in caplog.records]
    assert lines[0] == ("DEBUG", f"Crawled (200) {request} (referer: None)")
    assert lines[2] == ("WARNING", "Dropped: rotten\n{'name': 'fig'}")
    assert lines[5][1].endswith("(too slow)")
