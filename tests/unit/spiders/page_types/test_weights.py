"""The weights of evidences, and the fit that makes them."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.page_types.fitting import AGAINST, WeighedPage, crossed, fitted, interval
from benchmarks.page_types.labelled_sets import LabelledPage
from p2pcrawl.model.page_type import PageType
from p2pcrawl.spiders.page_types.evidences import evidences
from p2pcrawl.spiders.page_types.page_shape import PageShape
from p2pcrawl.spiders.page_types.stated_types import StatedTypes
from p2pcrawl.spiders.page_types.url_shape import UrlShape
from p2pcrawl.spiders.page_types.weights import WEIGHTS


def page(number: int, kind: PageType, found: Mapping[str, float]) -> WeighedPage:
    labelled = LabelledPage(str(number), f"https://site{number}.example/", str(kind), kind, "")
    return WeighedPage(labelled, found, found, None, None)


def pages() -> list[WeighedPage]:
    """Returns pages that text tells apart, and a pager, which stands on articles here, as it never may speak."""
    articles = [page(number, PageType.ARTICLE, {"some text": 0.9, "a pager": 1.0}) for number in range(20)]
    lists = [page(number, PageType.NAVIGATION, {"some text": 0.1, "a pager": 0.0}) for number in range(20, 40)]
    return articles + lists


def test_each_evidence_has_a_weight_of_its_sign() -> None:
    found = evidences(PageShape(), StatedTypes(), UrlShape())

    assert set(found) == set(WEIGHTS) and set(WEIGHTS) >= AGAINST
    assert all((weight < 0) == (name in AGAINST) for name, weight in WEIGHTS.items())


def test_page_without_anything_has_no_evidence() -> None:
    found = evidences(PageShape(), StatedTypes(), UrlShape())

    assert {name for name, value in found.items() if value} == {"no og:type"}


def test_fit_parts_pages_and_keeps_the_signs() -> None:
    fit = fitted(pages())

    assert fit.weights["some text"] > 0 and "a pager" not in fit.weights
    assert all(each.type_by(fit.balance_of) is each.page.type for each in pages())


def test_cross_validation_judges_each_page_once_by_a_fit_that_did_not_see_it() -> None:
    ended = crossed(pages(), [])

    assert sorted(int(each.page.name) for each, _ in ended) == list(range(40))
    assert len({id(fit) for _, fit in ended}) > 5


def test_interval_has_the_share_in_it_and_narrows_with_more_pages() -> None:
    few, many = interval(9, 10), interval(900, 1_000)

    assert few[0] < many[0] < 0.9 < many[1] < few[1] <= 1
