"""Pages that would cost a parser more than about a second are cut, whichever parser they are for."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.spiders.page import bombs
from p2pcrawl.spiders.page.bombs import LONG_TAG_SIZE, bearable
from p2pcrawl.spiders.page.response import Response
from tests.unit.spiders.pages import page

SIZE = 3 << 20


def numbered(form: bytes, between: bytes = b"") -> bytes:
    return between.join(form % number for number in range(SIZE // (len(form) + len(between) + 4)))


def repeated(unit: bytes) -> bytes:
    return unit * (SIZE // len(unit))


ATTRIBUTES = {
    "bare": b"<a " + numbered(b"a%x", b" ") + b">",
    "quoted": b"<a " + numbered(b'a%x="1"') + b">",
    "nameless": b"<a " + repeated(b"= ") + b">",
    "named by quotes": b"<a " + repeated(b"' ") + b">",
    "by slashes": b"<a " + numbered(b"a%x", b"/") + b">",
    "with marks": b"<a " + numbered(b'a%x=">"', b" ") + b">",
    "with tags": b"<a " + numbered(b"a%x='<b>'") + b">",
    "named by marks": b"<a " + numbered(b"<%x", b" ") + b">",
    "of end tag": b"<a></a " + numbered(b"a%x", b" ") + b">",
    "of many tags": repeated(b"<a " + b" ".join(b"a%x" % n for n in range(800)) + b">"),
    "of body": numbered(b"<body b%x>"),
    "of html": numbered(b"<html b%x>"),
    "behind a drawing's style": b"<svg><style><a " + numbered(b"a%x", b" ") + b">",
    "behind a style that swallows": b'<style><a b="</style><a ' + numbered(b"a%x", b" ") + b'">',
    "behind a comment that swallows": b"<!--<a b='--><a " + numbered(b"a%x", b" ") + b"'>",
    "of xml": b"<r " + numbered(b'a%x="1"', b" ") + b"/>",
    "namespaces": numbered(b'<a xmlns:n%x="u">'),
}
NAMES = {
    "new tags": numbered(b"</q%x>"),
    "new attributes": numbered(b"<a x%x>"),
}
DEPTH = {
    "div": repeated(b"<div>"),
    "li": repeated(b"<ul><li>"),
    "dd": repeated(b"<dl><dd>"),
    "optgroup": repeated(b"<optgroup>"),
    "form": repeated(b"<form><div></form>"),
    "template": repeated(b"<div><template></div>"),
    "object": repeated(b"<div><object></div>"),
    "table": repeated(b"<table><tr><td>"),
    "svg": b"<svg>" + repeated(b"<style>"),
    "foreign": b"<svg>" * 100_000 + b"</x>" * 100_000,
    "xml": repeated(b"<a>x<b>"),
}
STYLES = {
    "attributes": b"<p>" + b"".join(b"<font id=%d>" % i for i in range(4000)) + b"</p>" + b"<p>x" * 20_000,
    "slashes": b"".join(b"<font/x%d>" % i for i in range(4000)) + b"<p>x" * 20_000,
    "plain": b"".join(b"<%b>" % name * 3 for name in (b"b", b"i", b"u", b"s", b"em", b"tt", b"big")) + repeated(b"<p>"),
}
COUNT = {
    "tags": repeated(b"a<b></b>"),
    "scripts": repeated(b"<a b=\"<a b='"),
    "comments": repeated(b"<!"),
    "marks": repeated(b"<"),
    "unquoted": repeated(b"<a/b=x"),
}
BOMBS = {
    f"{kind}: {name}": bomb
    for kind, bombs in (("attributes", ATTRIBUTES), ("names", NAMES), ("depth", DEPTH), ("styles", STYLES))
    for name, bomb in bombs.items()
} | {f"count: {name}": bomb for name, bomb in COUNT.items()}

WAYS: dict[str, Callable[[Response], object]] = {
    "links": lambda response: response.links,
    "follow_all": lambda response: response.follow_all(css="a").urls,
    "css": lambda response: response.urljoin(response.css("a::attr(href)").get("")),
    "xpath": lambda response: response.urljoin(response.xpath("//a/@href").get("")),
    "re": lambda response: response.urljoin(response.re_first('href="([^"]*)"') or ""),
    "selector": lambda response: response.urljoin(response.selector.css("a").attrib["href"]),
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_bomb_is_cut(bomb: bytes) -> None:
    start = b"<title>t</title><a href=/first></a>"

    kept = bearable(start + bomb)

    assert len(start) <= kept < len(start) + len(bomb) * 0.8


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("kind", ["text/html", "application/xml"])
def test_whoever_parses_gets_what_stands_before_the_bomb(way: Callable[[Response], object], kind: str) -> None:
    body = b'<r><title>t</title><a href="/first">x</a>' + ATTRIBUTES["quoted"]
    response = page(body, content_type=kind)

    found = way(response)

    assert found in ("https://example.com/first", ["https://example.com/first"])
    assert response.title == "t"


@pytest.mark.parametrize("kind", ["text/html; charset=utf-16le", "text/html; charset=shift_jis"])
def test_bomb_in_another_encoding_is_cut_too(kind: str) -> None:
    encoding = kind.rpartition("=")[2]
    body = (b'<a href="/first">x</a>' + ATTRIBUTES["bare"]).decode().encode(encoding)

    response = page(body, content_type=kind)

    assert response.links == ["https://example.com/first"]
    assert response.css("a::attr(href)").getall() == ["/first"]


def test_references_to_entities_are_counted_in_xml_only() -> None:
    body = b"<r>" + repeated(b"&a;") + b"</r>"

    assert bearable(body, xml=True) < len(body) / 2
    assert bearable(body) == len(body)


@pytest.mark.parametrize(
    "declared",
    [
        b"<!ATTLIST a " + numbered(b'b%x CDATA "1" ') + b">",
        numbered(b'<!ENTITY e%x "v">'),
        b"<!-- <!ENTITY x ' -->" + numbered(b"<!ENTITY e%x 'v>'>"),
    ],
)
def test_long_type_of_a_document_is_cut(declared: bytes) -> None:
    body = b"<!DOCTYPE r [" + declared + b"]><r/>"

    assert bearable(body, xml=True) < len(body) / 2


def test_entities_are_not_made_more_of() -> None:
    levels = "".join(f'<!ENTITY {b} "{f"&{a};" * 50}">' for a, b in zip("abcdef", "bcdefg", strict=True))
    body = f'<!DOCTYPE r [<!ENTITY a "{"y" * 1000}">{levels}]><r x="&g;">&g;</r>'

    response = page(body, content_type="application/xml")

    assert len(response.selector.get()) < 1_000_000


LOOP = b'for(i=0;i<n%d;i++)if(a<k%d&&c>d/2){a="<b x=\'"+i+"\'>y</b>"+x%d(/a b/)}'
HONEST = {
    "rows": b"<table>" + b"<tr><td><b>x</b><td><font color=red>y</font><br>" * 20_000 + b"</table>",
    "paragraphs": b"<div><p>x<p>y</div>" * 20_000,
    "lists": b"<ul><li>x<li>y</ul>" * 20_000,
    "options": b"<select>" + b"<option value=1>x" * 10_000 + b"</select>",
    "links": b'<a class="a b c" href="/x?y=1" title="a > b" data-x=\'{"a":1}\'>x</a>\n' * 30_000,
    "picture": b'<img alt="" src="data:image/png;base64,' + b"iVBORw0KGgo/+A " * 100_000 + b'">',
    "drawing": b'<svg><path d="' + b"M 10,10 L 20,20 " * 60_000 + b'"/></svg>',
    "script": b"<script>" + b"".join(LOOP % (n, n, n) for n in range(2_000)) + b"</script>" + b"<p>x</p>" * 5_000,
    "data": b"<script>" + b'{"a": "<i class=\\"x\\">y</i>", "b": 1 / 2},' * 10_000 + b"</script>",
    "text": b"words and words and a&amp;b " * 200_000,
    "comment": b"<!--" + b" <div> " * 300 + b"-->" + b"<div><span>x</span></div>" * 20_000,
}


@pytest.mark.parametrize("honest", HONEST.values(), ids=HONEST)
def test_long_honest_page_is_read_to_its_end(honest: bytes) -> None:
    assert bearable(honest) == len(honest)


PIECES = st.one_of(
    st.sampled_from([b"<", b">", b"<a", b"</", b"<!", b" "]),
    st.sampled_from([-2, -1, 0, 1]).map(lambda more: b"x" * (LONG_TAG_SIZE + more)),
)


@given(st.lists(PIECES, max_size=8).map(b"".join))
def test_a_tag_is_as_long_in_a_gap_between_ends_of_tags_as_anywhere(body: bytes) -> None:
    assert bombs._has_long_tag(body) == (bombs._long_tag(body) is not None)
