"""What a page says, apart from what is another thing in each answer."""

from __future__ import annotations

import pytest

from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.http.headers import Headers
from p2pcrawl.slave.revisits.content_digest import content_digest
from p2pcrawl.spiders.page.answer_kinds import response_of

URL = "http://a.example/"
PAGE = """<!DOCTYPE html><html lang="en"><head><title>The flood</title>{head}</head><body class="{name}">
<h1>The flood</h1><p>The river rose by 12.5 m at 12:30 on 3 May, and 5 houses were lost.</p>{body}
<a href="/next?page=2{query}">More</a></body></html>"""


def digest(head: str = "", body: str = "", query: str = "", name: str = "", page: str = PAGE) -> bytes:
    return of(page.format(head=head, body=body, query=query, name=name))


def of(text: str, kind: str = "text/html; charset=utf-8") -> bytes:
    answer = Answer(URL, 200, Headers({"Content-Type": kind}), text.encode())
    return content_digest(response_of(answer, Request(URL), 0))


@pytest.mark.parametrize(
    "change",
    [
        {"head": '<meta name="csrf-token" content="83b1c"><link rel="preload" href="/app.91.css">'},
        {"head": "<script>window.at = 1700000001.5</script><style>p { color: red }</style>"},
        {"body": "<!-- served by web-17 at 12:31:07 -->"},
        {"body": "<script>track('a1b2')</script><noscript><img src='/pixel?7'></noscript>"},
        {"body": "<form><input type='hidden' name='csrf' value='9f8e7d'></form>"},
        {"body": "<time datetime='2026-05-03T12:31:07Z'>a while ago</time>"},
        {"body": "<p> </p>\n\n"},
        {"query": "&amp;sid=8d7f6a5b4c3d2e1f&amp;utm_source=front"},
        {"query": "&amp;v=eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"},
        {"name": "page-91 night"},
    ],
    ids=lambda change: next(iter(change.values()))[:20],
)
def test_what_nobody_reads_does_not_count(change: dict[str, str]) -> None:
    assert digest(**change) == digest()


@pytest.mark.parametrize("before, after", [("5 minutes ago", "2 hours ago"), ("at 12:31:07", "at 12:31:58")])
def test_ages_and_times_to_the_second_do_not_count(before: str, after: str) -> None:
    assert digest(body=f"<p>written {before}</p>") == digest(body=f"<p>written {after}</p>")


@pytest.mark.parametrize(
    "before, after",
    [
        ("12.5 m", "12.6 m"),
        ("12:30", "13:30"),
        ("3 May", "4 May"),
        ("5 houses", "6 houses"),
        ("<title>The flood", "<title>The great flood"),
        ("page=2", "page=3"),
        ("More", "More of it"),
    ],
)
def test_what_is_read_counts(before: str, after: str) -> None:
    assert digest(page=PAGE.replace(before, after)) != digest()


def test_link_that_is_new_counts_though_its_text_is_not() -> None:
    assert digest(body='<a href="/a/2">More</a>') != digest(body='<a href="/a/1">More</a>')


def test_of_what_is_no_page_every_byte_counts() -> None:
    assert of('{"at": "12:31:07"}', "application/json") != of('{"at": "12:31:08"}', "application/json")


@pytest.mark.parametrize("text", ["", "<", "<html", "\udc80".encode("utf-8", "replace").decode(), "<p>" * 2_000])
def test_what_is_hardly_a_page_has_a_digest_too(text: str) -> None:
    assert of(text) == of(text)
