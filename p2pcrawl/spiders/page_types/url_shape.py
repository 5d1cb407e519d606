"""The shape of a URL: what its words and numbers say of the page, and the pattern that it shares with its like."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from p2pcrawl.spiders.page_types.word_sets import word_set

PATTERN_MAX: Final = 200

_LIST_WORDS: Final = word_set(
    "archive archives author authors blog blogs browse c cat catalog catalogsearch categories category channel "
    "collection collections department departments directory explore feed forum forumdisplay forums home index "
    "keyword keywords label latest list listing listings news new page pages popular products search sections "
    "section series shop shows sitemap store stories subject t tag tags taxonomy term theme themes topic topics "
    "trending users videos kategorie kategorien rubrik thema themen categoria categorias seccion etiqueta rubrique "
    "categorie tema sok suche buscar recherche rubric liste lista listes ressort"
)
_ITEM_WORDS: Final = word_set(
    "article articles artikel articulo story post posts p product item itm dp gp thread threads question questions "
    "viewtopic showthread view detail details watch wiki docs doc documentation guide guides recipe recipes read "
    "node entry noticia nachricht produkt producto produit review reviews tutorial tutorials manual reference api "
    "press-release press-releases howto help"
)
_LIST_QUERIES: Final = word_set(
    "page p paged pg q query s search k keyword keywords cat category sort order orderby filter tag facet "
    "start offset per_page limit view_mode suche"
)
_thread = re.compile(
    r"viewtopic|showthread|/threads?[/-]|/topics?/(?:[^/]+/)?\d|/t/[^/]+/?\d*|/comments/|/questions/\d|/discussions?/\w|"
    r"/forums?/.*\d{3}|[?&](?:t|tid|topic|threadid)=\d",
    re.IGNORECASE,
).search
_plural = re.compile(r"[^\W\d_]+[^\W\d_s]s\Z", re.IGNORECASE).match
MANY_WORDS_MAX: Final = 3
GOODS_WORDS_MIN: Final = 3
"""The words of a thing's name below ``/products/``, where most shops have each thing; kinds of things have fewer."""
_FRONTS: Final = frozenset(("index", "home", "default", "main"))
_language = re.compile(r"[a-z]{2}(?:[-_][a-z]{2})?\Z").match
_between_words = re.compile(r"[-_+ .]").split
_day = re.compile(r"(?:^|[/_-])(?:19|20)\d\d[/_-]?(?:0?[1-9]|1[0-2])(?:[/_-]?(?:[0-2]?\d|3[01]))?(?=[/_.-]|$)").search
_number = re.compile(r"\d+").sub
_has_letters = re.compile(r"[^\W\d_]").search
_identity = re.compile(r"(?:[0-9a-f]{8,}|[0-9a-z]*\d[0-9a-z]*\d[0-9a-z]*\d[0-9a-z]*)\Z", re.IGNORECASE).match
_ending = re.compile(r"\.(?:s?html?|php|aspx?|jsp|cfm|do|xhtml)\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class UrlShape:
    """The facts that are seen in a URL."""

    root: bool = False
    """The front of a site, or of a language of it."""
    dated: bool = False
    words: int = 0
    """The words of its last part: a title in a URL has four or more."""
    numbered: bool = False
    """Its last part has a number as databases give them."""
    list_word: bool = False
    """A word that lists have stands where theirs does: last, or before the last."""
    item_word: bool = False
    list_query: bool = False
    thread: bool = False
    """As threads of forums have them."""
    many: bool = False
    """Its last part is of few words, and the last of them is a plural as many languages have it."""


def url_shape(url: str) -> UrlShape:
    """Looks at a URL."""
    try:
        parts = urlsplit(url)
        named = [name.lower() for name, _ in parse_qsl(parts.query)]
    except ValueError:
        return UrlShape()
    steps = [unquote(each) for each in parts.path.split("/") if each]
    last = steps[-1] if steps else ""
    bare = _ending.sub("", last)
    words = [each for each in _between_words(bare) if each]
    plain = [_ending.sub("", each).lower() for each in steps]
    of_goods = plain[-2:-1] == ["products"] and len(words) >= GOODS_WORDS_MIN
    return UrlShape(
        root=_is_front(plain) and not named,
        dated=_day(parts.path) is not None,
        words=sum(_has_letters(each) is not None for each in words),
        numbered=_has_number(words),
        list_word=not of_goods and not _LIST_WORDS.isdisjoint(plain[-2:]),
        item_word=of_goods or not _ITEM_WORDS.isdisjoint(plain[:-1]),
        list_query=not _LIST_QUERIES.isdisjoint(named),
        thread=_thread(url) is not None,
        many=0 < len(words) <= MANY_WORDS_MAX and _plural(words[-1]) is not None,
    )


def _is_front(steps: list[str]) -> bool:
    """Tells whether a path is that of a site's front, or of one of its languages."""
    return not steps or (len(steps) == 1 and (steps[0] in _FRONTS or _language(steps[0]) is not None))


def _has_number(words: list[str]) -> bool:
    long = any(each.isdigit() and len(each) >= 4 for each in words)
    return long or bool(words and _identity(words[-1]))


def pattern_of(url: str) -> str:
    """Returns what a URL has in common with its like: host and path, with ``#`` for numbers and dates, ``*`` for titles
    and identities, and the names of its query.
    """
    try:
        parts = urlsplit(url)
        names = sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)})
    except ValueError:
        return ""
    steps = [_step(each) for each in parts.path.split("/")]
    query = "?" + "&".join(names) if names else ""
    return f"{parts.netloc.lower()}{'/'.join(steps)}{query}"[:PATTERN_MAX]


def _step(text: str) -> str:
    bare = _ending.sub("", text)
    ending = text[len(bare) :].lower()
    if not bare:
        return ending
    if bare.isdigit():
        return "#" + ending
    if "%" in bare or len(bare) > 24 or bare.count("-") + bare.count("_") >= 2 or _identity(bare):
        return "*" + ending
    return _number("#", bare) + ending
