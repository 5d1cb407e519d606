"""The fit of the weights of a page's evidences: a logistic regression with given signs, in plain Python.

Each page counts with its own address, and half as much with one that says nothing, so that no page is judged by its
address alone. Cyclic coordinate descent finds the weights; weights are drawn towards nought by their squares, in units
of how much each evidence differs between pages, and one whose sign would be wrong stays at nought.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from math import exp, sqrt
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from benchmarks.page_types.labelled_sets import NO_ADDRESS, LabelledPage
from p2pcrawl.model.page_type import PageType
from p2pcrawl.spiders.page_types.evidences import evidences, likelihood
from p2pcrawl.spiders.page_types.judging import told_before
from p2pcrawl.spiders.page_types.page_walk import shape_of
from p2pcrawl.spiders.page_types.stated_types import stated_types
from p2pcrawl.spiders.page_types.url_shape import url_shape
from p2pcrawl.spiders.page_types.verdict import SURE, PageVerdict

PULL: Final = 20.0
"""How strongly weights are drawn to nought."""
NAMELESS_WEIGHT: Final = 0.5
SWEEPS: Final = 60
FOLDS: Final = 10
AGAINST: Final = frozenset(
    (
        "titles before the text",
        "more titles than text",
        "many links",
        "texts that break off",
        "pages by number",
        "links to pages of a list",
        "cards with prices",
        "pictures of cards",
        "many pictures",
        "the same words for many links",
        "a short headline",
        "a list's word in the title",
        "filters",
        "a pager",
        "names of categories",
        "cards by name",
        "teasers by name",
        "a cart",
        "it states a list",
        "it states a site",
        "it states answers",
        "no og:type",
        "class of lists",
        "the front of a site",
        "a list's word in the URL",
        "a plural in the URL",
    )
)
"""The evidences that speak for navigation; all others speak for an article."""


class WeighedPage(NamedTuple):
    """A page as the fit sees it."""

    page: LabelledPage
    found: Mapping[str, float]
    nameless: Mapping[str, float]
    """Its evidences at an address that says nothing."""
    told: PageVerdict | None
    """The verdict of a rule, before anything is weighed."""
    told_nameless: PageVerdict | None

    def type_by(self, balance: Callable[[Mapping[str, float]], float], *, nameless: bool = False) -> PageType:
        """Returns what the page is taken for."""
        told = self.told_nameless if nameless else self.told
        if told is not None:
            return told.type
        return PageType.ARTICLE if balance(self.nameless if nameless else self.found) >= 0 else PageType.NAVIGATION

    def may_be_article(self, balance: Callable[[Mapping[str, float]], float]) -> bool:
        """Tells whether ``--extract article`` reads the page."""
        if self.told is not None:
            return self.told.type is PageType.ARTICLE or not self.told.is_sure
        return likelihood(balance(self.found)) > 1 - SURE


class Fit(NamedTuple):
    """The weights of the evidences, and the sum at a page without any."""

    weights: Mapping[str, float]
    balance: float

    def balance_of(self, found: Mapping[str, float]) -> float:
        return self.balance + sum(self.weights.get(name, 0.0) * value for name, value in found.items())


def weighed(page: LabelledPage) -> WeighedPage:
    """Finds the evidences of a page."""
    tree = LexborHTMLParser(page.html)
    shape, stated = shape_of(tree), stated_types(tree)
    where, nowhere = url_shape(page.url), url_shape(NO_ADDRESS)
    return WeighedPage(
        page,
        evidences(shape, stated, where),
        evidences(shape, stated, nowhere),
        told_before(shape, stated, where),
        told_before(shape, stated, nowhere),
    )


def fitted(pages: Sequence[WeighedPage]) -> Fit:
    """Fits the weights to pages; those that a rule settles are left out."""
    pages = [each for each in pages if each.told is None]
    rows = [each.found for each in pages] + [each.nameless for each in pages]
    marks = [1.0 if each.page.type is PageType.ARTICLE else -1.0 for each in pages] * 2
    shares = [1 / (1 + NAMELESS_WEIGHT)] * len(pages) + [NAMELESS_WEIGHT / (1 + NAMELESS_WEIGHT)] * len(pages)
    columns = {name: _column(rows, name) for name in sorted(rows[0])}
    pulls = {name: PULL * _spread(column, len(rows)) for name, column in columns.items()}
    weights = dict.fromkeys(columns, 0.0)
    ones = [(number, 1.0) for number in range(len(rows))]
    sums, balance = [0.0] * len(rows), 0.0
    for _ in range(SWEEPS):
        balance = _step(ones, sums, marks, shares, balance, 1e-9)
        for name, column in columns.items():
            if pulls[name]:
                sign = -1 if name in AGAINST else 1
                weights[name] = _step(column, sums, marks, shares, weights[name], pulls[name], sign)
    return Fit({name: weight for name, weight in weights.items() if abs(weight) >= 0.005}, balance)


def _column(rows: Sequence[Mapping[str, float]], name: str) -> list[tuple[int, float]]:
    return [(number, row[name]) for number, row in enumerate(rows) if row[name]]


def _spread(column: Sequence[tuple[int, float]], count: int) -> float:
    """Returns the variance of a column."""
    mean = sum(value for _, value in column) / count
    return sum(value * value for _, value in column) / count - mean * mean


def _step(
    column: Sequence[tuple[int, float]],
    sums: list[float],
    marks: Sequence[float],
    shares: Sequence[float],
    weight: float,
    pull: float,
    sign: int = 0,
) -> float:
    """Makes one step of Newton's method along one weight, keeps the rows' sums in step, and returns the weight."""
    slope, curve = pull * weight, pull
    for number, value in column:
        mark = marks[number]
        wrong = 1 / (1 + exp(min(mark * sums[number], 500.0)))
        slope -= shares[number] * value * mark * wrong
        curve += shares[number] * value * value * wrong * (1 - wrong)
    moved = weight - max(min(slope / max(curve, 1e-9), 1.0), -1.0)
    if moved * sign < 0:
        moved = 0.0
    change = moved - weight
    if change:
        for number, value in column:
            sums[number] += change * value
    return moved


def crossed(pages: Sequence[WeighedPage], beside: Sequence[WeighedPage]) -> list[tuple[WeighedPage, Fit]]:
    """Returns each page with the weights of a fit that has seen no page of its site: of the other nine tenths, and of
    the sets beside.
    """
    ended: list[tuple[WeighedPage, Fit]] = []
    for fold in range(FOLDS):
        fit = fitted([each for each in (*pages, *beside) if _fold(each.page.site) != fold])
        ended += [(each, fit) for each in pages if _fold(each.page.site) == fold]
    return ended


def _fold(site: str) -> int:
    return hashlib.sha256(site.encode()).digest()[0] % FOLDS


def interval(right: int, whole: int) -> tuple[float, float]:
    """Returns between which shares the true one is, 95 times in a hundred, by Wilson's method."""
    z, share = 1.96, right / whole
    middle = share + z * z / (2 * whole)
    reach = z * sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole))
    scale = 1 + z * z / whole
    return (middle - reach) / scale, (middle + reach) / scale
