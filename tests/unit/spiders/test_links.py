"""normalise, page_links and LinkBatch."""

from __future__ import annotations

import can_ada
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from p2pcrawl.model.crawl.request import Kind, Request
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.page.links import LinkBatch, join_all, normalise, page_links

BASE = "http://example.com/a/b/c.html?x=1#top"
WORDS = (
    "http https : // / /. /.. .. . ? # @ [ ] ::1 % %2e %2E%2e %zz xn-- xn--bcher-kva example.com EXAMPLE.com 127.1 "
    "0x7f.1 1.2.3 :80 :443 :8080 :99999 :0 \\ \x00 \x7f é 。 ß \ud800 a b/c;d=e&f 'q' \"q\" {x} | ^ ` < > javascript: "
    "mailto:a@b data:,x user:pw@ ../ //"
)
PIECES = st.sampled_from([*WORDS.split(), "\t", "\n", " ", "\u200d"])
TANGLED = st.lists(PIECES, max_size=10).map("".join)
ANY = st.text(st.characters(exclude_categories=()), max_size=60) | TANGLED | TANGLED.map("http://".__add__)


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("d.html", "http://example.com/a/b/d.html"),
        ("/d?e=f&g", "http://example.com/d?e=f&g"),
        ("../d", "http://example.com/a/d"),
        ("../../../d", "http://example.com/d"),
        ("./d/./e/../f", "http://example.com/a/b/d/f"),
        ("?q=1", "http://example.com/a/b/c.html?q=1"),
        ("", "http://example.com/a/b/c.html?x=1"),
        ("#part", "http://example.com/a/b/c.html?x=1"),
        ("//other.org/x", "http://other.org/x"),
        ("HTTPS://Other.ORG:443/X#y", "https://other.org/X"),
        ("https://other.org", "https://other.org/"),
        ("http://other.org:80/", "http://other.org/"),
        ("http://other.org:8080/", "http://other.org:8080/"),
        ("http://other.org/a/%2e%2e/b", "http://other.org/b"),
        ("  /padded\n", "http://example.com/padded"),
        ("/in\tside\n", "http://example.com/inside"),
        ("/with space", "http://example.com/with%20space"),
        ("/%zz", "http://example.com/%zz"),
        ("/caf\u00e9?\u00fc", "http://example.com/caf%C3%A9?%C3%BC"),
        ("/lone\ud800", "http://example.com/lone%EF%BF%BD"),
        ("http://b\u00fccher.de/", "http://xn--bcher-kva.de/"),
        ("http://127.1/", "http://127.0.0.1/"),
        ("http://0x7f.0.0.1/", "http://127.0.0.1/"),
        ("http://[::1]:80/", "http://[::1]/"),
        ("\\\\other.org\\x", "http://other.org/x"),
        ("http:d", "http://example.com/a/b/d"),
    ],
)
def test_href_leads_where_a_browser_would_go(href: str, expected: str) -> None:
    assert normalise(href, BASE) == expected


@pytest.mark.parametrize(
    "href",
    [
        "javascript:void(0)",
        "mailto:a@example.com",
        "data:text/html,x",
        "ftp://example.com/",
        "http://[::1",
        "http://",
        "http://a b/",
        "http://example.com:99999/",
        "http://xn--/",
        "http://1.2.3.4.5/",
    ],
)
def test_what_is_no_page_leads_nowhere(href: str) -> None:
    assert normalise(href, BASE) is None
    assert join_all([href], BASE) == []


def test_relative_url_without_base_leads_nowhere() -> None:
    assert normalise("/a") is None
    assert normalise("a", "not a base") is None
    assert join_all(["a", "http://example.com/b"], "not a base") == ["http://example.com/b"]


@settings(max_examples=600, deadline=None)
@given(ANY, ANY)
@example("http://\u00df/", "")
@example("http://a/\ud800", "")
@example('"', "HTTP:0//.0/./")
@example("http://e.com/a/.b/..", "")
def test_normalise_never_raises_and_repeating_it_changes_nothing(url: str, base: str) -> None:
    once = normalise(url, base)

    if once is not None:
        assert normalise(once) == once
        assert normalise(once, "https://elsewhere.org/x") == once
        assert once.startswith(("http://", "https://"))
        assert "#" not in once


STEPS = st.lists(st.sampled_from([".", "..", "%2e", ".%2E", ".b", "a", "..c", "", "0", "?", "\\"]), max_size=8)


def steps_in(url: str) -> set[str]:
    path = url.partition("?")[0].partition("://")[2]
    return {"." * len(s) for s in path.lower().replace("%2e", ".").split("/")[1:] if s in (".", "..")}


