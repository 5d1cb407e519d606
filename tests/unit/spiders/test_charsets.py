"""What a page names as its encoding is one of the web's, or none."""

import codecs
import encodings.aliases
import pkgutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.http import TextResponse
from p2pcrawl.spiders.page.charsets import BROKEN_MAX, encoding_named, read
from p2pcrawl.spiders.page.encoding import encoding_of
from p2pcrawl.spiders.page.response import Response
from tests.unit.spiders.pages import page

ODD = ["punycode", "idna", "utf-7", "unicode_escape", "raw_unicode_escape", "rot13", "base64", "bz2", "zlib", "hex"]
ODD += [
    "uu",
    "quopri",
    "mbcs",
    "oem",
    "undefined",
    "hz",
    "iso2022_kr",
    "iso2022_jp_2",
    "cp037",
    "utf-32",
    "euc_jis_2004",
]


def in_header(label: str) -> Response:
    return page(b"<p>plain-", content_type=f"text/html; charset={label}")


def in_meta(label: str) -> Response:
    return page(f"<meta charset='{label}'><p>plain-".encode(), content_type="text/html")


def in_pragma(label: str) -> Response:
    return page(
        f'<meta http-equiv=Content-Type content="text/html; charset={label}">'.encode(), content_type="text/html"
    )


def in_xml(label: str) -> Response:
    return page(f'<?xml version="1.0" encoding="{label}"?><p>plain-</p>'.encode(), content_type="application/xml")


def in_style_sheet(label: str) -> Response:
    return page(b'@charset "punycode"; a-', content_type=f'text/css; charset="{label}"')


@pytest.mark.parametrize("place", [in_header, in_meta, in_pragma, in_xml, in_style_sheet])
@pytest.mark.parametrize("label", ODD)
def test_codec_that_is_no_encoding_of_the_web_is_as_none(place: object, label: str) -> None:
    response = place(label)  # type: ignore[operator]

    assert response.encoding == "utf-8"
    assert response.text == response.body.decode()


def test_no_name_of_a_codec_of_python_leads_to_one_that_browsers_do_not_know() -> None:
    modules = {name for _, name, _ in pkgutil.iter_modules(encodings.__path__)}
    names = modules | set(encodings.aliases.aliases) | set(encodings.aliases.aliases.values())

    known = {found for name in names for form in (name, name.replace("_", "-")) if (found := encoding_named(form))}

    assert known & {"punycode", "idna", "utf-7", "unicode_escape", "hz", "rot-13", "utf-32"} == set()
    assert all(name in ("replacement", "x-user-defined") or codecs.lookup(name) for name in known)


@pytest.mark.parametrize(
    ("label", "encoding"),
    [
        ("latin1", "cp1252"),
        ("US-ASCII", "cp1252"),
        ("iso_8859-1:1987", "cp1252"),
        ("ANSI_X3.4-1968", "cp1252"),
        ("gb2312", "gb18030"),
        ("GBK", "gb18030"),
        ("x-sjis", "cp932"),
        ("ks_c_5601-1987", "cp949"),
        ("iso-8859-9", "cp1254"),
        ("tis-620", "cp874"),
        ("logical", "iso8859-8"),
        ("utf-16", "utf-16-le"),
        (" utf8\n", "utf-8"),
        ("hz-gb-2312", "replacement"),
        ("\u212aoi8-r", None),
        ("cp37", None),
        ("", None),
    ],
)
def test_labels_mean_what_they_mean_to_browsers(label: str, encoding: str | None) -> None:
    assert encoding_named(label) == encoding


@pytest.mark.parametrize(
    ("body", "encoding", "text"),
    [
        (b"\x80\x81\x9d", "cp1252", "\u20ac\x81\x9d"),
        (b"\xae\xbe", "koi8-u", "\u045e\u040e"),
        (b"\xca\xd9", "cp1255", "\u05ba\ufffd"),
        (b"a\x80\xff", "x-user-defined", "a\uf780\uf7ff"),
        (b"<script>~{<:Ky!#~}", "replacement", "\ufffd"),
        (b"", "replacement", ""),
        (b"\xef\xbb\xbfx", "utf-8", "x"),
        (b"\xff\xfex\x00", "utf-16-le", "x"),
        (b"x\x00\x00\xd8y\x00\x01", "utf-16-le", "x\ufffdy\ufffd"),
        (b"plain-", "punycode", "plain-"),
    ],
)
def test_bytes_are_read_as_the_standard_says(body: bytes, encoding: str, text: str) -> None:
    assert read(body, encoding) == text


def test_broken_text_in_utf_16_ends_after_so_many_faults() -> None:
    text = read(b"a\x00" + b"\x00\xd8" * 4_000_000, "utf-16-le")

    assert text.startswith("a\ufffd")
    assert BROKEN_MAX < len(text) < 2 * BROKEN_MAX


def test_replaced_encoding_gives_a_page_without_markup() -> None:
    response = page(b"<a href=/x>x</a>", content_type="text/html; charset=iso-2022-kr")

    assert (response.encoding, response.text, response.links) == ("replacement", "\ufffd", [])


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        (b'<!-- <meta charset="koi8-r"> --><meta charset=cp1251>', "cp1251"),
        (b"<meta charset=punycode><meta charset=cp1251>", "cp1251"),
        (b"<meta charset=x-user-defined>", "cp1252"),
        (b"<body><meta charset=cp1251>", "utf-8"),
        (b'<meta name=a content="text/html; charset=cp1251">', "utf-8"),
        (b"<?xml version='1.0' encoding='koi8-r'?>", "koi8-r"),
        (b'<meta charset="' + b"x" * 5000, "utf-8"),
    ],
)
def test_declarations_are_found_as_browsers_find_them(head: bytes, encoding: str) -> None:
    assert encoding_of(head, "text/html") == encoding


def test_charset_within_a_quoted_value_of_the_header_is_none() -> None:
    assert encoding_of("é".encode(), 'text/html; title="; charset=cp1251"; charset=koi8-r') == "koi8-r"


@given(st.binary(max_size=300), st.text(max_size=60), st.sampled_from(["header", "meta"]))
def test_whatever_is_named_is_read(body: bytes, label: str, place: str) -> None:
    named = f"text/html; charset={label}" if place == "header" else "text/html"
    start = b"" if place == "header" else f"<meta charset={label}>".encode("utf-8", "replace")

    response = page(start + body, content_type=named)

    assert isinstance(response.text, str)
    assert isinstance(response.links, list)


def test_encoding_that_browsers_do_not_know_is_read_where_a_spider_says_so() -> None:
    answer = TextResponse("http://a.example/", body="\u255a\u2569".encode("cp852"), encoding="cp852")

    assert answer.text == "\u255a\u2569"
