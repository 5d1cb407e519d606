"""Files of many nodes or rows: XMLFeedSpider, CSVFeedSpider, and the functions below them."""

from __future__ import annotations

import gzip
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from lxml import etree

from p2pcrawl.model.errors import NotSupported
from p2pcrawl.spiders import CSVFeedSpider, InitSpider, XMLFeedSpider
from p2pcrawl.spiders.formats.news_entries import news_entries
from p2pcrawl.spiders.formats.sitemap_entries import FIELD_SIZE
from p2pcrawl.spiders.formats.xml_nodes import NODE_TAGS_MAX
from p2pcrawl.utils.iterators import csviter, xmliter
from p2pcrawl.utils.sitemap import Sitemap
from tests.unit.spiders.pages import page

SHOP = """<?xml version="1.0" encoding="UTF-8"?>
<rss xmlns:g="http://base.google.com/ns/1.0" xmlns="">
  <item id="1"><g:price>10 €</g:price><name>One &amp; all</name></item>
  <group><item id="2"><name><![CDATA[<Two>]]></name></item></group>
  <g:item id="3"/>
</rss>"""


class Shop(XMLFeedSpider):
    namespaces = (("g", "http://base.google.com/ns/1.0"),)

    def parse_node(self, response: Any, selector: Any) -> Any:
        return {
            "id": selector.xpath("@id").get(),
            "name": selector.xpath("name/text()").get(),
            "price": selector.xpath("g:price/text()").get(),
        }


def items(spider: Any, body: bytes | str, content_type: str = "text/xml") -> list[Any]:
    return list(getattr(spider, "_parse")(page(body, content_type=content_type)))  # noqa: B009


@pytest.mark.parametrize("iterator", ["iternodes", "xml"])
def test_nodes_are_parsed_one_by_one(iterator: str) -> None:
    assert items(Shop(iterator=iterator), SHOP) == [
        {"id": "1", "name": "One & all", "price": "10 €"},
        {"id": "2", "name": "<Two>", "price": None},
    ]


def test_html_can_be_iterated_too() -> None:
    assert items(Shop(iterator="html"), "<ul><li><item id=7><name>x</name></item></ul>") == [
        {"id": "7", "name": "x", "price": None}
    ]


@pytest.mark.parametrize("iterator", ["iternodes", "xml"])
def test_tag_with_a_prefix_is_meant_with_its_namespace(iterator: str) -> None:
    renamed = SHOP.replace("g:", "goog:").replace("xmlns:g=", "xmlns:goog=")

    for body in (SHOP, renamed):
        assert [each["id"] for each in items(Shop(iterator=iterator, itertag="g:item"), body)] == ["3"]


def test_unknown_iterator_is_refused() -> None:
    with pytest.raises(NotSupported, match="iternodes, xml or html"):
        items(Shop(iterator="sax"), SHOP)


def test_results_and_response_may_be_changed_on_the_way() -> None:
    class Changed(Shop):
        def adapt_response(self, response: Any) -> Any:
            return page(response.body.replace(b"thing>", b"item>"), content_type="text/xml")

        def process_results(self, response: Any, results: Any) -> Any:
            return [{**each, "at": response.url} for each in results]

    assert [each["at"] for each in items(Changed(), "<r><thing></thing></r>")] == ["https://example.com/shop/list.html"]


def test_node_is_whole_with_its_prefixes() -> None:
    first, _ = xmliter(SHOP, "item")

    assert first.get() == (
        '<item xmlns:g="http://base.google.com/ns/1.0" id="1"><g:price>10 €</g:price><name>One &amp; all</name></item>'
    )


def test_comments_and_instructions_of_a_node_are_kept_and_those_around_it_left_out() -> None:
    (node,) = xmliter("<?a b?><r><!-- out --><item><!-- in --><?c d?>x</item><!-- out --></r>", "item")

    assert node.get() == "<item><!-- in --><?c d?>x</item>"


def test_namespace_of_a_node_may_be_given() -> None:
    body = '<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>x</title></entry></feed>'

    assert [each.xpath("x:title/text()").get() for each in xmliter(body, "entry", "http://www.w3.org/2005/Atom")] == [
        "x"
    ]
    assert list(xmliter(body, "entry")) == []


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "utf-16"])
def test_encoding_is_that_of_the_answer_or_of_the_declaration(encoding: str) -> None:
    body = f'<?xml version="1.0" encoding="{encoding}"?><r><item>é</item></r>'.encode(encoding)

    assert [each.xpath("text()").get() for each in xmliter(body, "item")] == ["é"]
    assert [each.xpath("text()").get() for each in xmliter(page(body, content_type="text/xml"), "item")] == ["é"]


def test_gzipped_file_is_read_as_it_is() -> None:
    assert len(list(xmliter(page(gzip.compress(SHOP.encode()), content_type="application/gzip"), "item"))) == 2


