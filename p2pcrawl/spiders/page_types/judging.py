"""The judgement on a page: an article, navigation, or neither."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from p2pcrawl.model.page_type import PageType
from p2pcrawl.spiders.page_types.evidences import balance_of, evidences, likelihood, weightiest
from p2pcrawl.spiders.page_types.page_shape import PageShape
from p2pcrawl.spiders.page_types.page_walk import shape_of
from p2pcrawl.spiders.page_types.stated_types import StatedTypes, stated_types
from p2pcrawl.spiders.page_types.url_shape import UrlShape, url_shape
from p2pcrawl.spiders.page_types.verdict import PageVerdict

REASONS: Final = 3
SHORT: Final = 200
"""The size of a text that is not enough by itself."""
FEW_TITLES: Final = 4
FEW_LINKS: Final = 12
CARDS: Final = 5
LITTLE_TEXT: Final = 1_200
TITLE_WORDS: Final = 3
"""The words in the last part of a URL that name one thing."""
CLEARLY, PERHAPS = 0.9, 0.7
"""How sure a page is to be neither, by the rule that says so."""
BARELY: Final = 0.6
"""How sure a page is to be what it is told to be from outside: less than one that proves anything to pages like it."""

_error_title = re.compile(
    r"\b(?:404|403|410|500|502|503)\b(?!\s*(?:ways|things|km|miles|ml|g\b|years))|not found|access denied|forbidden|"
    r"page unavailable|service unavailable|are you (?:a )?(?:human|robot)|just a moment|attention required|"
    r"security check|captcha|nicht gefunden|introuvable|no encontrada|non trovata|niet gevonden|não encontrada|"
    r"не найден|找不到|不存在|見つかりません|찾을 수 없",
    re.IGNORECASE,
).search


class _Neither(NamedTuple):
    """The rule by which a page is neither."""

    sureness: float
    why: str
    is_bare: bool = False
    """Scripts may show what is not there."""


_feed = re.compile(rb"<(?:rss|feed|rdf:RDF|urlset|sitemapindex)[\s>]").search
NO_TEXT: Final = PageVerdict(PageType.OTHER, 1.0, ("no page of text",))
_FEED: Final = PageVerdict(PageType.NAVIGATION, 1.0, ("a feed or sitemap",))


def feed_verdict(body: bytes) -> PageVerdict | None:
    """Tells what a page of XML is, if it is a feed or a sitemap."""
    return _FEED if _feed(body[:4_096]) else None


def verdict_on(tree: LexborHTMLParser, url: str) -> PageVerdict:
    """Tells what the page at ``url`` is."""
    shape, stated, where = shape_of(tree), stated_types(tree), url_shape(url)
    told = told_before(shape, stated, where)
    if told is not None:
        return told
    found = evidences(shape, stated, where)
    likely = likelihood(balance_of(found))
    is_article = likely >= 0.5
    kind = PageType.ARTICLE if is_article else PageType.NAVIGATION
    return PageVerdict(kind, likely if is_article else 1 - likely, weightiest(found, article=is_article, count=REASONS))


def told_before(shape: PageShape, stated: StatedTypes, url: UrlShape) -> PageVerdict | None:
    """Tells what a page is by the rules that come before anything is weighed; None where they say nothing."""
    neither = _neither(shape, stated)
    if neither is None:
        return None
    shell = _told_outside(stated, url) if neither.is_bare else None
    return PageVerdict(PageType.OTHER, neither.sureness, (neither.why,)) if shell is None else shell


def _neither(shape: PageShape, stated: StatedTypes) -> _Neither | None:
    """Tells whether a page is neither to be read nor to be followed; None where it is one of them."""
    few = len(shape.titles) < FEW_TITLES
    short = shape.run < SHORT and shape.prose_size < 2 * SHORT
    if few and shape.run < 3 * SHORT and _error_title(stated.title):
        return _Neither(CLEARLY, "the title of an error")
    if not shape.text:
        return _Neither(CLEARLY, "no text", is_bare=True)
    says_itself = stated.article or stated.product or stated.a_list or stated.graph == "article"
    bare = few and shape.cards < CARDS and not says_itself
    outside = shape.text - shape.chrome
    if shape.passwords and short and bare and outside < LITTLE_TEXT:
        return _Neither(CLEARLY, "a login")
    if short and bare and shape.links < FEW_LINKS and outside < LITTLE_TEXT:
        return _Neither(PERHAPS, "little text and few links", is_bare=True)
    return None


def _told_outside(stated: StatedTypes, url: UrlShape) -> PageVerdict | None:
    """Returns what a page is whose text only scripts would show, by what it states of itself and by its address; None
    where they say nothing.
    """
    if stated.article or stated.product or stated.graph in ("article", "product"):
        return PageVerdict(PageType.ARTICLE, BARELY, ("no text of its own", "it states so"))
    if url.thread or (url.item_word and (url.numbered or url.words >= TITLE_WORDS)):
        return PageVerdict(PageType.ARTICLE, BARELY, ("no text of its own", "an item's word in the URL"))
    if stated.a_list or stated.graph.startswith("product.group"):
        return PageVerdict(PageType.NAVIGATION, BARELY, ("no text of its own", "it states so"))
    return None
