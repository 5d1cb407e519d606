"""URLs: canonical form, host and origin."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from w3lib.url import canonicalize_url

from p2pcrawl.model.crawl.url import canonical, host_of, origin_of
from p2pcrawl.spiders.page.links import normalise

PIECES = ["a", "B", "é", "%2F", "%2f", "%252F", "%25", "%zz", "%", "%41", "%3F", "%3D", "%26", "+", "%2B", "%20", " "]
paths = st.lists(st.sampled_from([*PIECES, "/", ";", "=", "&", ":", "@", "~", "."]), max_size=8).map("".join)
queries = st.lists(st.sampled_from([*PIECES, "&", "=", "a=1", "b=2", "&&", "?", "/"]), max_size=8).map("".join)
any_urls = st.builds(
    lambda scheme, host, path, query: f"{scheme}://{host}/{path}" + (f"?{query}" if query else ""),
    st.sampled_from(["http", "https", "HTTP"]),
    st.sampled_from(["example.com", "Example.COM", "example.com.", "example.com:80", "example.com:443", "[::1]:8080"]),
    paths,
    queries,
)


@settings(max_examples=500, deadline=None)
@given(any_urls)
def test_canonical_form_of_a_canonical_form_is_itself(url: str) -> None:
    once = canonical(url)

    assert canonical(once) == once


@settings(max_examples=500, deadline=None)
@given(st.text(max_size=60) | any_urls)
def test_whatever_is_normal_has_a_canonical_form_and_a_host(text: str) -> None:
    url = normalise(text) or normalise("http://a.example/" + text)

    if url is not None:
        assert canonical(canonical(url)) == canonical(url)
        assert host_of(canonical(url)) == host_of(url)
        assert origin_of(url).startswith("http")


plain = st.text("abcXYZ019-_~", min_size=1, max_size=5)


@settings(max_examples=300, deadline=None)
@given(st.lists(plain, max_size=4), st.lists(st.tuples(plain, st.text("abc019-_.~ é", max_size=4)), max_size=5))
def test_canonical_form_agrees_with_w3lib_on_plain_urls(segments: list[str], fields: list[tuple[str, str]]) -> None:
    query = "&".join(f"{name}={value}" for name, value in fields)
    url = normalise("http://example.com/" + "/".join(segments) + ("?" + query if query else ""))
    assert url is not None

    # w3lib writes a space in a query as "+"; both forms name the same value.
    assert canonical(url) == canonical(canonicalize_url(url))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.example", "http://a.example/"),
        ("http://a.example:80/", "http://a.example/"),
        ("https://a.example:443/x", "https://a.example/x"),
        ("http://a.example./x", "http://a.example/x"),
        ("http://A.example/x", "http://a.example/x"),
        ("http://a.example/x#part", "http://a.example/x"),
        ("http://a.example/?b=2&a=1", "http://a.example/?a=1&b=2"),
        ("http://a.example/?a", "http://a.example/?a="),
        ("http://a.example/%7Ea", "http://a.example/~a"),
        ("http://a.example/%c3%a9", "http://a.example/%C3%A9"),
        ("http://a.example/?q=a+b", "http://a.example/?q=a%20b"),
        ("http://a.example/%41%2d%2E%5f%7e", "http://a.example/A-._~"),
        ("http://a.example/?%41=%2d", "http://a.example/?A=-"),
        ("http://a.example/%3b%c3", "http://a.example/%3B%C3"),
        ('http://a.example/é|"', "http://a.example/%c3%a9%7c%22"),
    ],
)
def test_names_of_one_page_have_one_form(one: str, other: str) -> None:
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.example/", "https://a.example/"),
        ("http://a.example/", "http://a.example:443/"),
        ("http://a.example/a%2Fb", "http://a.example/a/b"),
        ("http://a.example/a%252Fb", "http://a.example/a%2Fb"),
        ("http://a.example/a%3Fb", "http://a.example/a?b"),
        ("http://a.example/?q=a%26b", "http://a.example/?q=a&b"),
        ("http://a.example/?q=a%2Bb", "http://a.example/?q=a+b"),
        ("http://a.example/?a=1&a=2", "http://a.example/?a=1"),
        ("http://a.example/A", "http://a.example/a"),
        ("http://u@a.example/", "http://a.example/"),
        ("http://a.example/a%25", "http://a.example/a%"),
        ("http://a.example/a%25zz", "http://a.example/a%zz"),
        ("http://a.example/a%2541", "http://a.example/a%41"),
        ("http://a.example/?q=%25", "http://a.example/?q=%"),
        ("http://a.example/%%34%31", "http://a.example/A"),
        ("http://a.example/%2541", "http://a.example/A"),
        ("http://a.example/%4%31", "http://a.example/%41"),
        ("http://a.example/%252e%252e/x", "http://a.example/%2e%2e/x"),
        ("http://a.example/a+b", "http://a.example/a%20b"),
        ("http://a.example/a+b", "http://a.example/a%2Bb"),
        ("http://a.example/a;p=1", "http://a.example/a"),
        ("http://a.example/?x=1;y=2", "http://a.example/?x=1&y=2"),
        ("http://a.example/?x=a%3Db", "http://a.example/?x=a=b"),
        ("http://a.example/a%23b", "http://a.example/a#b"),
        ("http://a.example/a%5Cb", "http://a.example/a/b"),
        ("http://a.example/a%00", "http://a.example/a"),
        ("http://a.example//a", "http://a.example/a"),
        ("http://u:p@a.example/", "http://u:q@a.example/"),
        ("http://[::1]/", "http://[::2]/"),
    ],
)
def test_names_of_two_pages_have_two_forms(one: str, other: str) -> None:
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize("reserved", list(":/?#[]@!$&'()*+,;="))
def test_a_separator_and_its_escape_are_two_things(reserved: str) -> None:
    """RFC 3986, 2.2: whoever escapes a reserved character means the character, not what it separates."""
    escaped = f"%{ord(reserved):02x}"

    if reserved not in "?#":
        assert canonical(f"http://a.example/x{reserved}y") != canonical(f"http://a.example/x{escaped}y")
    # A form writes a space as +, and # ends a query.
    if reserved not in "#":
        assert canonical(f"http://a.example/?x{reserved}y") != canonical(f"http://a.example/?x{escaped}y")
    assert canonical(f"http://a.example/?x{escaped}y=1") == f"http://a.example/?x{escaped.upper()}y=1"
    assert canonical(f"http://a.example/x{escaped}y") == f"http://a.example/x{escaped.upper()}y"


@settings(max_examples=500, deadline=None)
@given(st.text("%4125Fzé;/&+ ", max_size=12))
def test_a_canonical_form_means_the_same_bytes(text: str) -> None:
    """What a server makes of the path is what it would have made of the URL as it was found."""
    before = normalise("http://a.example/x" + text)
    assert before is not None

    assert unquote_to_bytes(urlsplit(canonical(before)).path) == unquote_to_bytes(urlsplit(before).path)


@pytest.mark.parametrize(
    ("url", "host", "origin"),
    [
        ("http://a.example/x", "a.example", "http://a.example"),
        ("http://a.example:8000/x", "a.example", "http://a.example:8000"),
        ("http://u:p@A.example./?x@y", "a.example", "http://a.example."),
        ("http://[::1]:8000/", "[::1]", "http://[::1]:8000"),
        ("https://a.example", "a.example", "https://a.example"),
        ("https://a.example?q=/x", "a.example", "https://a.example"),
        ("p2pcrawl://start.localhost/1", "start.localhost", "p2pcrawl://start.localhost"),
    ],
)
def test_host_and_origin_are_without_credentials(url: str, host: str, origin: str) -> None:
    assert (host_of(url), origin_of(url)) == (host, origin)