def test_nodes_before_a_mistake_come_first() -> None:
    nodes = xmliter("<r><item>1</item><item>2</item><b></c></r>", "item")

    assert [next(nodes).xpath("text()").get(), next(nodes).xpath("text()").get()] == ["1", "2"]
    with pytest.raises(etree.XMLSyntaxError):
        next(nodes)


def test_memory_is_that_of_the_largest_node() -> None:
    body = b"<r>" + b"<junk><deep/></junk>" * 30_000 + b"<item><x/></item>" * 5_000 + b"</r>"

    tracemalloc.start()
    count = sum(1 for _ in xmliter(body, "item"))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert count == 5_000
    assert most < 4_000_000
    with pytest.raises(ValueError, match="more than 100,000 elements"):
        list(xmliter(b"<item>" + b"<x/>" * (NODE_TAGS_MAX + 1) + b"</item>", "item"))


def test_entities_bring_no_files_in() -> None:
    body = '<!DOCTYPE r [<!ENTITY f SYSTEM "file:///etc/passwd">]><r><item>a&f;b</item></r>'

    assert [each.xpath("string()").get() for each in xmliter(body, "item")] == ["ab"]


class Rows(CSVFeedSpider):
    def parse_row(self, response: Any, row: dict[str, str]) -> Iterator[Any]:
        yield row


def test_rows_are_parsed_by_the_names_in_the_first_one() -> None:
    body = '\ufeffid,name\n1,"One, ""all"""\n\n2,"two\nlines"\n'

    assert items(Rows(), body, "text/csv") == [{"id": "1", "name": 'One, "all"'}, {"id": "2", "name": "two\nlines"}]


def test_rows_may_have_other_marks_and_given_names() -> None:
    spider = Rows(delimiter=";", quotechar="'", headers=["a", "b"])

    assert items(spider, "1;'x;y'\n", "text/csv") == [{"a": "1", "b": "x;y"}]


def test_row_of_another_length_is_left_out_and_told(caplog: pytest.LogCaptureFixture) -> None:
    assert list(csviter("a,b\n1\n1,2\n1,2,3\n")) == [{"a": "1", "b": "2"}]
    assert "row in line 2 has 1 fields, not 2" in caplog.text
    assert list(csviter("é;b\n1;2".encode("cp1252"), ";", encoding="cp1252")) == [{"é": "1", "b": "2"}]
    assert list(csviter(b"")) == []


def test_init_spider_makes_its_first_request_before_the_start_urls() -> None:
    class Members(InitSpider):
        start_urls = ("https://example.com/a",)

        def init_request(self) -> Any:
            from p2pcrawl import Request

            return Request("https://example.com/login", callback=self.check)

        def check(self, response: Any) -> Any:
            return self.initialized()

    spider = Members()

    assert [each.url for each in spider.start_requests()] == ["https://example.com/login"]
    assert [each.url for each in spider.check(page(""))] == ["https://example.com/a"]
    assert [each.url for each in InitSpider(start_urls="https://example.com/b").start_requests()] == [
        "https://example.com/b"
    ]


def test_answer_that_does_not_say_that_it_is_text_is_read_all_the_same() -> None:
    rows = page("a,b\n1,é\n", url="https://example.com/export", content_type="application/octet-stream")
    nodes = page("<r><item>é</item></r>", url="https://example.com/export", content_type="application/octet-stream")

    assert list(csviter(rows)) == [{"a": "1", "b": "é"}]
    assert [each.xpath("text()").get() for each in xmliter(nodes, "item")] == ["é"]


@pytest.mark.parametrize("read", [csviter, lambda source: xmliter(source, "item")])
def test_what_is_no_file_is_refused_by_its_type(read: Any) -> None:
    with pytest.raises(TypeError, match="a Response or str or bytes, not int"):
        next(read(42))


LAUGHS = "".join(f"<!ENTITY {name} '{f'&{below};' * 10}'>" for below, name in pairwise("abcdefghij"))


@pytest.mark.parametrize(
    ("entities", "text"),
    [
        pytest.param(f"<!ENTITY a '{'x' * 100}'>{LAUGHS}", "&j;", id="each-of-ten-of-the-one-before"),
        pytest.param(f"<!ENTITY a '{'x' * 50_000}'>", "&a;" * 20_000, id="a-long-one-very-often"),
    ],
)
def test_entities_do_not_become_gigabytes(entities: str, text: str) -> None:
    start = f"<!DOCTYPE r [{entities}]>"
    entry = f"{start}<urlset><url><loc>http://a/</loc><lastmod>{text}</lastmod></url></urlset>"
    feed = page(f"{start}<rss><item><title>{text}</title></item></rss>", content_type="text/xml")

    with pytest.raises(etree.XMLSyntaxError, match="amplification"):
        list(xmliter(f"{start}<r><item>{text}</item></r>", "item"))
    with pytest.raises(etree.XMLSyntaxError, match="amplification"):
        list(xmliter(f"{start}<r><item a='{text}'/></r>", "item"))
    assert sum(len(each["lastmod"]) for each in Sitemap(entry)) <= FIELD_SIZE
    assert sum(len(each["title"]) for each in news_entries(feed)) < 5_000_000
