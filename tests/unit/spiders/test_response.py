"""Response: text, selectors, title, links, follow and follow_all."""

from __future__ import annotations

from typing import Any

import parsel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.spiders.spider import Spider
from tests.unit.spiders.pages import page

SHARDS = [b"<a href=", b"<title>", b"</", b"\x00", b"\xff\xfe", b"'>", b"\xc3", b"<base href=//["]
RUSSIAN = "Привет, мир! Это первая страница этого сайта, здесь можно найти разные новости дня. " * 5


def test_selectors_work_as_in_scrapy() -> None:
    response = page('<ul><li class=next><a href="/p/2">Next <b>page</b></a></li></ul><p>id=17 id=18</p>')

    assert response.css("li.next a::attr(href)").getall() == ["/p/2"]
    assert response.xpath("//li[@class=$c]/a/text()", c="next").get() == "Next "
    assert response.re(r"id=(\d+)") == ["17", "18"]
    assert response.re_first(r"nothing", "default") == "default"
    assert response.selector is response.selector


def test_parsel_is_not_built_for_title_and_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsel.Selector, "__init__", None)
    response = page("<title>t</title><a href=x>")

    assert response.title == "t"
    assert response.links == ["https://example.com/shop/x"]
    with pytest.raises(TypeError):
        response.css("title")


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title> a \n\t b&amp;c </title>", "a b&c"),
        ("<svg><title>drawing</title></svg><p>x", ""),
        ("<body><svg><title>drawing</title></svg><title>late</title>", "late"),
        ("<title></title>", ""),
        ("<title>never closed <b>x", "never closed <b>x"),
        ("", ""),
        ("plain", ""),
    ],
)
def test_title_is_collapsed_and_empty_when_there_is_none(html: str, title: str) -> None:
    assert page(html).title == title


@pytest.mark.parametrize(
    ("body", "content_type", "encoding"),
    [
        ("\ufeffé".encode(), "text/html; charset=iso-8859-1", "utf-8"),
        ("é".encode("utf-16"), "text/html", "utf-16-le"),
        ("é".encode("latin-1"), "text/html; charset=ISO-8859-1", "cp1252"),
        ("é".encode("latin-1"), 'text/html; charset="windows-1252"', "cp1252"),
        (b'<meta charset="windows-1251">' + "Привет".encode("cp1251"), "text/html", "cp1251"),
        ("<meta charset='shift_jis'>é".encode(), "text/html; charset=utf-8", "utf-8"),
        ("é".encode(), "text/html; charset=no-such-thing", "utf-8"),
        ("é".encode(), "", "utf-8"),
        (RUSSIAN.encode("cp1251"), "text/html", "cp1251"),
        (b"<meta charset=utf-16>plain", "text/html", "utf-8"),
    ],
)
def test_encoding_is_found_as_browsers_do(body: bytes, content_type: str, encoding: str) -> None:
    response = page(body, content_type=content_type)

    assert response.encoding == encoding
    assert "\ufffd" not in response.text
    assert not response.text.startswith("\ufeff")


def test_title_and_links_are_read_in_the_page_encoding() -> None:
    body = "<meta charset=windows-1251><title>Привет</title><a href='/мир'>".encode("cp1251")

    response = page(body, content_type="text/html")

    assert response.title == "Привет"
    assert response.links == ["https://example.com/%D0%BC%D0%B8%D1%80"]


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=400) | st.lists(st.sampled_from(SHARDS)).map(b"".join),
    st.sampled_from(
        ["", "text/html", "text/html; charset=utf-16", "text/html; charset=\x00;;", "application/xml", "image/png"]
    ),
)
def test_no_body_whatever_makes_title_links_or_text_raise(body: bytes, content_type: str) -> None:
    response = page(body, content_type=content_type)

    assert isinstance(response.title, str)
    assert isinstance(response.text, str)
    for link in response.follow_all():
        assert link.url.startswith("http")


def test_image_has_no_links() -> None:
    assert page(b"\x89PNG<a href=x>", content_type="image/png").links == []


def test_selectors_of_a_binary_body_are_empty() -> None:
    assert page(bytes(range(256)) * 40, content_type="text/html").css("a::attr(href)").getall() == []


def test_xml_is_selected_as_xml() -> None:
    response = page('<?xml version="1.0"?><rss><Item><link>http://h/1</link></Item></rss>', content_type="text/xml")

    assert response.xpath("//Item/link/text()").get() == "http://h/1"


def test_json_is_read() -> None:
    assert page('{"a": [1]}', content_type="application/json").json() == {"a": [1]}
    assert page(b"\xef\xbb\xbf[1]").json() == [1]
    with pytest.raises(ValueError):
        page("<p>").json()


def test_urljoin_leaves_the_rest_as_it_is() -> None:
    assert page("").urljoin("../x#y") == "https://example.com/x#y"
    assert page("<base href=/b/>").urljoin("x") == "https://example.com/b/x"


def test_follow_takes_text_elements_and_attributes() -> None:
    response = page('<link href="/l"><a href=" /a ">x</a><a>no href</a><p>p</p>')
    target = "https://example.com/a"

    assert response.follow("/a#f").url == target
    assert response.follow(response.css("a")[0]).url == target
    assert response.follow(response.css("a::attr(href)")[0]).url == target
    assert response.follow(response.css("link")[0]).url == "https://example.com/l"


