"""The evidences of a page's type: each a number from 0 to 1, of its text, its links, its address and its own words.

Their weights were fitted on labelled real pages, with their own addresses and with addresses that say nothing, so that
no address decides alone. Each sign was given, and what then weighed nothing was left out; docs/page-types.md has the
figures. A weight above 0 speaks for an article, one below 0 for navigation.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp
from typing import Final

from p2pcrawl.spiders.page_types.page_shape import PageShape
from p2pcrawl.spiders.page_types.stated_types import StatedTypes
from p2pcrawl.spiders.page_types.url_shape import UrlShape

WEIGHTS: Final[Mapping[str, float]] = {
    "it states a product": 2.40,
    "some text": 2.23,
    "a long text": 1.96,
    "text in one place": 1.74,
    "a day in the URL": 1.61,
    "a title in the URL": 1.53,
    "og:type article": 1.47,
    "it states an article": 1.43,
    "an item's word in the URL": 1.40,
    "class of single pages": 1.01,
    "a date": 0.78,
    "a number in the URL": 0.50,
    "an ending": 0.34,
    "one <article>": 0.20,
    "an author or a day of publication": 0.12,
    "most headings are links": -0.23,
    "a list's word in the URL": -0.33,
    "text in links": -0.37,
    "cards of much text": -0.55,
    "pictures of cards": -0.59,
    "titles before the text": -0.94,
    "pages by number": -1.02,
    "more titles than text": -1.04,
    "many prices": -1.08,
    "cards with prices": -1.08,
    "it states a list": -1.35,
    "og:type of lists": -1.40,
    "the front of a site": -1.53,
    "texts that break off": -1.91,
    "it states a site": -1.94,
    "class of lists": -2.01,
}
BALANCE: Final = -2.06
"""The sum at a page without any evidence."""


def evidences(shape: PageShape, stated: StatedTypes, url: UrlShape) -> dict[str, float]:
    """Weighs a page: each evidence by its name."""
    titles, headings = len(shape.titles), shape.linked_headings + shape.plain_headings
    return {
        "a long text": _much(shape.run, 1_500),
        "some text": _much(shape.run, 300),
        "text in one place": _much(shape.gathered, 1_000),
        "text in links": min(shape.linked / max(shape.text, 1), 1.0),
        "titles before the text": _much(shape.before, 12),
        "more titles than text": titles / (titles + shape.run / 250 + 1),
        "most headings are links": shape.linked_headings / headings if headings else 0.0,
        "texts that break off": _much(shape.open_ends, 3),
        "pages by number": _much(max(shape.numbered - 1, 0), 3),
        "cards of much text": _much(shape.card_text, 300) if shape.cards > 4 else 0.0,
        "cards with prices": _much(max(min(shape.cards, shape.prices) - 3, 0), 6),
        "pictures of cards": _much(max(min(shape.cards, shape.pictures) - 5, 0), 10),
        "many prices": _much(max(shape.prices - 3, 0), 8),
        "one <article>": float(shape.articles == 1),
        "a date": float(0 < shape.times <= 3),
        **_of_statements(stated),
        **_of_url(url),
    }


def _of_statements(stated: StatedTypes) -> dict[str, float]:
    return {
        "it states an article": float(stated.article),
        "it states a product": float(stated.product),
        "it states a list": float(stated.a_list),
        "it states a site": float(stated.front),
        "og:type article": float(stated.graph in ("article", "news", "blog_post", "video.other", "book")),
        "og:type of lists": float(stated.graph.startswith(("product.group", "collection", "category", "object"))),
        "an author or a day of publication": float(stated.published),
        "class of single pages": float(stated.class_single),
        "class of lists": float(stated.class_many and not stated.class_single),
    }


def _of_url(url: UrlShape) -> dict[str, float]:
    return {
        "the front of a site": float(url.root),
        "a day in the URL": float(url.dated),
        "a title in the URL": min(max((url.words - 2) / 3, 0.0), 1.0),
        "a number in the URL": float(url.numbered),
        "a list's word in the URL": float(url.list_word),
        "an item's word in the URL": float(url.item_word),
        "an ending": float(url.ended),
    }


def balance_of(found: Mapping[str, float]) -> float:
    """Adds the evidences up: above 0 for an article, below 0 for navigation."""
    return BALANCE + sum(WEIGHTS[name] * value for name, value in found.items())


def weightiest(found: Mapping[str, float], *, article: bool, count: int) -> tuple[str, ...]:
    """Returns the evidences that spoke most for a type, as words."""
    sign = 1 if article else -1
    said = sorted(((WEIGHTS[name] * value * sign, name) for name, value in found.items()), reverse=True)
    return tuple(name for weight, name in said[:count] if weight > 0)


def likelihood(balance: float) -> float:
    """Returns how likely an article is, of a sum of evidences."""
    return 1 / (1 + exp(-max(min(balance, 30.0), -30.0)))


def _much(count: float, half: float) -> float:
    """Returns how much a count is: a half at ``half``, nearly one at many times that."""
    return count / (count + half)
