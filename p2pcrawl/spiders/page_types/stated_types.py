"""The words of a page on its own type: in JSON-LD, OpenGraph, microdata, its classes and its head."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser

from p2pcrawl.spiders.articles.structured_data import json_ld_of
from p2pcrawl.spiders.page_types.word_sets import word_set

_ARTICLES: Final = word_set(
    "article newsarticle blogposting reportagenewsarticle opinionnewsarticle analysisnewsarticle reviewnewsarticle"
    " liveblogposting techarticle scholarlyarticle socialmediaposting discussionforumposting qapage question recipe"
    " review howto book movie event jobposting podcastepisode satiricalarticle backgroundnewsarticle report"
    " advertisercontentarticle medicalwebpage itempage apireference"
)
_PRODUCTS: Final = frozenset(("product", "productgroup", "vehicle", "car", "individualproduct", "softwareapplication"))
_LISTS: Final = word_set(
    "itemlist collectionpage searchresultspage blog offercatalog imagegallery productcollection datacatalog"
)
_FRONTS: Final = frozenset(("website", "organization", "newsmediaorganization", "onlinestore", "store"))
_PUBLISHED: Final = word_set(
    "article:published_time article:author author byl datepublished pubdate publishdate publish-date date dc.date"
    " dc.date.issued dcterms.created parsely-pub-date sailthru.date citation_publication_date"
)
_PRICED: Final = frozenset(("product:price:amount", "og:price:amount", "price"))
_SHOWN: Final = 40

_single = re.compile(
    r"(?:^|[\s_-])(?:single(?:-post|-product|-format-\w+)?|postid-\d+|article(?:-?page)?|story|"
    r"product-?(?:detail|page|view|template)\w*|template-(?:article|product)|catalog-product-view|"
    r"topic-page|question-page)(?:$|[\s_-])",
    re.IGNORECASE,
).search
_many = re.compile(
    r"(?:^|[\s_-])(?:home(?:page)?|front-?page|archive|category|tag|blog|search(?:-results)?|listing|list-page|"
    r"post-type-archive|tax-\w+|term-\d+|section-?front|template-(?:collection|index|list-collections|search|blog)|"
    r"collection|catalog-category-view|product-listing|plp|index)(?:$|[\s_-])",
    re.IGNORECASE,
).search


@dataclass(frozen=True, slots=True)
class StatedTypes:
    """The statements of a page on its type."""

    article: bool = False
    product: bool = False
    a_list: bool = False
    front: bool = False
    """It states what its site is, and no more."""
    graph: str = ""
    """Its ``og:type``."""
    published: bool = False
    """It states when it was published, or by whom it was written."""
    class_single: bool = False
    class_many: bool = False
    title: str = ""
    author: bool = False
    """It states in JSON-LD by whom it was written."""
    headline: bool = False
    answers: bool = False
    """It states questions and answers on what else it has."""
    priced: bool = False
    """Its head has a price."""
    pictured: bool = False
    """Its head has the size of its picture."""


def stated_types(tree: LexborHTMLParser) -> StatedTypes:
    """Reads what a page states of its type."""
    types, products, keys = _types(tree)
    metas = _metas(tree)
    root, body = tree.css_first("html"), tree.body
    classes = " ".join(
        said
        for node in (root, body)
        if node is not None
        for said in (node.attributes.get("class"), node.attributes.get("id"))
        if said
    )[:2_000]
    title = tree.css_first("title")
    return StatedTypes(
        article=not types.isdisjoint(_ARTICLES),
        product=products == 1,
        a_list=not types.isdisjoint(_LISTS),
        front=bool(types) and types <= _FRONTS | {"webpage", "searchaction", "breadcrumblist"} and "website" in types,
        graph=metas.get("og:type", "").strip().lower(),
        published=not _PUBLISHED.isdisjoint(metas),
        class_single=_single(classes) is not None,
        class_many=_many(classes) is not None,
        title="" if title is None else title.text()[:200].strip(),
        author="author" in keys or "person" in types,
        headline="headline" in keys,
        answers="faqpage" in types,
        priced=not _PRICED.isdisjoint(metas),
        pictured="og:image:width" in metas,
    )


def _types(tree: LexborHTMLParser) -> tuple[set[str], int, set[str]]:
    """Returns the types of what is stated, in lower case, how many products are, and what is said of each in
    JSON-LD.
    """
    found: set[str] = set()
    keys: set[str] = set()
    products = 0
    for each in json_ld_of(tree):
        for one in (each, each.get("mainEntity")):
            for name in _named(one):
                found.add(name)
                products += name in _PRODUCTS
        keys.update(each)
    for node in tree.css("[itemtype]")[:_SHOWN]:
        parent = node.attributes
        name = (parent.get("itemtype") or "").rstrip("/").rpartition("/")[2].lower()
        if parent.get("itemprop") is None or name in _LISTS:
            found.add(name)
            products += name in _PRODUCTS
    return found, products, keys


def _named(thing: Any) -> list[str]:
    if not isinstance(thing, dict):
        return []
    named = thing.get("@type")
    return [
        each.rpartition("/")[2].lower()
        for each in (named if isinstance(named, list) else [named])
        if isinstance(each, str)
    ]


def _metas(tree: LexborHTMLParser) -> dict[str, str]:
    """Returns the first value of each property of the head that has one."""
    found: dict[str, str] = {}
    for node in tree.css("meta[content]"):
        said = node.attributes
        name = (said.get("property") or said.get("name") or said.get("itemprop") or "").strip().lower()
        content = said["content"]
        if content and not content.isspace():
            found.setdefault(name, content)
    return found