@pytest.mark.parametrize("query", ["p", "a:not([href])"])
def test_follow_refuses_elements_without_a_link(query: str) -> None:
    response = page("<a>no href</a><p>p</p>")

    with pytest.raises(ValueError):
        response.follow(response.css(query)[0])


@pytest.mark.parametrize("link", [None, 3, "javascript:x", "http://[::1"])
def test_follow_refuses_what_is_no_link(link: Any) -> None:
    with pytest.raises(ValueError):
        page("").follow(link)


def test_follow_refuses_a_list_of_selectors() -> None:
    response = page("<a href=x>")

    with pytest.raises(ValueError, match="follow_all"):
        response.follow(response.css("a"))  # type: ignore[arg-type]


def test_follow_carries_callback_and_data() -> None:
    class Shop(Spider):
        def parse_item(self, response: Any) -> None: ...

    shop = Shop()

    request = page("").follow("x", shop.parse_item, method="post", body="b", cb_kwargs={"a": 1}, priority=2)

    assert (request.callback, request.method, request.body, request.cb_kwargs, request.priority) == (
        shop.parse_item,
        "POST",
        b"b",
        {"a": 1},
        2,
    )


SHOP = (
    '<li class=next><a href="?page=2">next</a></li><a href="/item/1">1</a><a href="/item/2">2</a>'
    '<a href="javascript:x">j</a>'
)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, ["/shop/list.html?page=2", "/item/1", "/item/2"]),
        ({"css": "li.next a"}, ["/shop/list.html?page=2"]),
        ({"css": "li.next a::attr(href)"}, ["/shop/list.html?page=2"]),
        ({"css": "a, li"}, ["/shop/list.html?page=2", "/item/1", "/item/2"]),
        ({"xpath": "//a[contains(@href, 'item')]/@href"}, ["/item/1", "/item/2"]),
        ({"match": r"/item/\d"}, ["/item/1", "/item/2"]),
        ({"css": "a", "match": "2$"}, ["/shop/list.html?page=2", "/item/2"]),
        ({"urls": ["/x", "y", "mailto:z", "http://["]}, ["/x", "/shop/y"]),
        ({"urls": []}, []),
    ],
)
def test_follow_all_takes_the_links_that_were_asked_for(arguments: Any, expected: list[str]) -> None:
    batch = page(SHOP).follow_all(**arguments)

    assert batch.urls == ["https://example.com" + path for path in expected]
    assert [request.url for request in batch] == batch.urls


def test_follow_all_takes_selectors() -> None:
    response = page(SHOP)

    assert len(response.follow_all(response.css("a"))) == 3
    assert len(response.follow_all(list(response.css("a::attr(href)")))) == 3


def test_follow_all_takes_one_source_only() -> None:
    with pytest.raises(ValueError):
        page("").follow_all([], css="a")


def test_meta_is_that_of_the_request_with_the_depth() -> None:
    request = Request("http://h/", meta={"k": 1}, cb_kwargs={"c": 2})

    response = page("", request=request, depth=4)

    assert response.meta["k"] == 1
    assert response.meta["depth"] == response.depth == 4
    assert response.meta is request.meta
    assert response.cb_kwargs == {"c": 2}


CYRILLIC = '<a href="/путь?q=поиск">'.encode("cp1251")


def test_query_on_a_page_goes_out_in_the_encoding_of_the_page() -> None:
    response = page(CYRILLIC, content_type="text/html; charset=windows-1251")
    sent = "https://example.com/%D0%BF%D1%83%D1%82%D1%8C?q=%EF%EE%E8%F1%EA"

    assert response.links == [sent]
    assert response.follow_all(css="a").urls == [sent]
    assert response.follow(response.css("a")[0]).url == sent
    assert response.follow("/путь?q=поиск").url == sent
    assert response.urljoin("?q=поиск") == "https://example.com/shop/list.html?q=%EF%EE%E8%F1%EA"
    assert response.follow("?q=é", encoding="utf-8").url == "https://example.com/shop/list.html?q=%C3%A9"


FILES = (
    '<a href="/a.zip"></a><a href="/b.MP4?x=1"></a><a href="/c.tar.gz"></a><a href="/d?f=e.zip"></a><a href="/e.gz">'
)


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ({}, ["/d?f=e.zip", "/e.gz"]),
        ({"deny_extensions": ()}, ["/a.zip", "/b.MP4?x=1", "/c.tar.gz", "/d?f=e.zip", "/e.gz"]),
        ({"deny_extensions": ["gz"]}, ["/a.zip", "/b.MP4?x=1", "/d?f=e.zip"]),
        ({"match": "zip"}, ["/a.zip", "/d?f=e.zip"]),
        ({"css": "a:first-child"}, ["/a.zip"]),
    ],
)
def test_files_are_followed_to_when_they_are_meant(arguments: dict[str, Any], paths: list[str]) -> None:
    batch = page(FILES).follow_all(**arguments)

    assert batch.urls == ["https://example.com" + path for path in paths]
