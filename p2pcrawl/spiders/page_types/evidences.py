"""The evidences of a page's type: each a number from 0 to 1, of its text, its links, its address and its own words.

Their :mod:`weights <p2pcrawl.spiders.page_types.weights>` were fitted on labelled real pages, with their own addresses
and with addresses that say nothing, so that no address decides alone. docs/page-types.md has the figures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import exp

from p2pcrawl.spiders.page_types.page_shape import PageShape
from p2pcrawl.spiders.page_types.stated_types import StatedTypes
from p2pcrawl.spiders.page_types.title_words import names_a_list, small_words, words_in
from p2pcrawl.spiders.page_types.url_shape import UrlShape
from p2pcrawl.spiders.page_types.weights import BALANCE, WEIGHTS

_between_names = re.compile(r"\s[|–—·»:-]+\s|\s?::\s?|\|").split  # noqa: RUF001


def evidences(shape: PageShape, stated: StatedTypes, url: UrlShape) -> dict[str, float]:
    """Weighs a page: each evidence by its name."""
    return {
        **_of_text(shape),
        **_of_lists(shape),
        **_of_headings(shape, stated),
        **_of_parts(shape),
        **_of_statements(stated),
        **_of_url(url),
    }


def _of_text(shape: PageShape) -> dict[str, float]:
    return {
        "a long text": _much(shape.run, 1_500),
        "some text": _much(shape.run, 300),
        "text in one place": _much(shape.gathered, 1_000),
        "a long paragraph": _much(max(shape.prose, default=0), 500),
        "paragraphs": _much(len(shape.prose), 10),
        "text for each title": shape.prose_size / (shape.prose_size + 100 * len(shape.titles) + 100),
        "code": _much(shape.tags["pre"], 2),
        "quotations": _much(shape.tags["blockquote"], 2),
        "legends": _much(shape.tags["figcaption"], 3),
        "terms and what they mean": _much(shape.tags["dt"], 5),
        "links within the page": _much(shape.anchors, 8),
    }


def _of_lists(shape: PageShape) -> dict[str, float]:
    titles = len(shape.titles)
    return {
        "titles before the text": _much(shape.before, 12),
        "more titles than text": titles / (titles + shape.run / 250 + 1),
        "many links": _much(shape.links, 50),
        "texts that break off": _much(shape.open_ends, 3),
        "pages by number": _much(max(shape.numbered - 1, 0), 3),
        "links to pages of a list": _much(shape.page_links, 3),
        "cards with prices": _much(max(min(shape.cards, shape.prices) - 3, 0), 6),
        "pictures of cards": _much(max(min(shape.cards, shape.pictures) - 5, 0), 10),
        "many pictures": _much(shape.pictures, 20),
        "the same words for many links": _much(shape.repeated, 6),
        "one <article>": float(shape.articles == 1),
        "a date": float(0 < shape.times <= 3),
    }


def _of_headings(shape: PageShape, stated: StatedTypes) -> dict[str, float]:
    title = _between_names(stated.title)[0]
    titled, headline = words_in(title), words_in(shape.headline)
    return {
        "headings with numbers": _much(shape.counted_headings, 2),
        "a long headline": min(headline / 8, 1.0),
        "a short headline": float(0 < headline <= 2),
        "a long title": min(titled / 8, 1.0),
        "a list's word in the title": float(names_a_list(title) or names_a_list(shape.headline)),
        "a sentence for a title": min(small_words(stated.title) / 3, 1.0),
    }


def _of_parts(shape: PageShape) -> dict[str, float]:
    names = shape.names
    return {
        "parts of threads": _much(names.threads, 2),
        "numbered posts": _much(names.posts, 4),
        "parts of one product": _much(max(names.goods - 1, 0), 3),
        "filters": _much(names.choices, 2),
        "a pager": float(names.pages),
        "names of categories": _much(names.sorts, 6),
        "cards by name": _much(names.cards, 12),
        "teasers by name": _much(names.teasers, 4),
        "related pages": float(names.related),
        "comments": float(names.remarks),
        "a table of contents": float(names.contents),
        "an author by name": float(0 < names.authors <= 6),
        "a cart": float(names.carts),
    }


def _of_statements(stated: StatedTypes) -> dict[str, float]:
    return {
        "it states an article": float(stated.article),
        "it states a product": float(stated.product),
        "it states a list": float(stated.a_list),
        "it states a site": float(stated.front),
        "it states an author": float(stated.author),
        "it states a headline": float(stated.headline),
        "it states answers": float(stated.answers),
        "a price in its head": float(stated.priced),
        "a picture with its size": float(stated.pictured),
        "og:type article": float(stated.graph in ("article", "news", "blog_post", "video.other", "book")),
        "no og:type": float(not stated.graph),
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
        "a thread's word in the URL": float(url.thread),
        "a plural in the URL": float(url.many),
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
