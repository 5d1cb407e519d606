"""The judgement on pages: a labelled set, written here, and what is no page of text."""

from __future__ import annotations

from collections import Counter

import pytest

from p2pcrawl.model.page_type import PageType
from p2pcrawl.spiders.page.answer_kinds import HtmlResponse, JsonResponse, XmlResponse
from tests.sites.typed_pages import TypedPage, typed_pages

PAGES = typed_pages()


def response_of(page: TypedPage) -> HtmlResponse:
    return HtmlResponse(page.url, body=page.html.encode(), headers={"Content-Type": "text/html; charset=utf-8"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_is_taken_for_what_it_is(page: TypedPage) -> None:
    verdict = response_of(page).page_verdict

    assert verdict.type == page.type, verdict
    assert 0.5 <= verdict.sureness <= 1


def test_labelled_pages_are_many_of_each_type() -> None:
    types = Counter(page.type for page in PAGES)

    assert len(PAGES) > 100 and len({page.name for page in PAGES}) == len(PAGES)
    assert types[PageType.ARTICLE] > 30 and types[PageType.NAVIGATION] > 50 and types[PageType.OTHER] > 10


def test_verdict_says_what_spoke_for_it() -> None:
    page = next(each for each in PAGES if each.name == "en: article")

    verdict = response_of(page).page_verdict

    assert verdict.is_sure and "some text" in verdict.why


def test_same_words_at_an_address_that_says_nothing_are_the_same() -> None:
    page = next(each for each in PAGES if each.name == "en: article")

    found = response_of(page._replace(url="http://127.0.0.1:8000/12")).page_type

    assert found is PageType.ARTICLE


@pytest.mark.parametrize(
    ("url", "head", "type"),
    [
        ("https://shop.example/products/oak-dining-table", "", PageType.ARTICLE),
        ("https://forum.example/t/first-steps/3275", "", PageType.ARTICLE),
        ("https://shop.example/x", '<meta property="og:type" content="product">', PageType.ARTICLE),
        ("https://shop.example/x", '<meta property="og:type" content="product.group">', PageType.NAVIGATION),
        ("https://shop.example/x", "", PageType.OTHER),
        ("https://shop.example/help/contact-us", "", PageType.OTHER),
    ],
)
def test_page_that_only_scripts_would_fill_is_told_from_outside(url: str, head: str, type: PageType) -> None:
    page = f"<html><head>{head}</head><body><div id=app></div><script>start()</script></body></html>"

    verdict = HtmlResponse(url, body=page.encode(), headers={"Content-Type": "text/html"}).page_verdict

    assert verdict.type is type
    assert type is PageType.OTHER or not verdict.is_sure


@pytest.mark.parametrize("root", ["rss", "feed", "urlset"])
def test_feed_is_navigation(root: str) -> None:
    feed = XmlResponse("https://paper.example/feed", body=f"<?xml version='1.0'?><{root}></{root}>".encode())

    assert feed.page_type is PageType.NAVIGATION


def test_what_is_no_page_of_text_is_other() -> None:
    data = JsonResponse("https://paper.example/data", body=b"{}", headers={"Content-Type": "application/json"})

    assert data.page_type is PageType.OTHER and data.page_verdict.why == ("no page of text",)


def test_deep_page_is_judged_without_recursion() -> None:
    deep = "<div>" * 5_000 + "words" + "</div>" * 5_000

    found = HtmlResponse("https://paper.example/x", body=deep.encode(), headers={"Content-Type": "text/html"}).page_type

    assert found is PageType.OTHER


def test_type_is_told_only_of_pages_that_somebody_asked_about() -> None:
    response = response_of(PAGES[0])

    before = response.taken_for
    response.page_type  # noqa: B018  # The question is what is tried.

    assert before is None
    assert response.taken_for is not None and response.taken_for.told.startswith("article:content ")