@settings(max_examples=600, deadline=None)
@given(STEPS.map("/".join).map("http://e.com/".__add__) | TANGLED.map("http://e.com/".__add__) | ANY)
@example("http://e.com/a/.b/..")
@example("http://e.com/0/.0/.")
@example("http://e.com/a/.b/../../../c?x=/../y")
@example("HTTP:0")
def test_no_normalised_path_has_a_step_in_it(url: str) -> None:
    once = normalise(url)

    if once is not None:
        assert steps_in(once) == set()
        assert normalise(once) == once
        # Without slashes after the same scheme, "http:0" is a path of the page that it stands in.
        if url.lower().startswith(("http://", "https://")):
            assert join_all([url], "http://e.com/") in ([once], [])


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://e.com/a/.b/..", "http://e.com/a/"),
        ("http://e.com/0/.0/.", "http://e.com/0/.0/"),
        ("http://e.com/a/.b/../c?x=/../y", "http://e.com/a/c?x=/../y"),
        ("http://e.com/.b/../../../c/", "http://e.com/c/"),
        ("http://e.com//.0/./", "http://e.com//.0/"),
        ("http://e.com/a/...", "http://e.com/a/..."),
    ],
)
def test_steps_that_ada_leaves_are_taken(url: str, expected: str) -> None:
    assert normalise(url) == expected
    assert join_all([url], "http://e.com/") == [expected]


SIMPLE = st.text("abz019AZ-._~!$&()*+,;=:@/?#%", max_size=24)


@settings(max_examples=600, deadline=None)
@given(SIMPLE | TANGLED, st.sampled_from([BASE, "http://h/", "https://h:8443/d/e/", "http://h/x//y/"]))
@example("a/./b", BASE)
@example("../.hidden", BASE)
@example("/http/.http/.", BASE)
def test_quick_forms_agree_with_ada(href: str, base: str) -> None:
    quick = join_all([href], base)

    try:
        joined = can_ada.parse(base) + href.partition("#")[0]
    except (ValueError, TypeError):
        return
    expected = joined.href if joined.protocol in ("http:", "https:") else None
    assume(not steps_in(expected or ""))  # It leaves some, as the test above this shows.
    if href.strip("\x00\t\n \x1f").partition("#")[0]:
        assert quick == ([expected] if expected else [])
    assert normalise(href, base) == expected


def test_links_of_a_page_come_once_and_in_order() -> None:
    tree = LexborHTMLParser(
        '<link rel=stylesheet href=/s.css><a href=two>2</a><map><area href=/one></map><a href="two#x">2</a><a>no</a>'
        '<a href>empty</a><a href="#here">here</a><a href="MAILTO:x@y">m</a><svg><a href="/svg">s</a></svg>'
    )

    links = page_links(tree, "http://h/d/")

    assert links == ["http://h/d/two", "http://h/one", "http://h/svg"]


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("/other/", "http://h/other/x"),
        ("https://cdn.org/a/", "https://cdn.org/a/x"),
        ("javascript:1", "http://h/d/x"),
        ("http://[", "http://h/d/x"),
        ("", "http://h/d/x"),
    ],
)
def test_base_element_counts_where_it_is_sound(base: str, expected: str) -> None:
    tree = LexborHTMLParser(f"<base target=_top><base href='{base}'><base href='/second/'><a href=x>")

    links = page_links(tree, "http://h/d/e")

    if base:
        assert links == [expected]


def test_batch_is_found_when_it_is_wanted_and_once() -> None:
    calls = []

    def find() -> list[str]:
        calls.append(1)
        return ["http://h/1", "http://h/2"]

    batch = LinkBatch(find, "parse_page", priority=3, kind="detail", cb_kwargs={"a": 1})

    assert calls == []
    assert batch.urls == batch.urls == ["http://h/1", "http://h/2"]
    assert calls == [1]


def test_batch_yields_requests_that_carry_its_fields() -> None:
    batch = LinkBatch(
        ["http://h/1"],
        "parse_page",
        priority=3,
        kind="detail",
        cb_kwargs={"a": 1},
        headers={"X": "y"},
        dont_filter=True,
    )

    requests = list(batch)

    assert len(batch) == 1
    (request,) = requests
    assert isinstance(request, Request)
    assert (request.url, request.callback, request.priority) == ("http://h/1", "parse_page", 3)
    assert (request.kind, request.cb_kwargs, request.headers) == (Kind.DETAIL, {"a": 1}, {"X": "y"})
    assert request.dont_filter


def test_batch_refuses_callback_that_cannot_travel() -> None:
    with pytest.raises(ConfigurationError, match="cannot travel"):
        LinkBatch([], lambda response: None)
