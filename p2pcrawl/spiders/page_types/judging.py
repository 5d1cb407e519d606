"""The judgement on a page: an article, navigation, or neither."""

from __future__ import annotations

import re
from typing import Final

from selectolax.lexbor import LexborHTMLParser

from p2pcrawl.model.page_type import PageType
from p2pcrawl.spiders.page_types.evidences import balance_of, evidences, likelihood, weightiest
from p2pcrawl.spiders.page_types.page_shape import PageShape, shape_of
from p2pcrawl.spiders.page_types.stated_types import StatedTypes, stated_types
from p2pcrawl.spiders.page_types.url_shape import url_shape
from p2pcrawl.spiders.page_types.verdict import PageVerdict

REASONS: Final = 3
SHORT: Final = 200
"""The size of a text that is not enough by itself."""
FEW_TITLES: Final = 4
FEW_LINKS: Final = 12
CARDS: Final = 5
LITTLE_TEXT: Final = 1_200
CLEARLY, PERHAPS = 0.9, 0.7
"""How sure a page is to be neither, by the rule that says so."""

_error_title = re.compile(
    r"\b(?:404|403|410|500|502|503)\b(?!\s*(?:ways|things|km|miles|ml|g\b|years))|not found|access denied|forbidden|"
    r"page unavailable|service unavailable|are you (?:a )?(?:human|robot)|just a moment|attention required|"
    r"security check|captcha|nicht gefunden|introuvable|no encontrada|non trovata|niet gevonden|não encontrada|"
    r"не найден|找不到|不存在|見つかりません|찾을 수 없",
    re.IGNORECASE,
).search


_feed = re.compile(rb"<(?:rss|feed|rdf:RDF|urlset|sitemapindex)[\s>]").search
NO_TEXT: Final = PageVerdict(PageType.OTHER, 1.0, ("no page of text",))
_FEED: Final = PageVerdict(PageType.NAVIGATION, 1.0, ("a feed or sitemap",))


def feed_verdict(body: bytes) -> PageVerdict | None:
    """Tells what a page of XML is, if it is a feed or a sitemap."""
    return _FEED if _feed(body[:4_096]) else None


def verdict_on(tree: LexborHTMLParser, url: str) -> PageVerdict:
    """Tells what the page at ``url`` is."""
    shape, stated = shape_of(tree), stated_types(tree)
    neither = _neither(shape, stated)
    if neither is not None:
        return PageVerdict(PageType.OTHER, *neither)
    found = evidences(shape, stated, url_shape(url))
    likely = likelihood(balance_of(found))
    is_article = likely >= 0.5
    kind = PageType.ARTICLE if is_article else PageType.NAVIGATION
    return PageVerdict(kind, likely if is_article else 1 - likely, weightiest(found, article=is_article, count=REASONS))


def _neither(shape: PageShape, stated: StatedTypes) -> tuple[float, tuple[str]] | None:
    """Tells how sure it is, and why, that a page is neither to be read nor to be followed; None where it is one of
    them.
    """
    few = len(shape.titles) < FEW_TITLES
    short = shape.run < SHORT and shape.prose_size < 2 * SHORT
    if few and shape.run < 3 * SHORT and _error_title(stated.title):
        return CLEARLY, ("the title of an error",)
    says_itself = stated.article or stated.product or stated.a_list or stated.graph == "article"
    bare = few and shape.cards < CARDS and not says_itself
    outside = shape.text - shape.chrome
    if shape.passwords and short and bare and outside < LITTLE_TEXT:
        return CLEARLY, ("a login",)
    if not shape.text:
        return CLEARLY, ("no text",)
    if short and bare and shape.links < FEW_LINKS and outside < LITTLE_TEXT:
        return PERHAPS, ("little text and few links",)
    return None
