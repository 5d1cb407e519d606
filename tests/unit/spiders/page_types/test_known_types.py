"""What is known of the pages of a shape of URL."""

from __future__ import annotations

import pytest

from p2pcrawl.model.crawl.record import PAGE_TYPE_MAX
from p2pcrawl.model.page_type import PageType, type_told
from p2pcrawl.spiders.page_types.known_types import PROOFS_MAX, KnownTypes
from p2pcrawl.spiders.page_types.url_shape import UrlShape, pattern_of, url_shape
from p2pcrawl.spiders.page_types.verdict import PageVerdict, TypedBy

SITE = "https://paper.example"
ARTICLE = PageVerdict(PageType.ARTICLE, 0.95, ("a long text",))
NAVIGATION = PageVerdict(PageType.NAVIGATION, 0.95, ("titles",))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/2026/11/03/a-ferry-for-the-islands", "/2024/01/31/storm-over-the-old-harbour"),
        ("/artikel/4711.html", "/artikel/9.html"),
        ("/t/when-does-it-leave/4711", "/t/where-is-the-harbour/1"),
        ("/p/8f3b21c9d0", "/p/0a1b2c3d4e5f"),
        ("/view.php?id=1&lang=de", "/view.php?lang=en&id=77"),
        ("/section-12/x", "/section-9/x"),
    ],
)
def test_urls_of_one_shape_have_one_pattern(one: str, other: str) -> None:
    assert pattern_of(SITE + one) == pattern_of(SITE + other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("/news/sport", "/news/local"), ("/a/1", "/b/1"), ("/view?id=1", "/view?page=1"), ("/a/1", "/a/1/comments")],
)
def test_urls_of_two_shapes_have_two_patterns(one: str, other: str) -> None:
    assert pattern_of(SITE + one) != pattern_of(SITE + other)


def test_urls_of_two_hosts_have_two_patterns() -> None:
    assert pattern_of("https://a.example/1") != pattern_of("https://b.example/1")


def test_broken_url_has_no_shape() -> None:
    assert pattern_of("http://[broken/") == ""
    assert url_shape("http://[broken/") == UrlShape()


@pytest.mark.parametrize(
    ("path", "type"),
    [
        ("/2026/11/03/second-ferry", PageType.ARTICLE),
        ("/news/northern-islands-get-a-second-ferry", PageType.ARTICLE),
        ("/product/ferry-88213", PageType.ARTICLE),
        ("/", PageType.NAVIGATION),
        ("/de/", PageType.NAVIGATION),
        ("/news", PageType.NAVIGATION),
        ("/search?q=a-ferry-to-the-islands", PageType.NAVIGATION),
        ("/about", PageType.NAVIGATION),
    ],
)
def test_link_is_guessed_by_its_url_before_pages_like_it_are_known(path: str, type: PageType) -> None:
    guess = KnownTypes().guess(SITE + path)

    assert (guess.type, guess.by) == (type, "url")


def test_link_is_guessed_by_what_pages_like_it_were() -> None:
    known = KnownTypes()

    for number in range(2):
        known.learn(f"{SITE}/s/{number}", ARTICLE)

    assert known.guess(f"{SITE}/s/99") == TypedBy(PageType.ARTICLE, "cached", "2 of 2 pages like paper.example/s/#")
    assert known.guess(f"{SITE}/x/99").by == "url"


def test_wrong_guess_is_corrected_by_the_pages_that_prove_it_wrong() -> None:
    known = KnownTypes()
    for number in range(PROOFS_MAX):
        known.learn(f"{SITE}/s/{number}", ARTICLE)

    for number in range(4 * PROOFS_MAX):
        known.learn(f"{SITE}/s/{number}", NAVIGATION)

    assert known.guess(f"{SITE}/s/1").type is PageType.NAVIGATION


def test_pages_that_disagree_decide_nothing() -> None:
    known = KnownTypes()

    for number in range(10):
        known.learn(f"{SITE}/s/{number}", (ARTICLE, NAVIGATION)[number % 2])

    assert known.guess(f"{SITE}/s/1").by == "url"


def test_page_that_is_not_sure_is_what_pages_like_it_are() -> None:
    known = KnownTypes()
    for number in range(6):
        known.learn(f"{SITE}/s/{number}", NAVIGATION)

    unsure = known.settle(f"{SITE}/s/7", PageVerdict(PageType.ARTICLE, 0.6, ("some text",)))
    sure = known.settle(f"{SITE}/s/8", ARTICLE)

    assert (unsure.type, unsure.by) == (PageType.NAVIGATION, "cached")
    assert (sure.type, sure.by) == (PageType.ARTICLE, "content")


def test_verdict_that_is_not_sure_proves_nothing() -> None:
    known = KnownTypes()

    known.learn(f"{SITE}/s/1", PageVerdict(PageType.ARTICLE, 0.6, ()))

    assert len(known) == 0


def test_memory_is_bounded_and_keeps_what_is_in_use() -> None:
    known = KnownTypes(patterns_max=10)
    for number in range(100):
        known.learn(f"{SITE}/always/{number}", ARTICLE)
        known.learn(f"https://host{number}.example/", NAVIGATION)

    assert len(known) == 10
    assert known.guess(f"{SITE}/always/1").by == "cached"


def test_type_that_is_told_fits_into_a_record() -> None:
    told = TypedBy(PageType.ARTICLE, "pattern", "x" * 500 + "\ud800").told

    assert len(told) == PAGE_TYPE_MAX and told.startswith("article:pattern x")


@pytest.mark.parametrize(
    ("told", "type"),
    [
        ("article:pattern a = 'b'", PageType.ARTICLE),
        ("navigation:entry", PageType.NAVIGATION),
        ("", None),
        ("x:y", None),
    ],
)
def test_type_is_read_from_what_is_told(told: str, type: PageType | None) -> None:
    assert type_told(told) is type
