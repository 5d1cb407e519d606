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
_day = re.compile(r"(?:^|[/_-])(?:19|20)\d\d[/_-]?(?:0?[1-9]|1[0-2])(?:[/_-]?(?:[0-2]?\d|3[01]))?(?=[/_.-]|$)").search
_number = re.compile(r"\d+").sub
_has_letters = re.compile(r"[^\W\d_]").search
_identity = re.compile(r"(?:[0-9a-f]{8,}|[0-9a-z]*\d[0-9a-z]*\d[0-9a-z]*\d[0-9a-z]*)\Z", re.IGNORECASE).match
_ending = re.compile(r"\.(?:s?html?|php|aspx?|jsp|cfm|do|xhtml)\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class UrlShape:
    """What is seen of a URL."""

    root: bool = False
    """The front of a site, or of a language of it."""
    depth: int = 0
    dated: bool = False
    words: int = 0
    """The words of its last part: a title in a URL has four or more."""
    numbered: bool = False
    """Its last part has a number as databases give them."""
    list_word: bool = False
    """A word that lists have stands where theirs does: last, or before the last."""
    item_word: bool = False
    list_query: bool = False
    ended: bool = False
    """With ``.html`` or its like."""


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
    words = [each for each in re.split(r"[-_+ .]", bare) if each]
    plain = [_ending.sub("", each).lower() for each in steps]
    is_language = len(steps) == 1 and len(last) in (2, 5) and last[:2].isalpha() and (len(last) == 2 or last[2] in "-_")
    is_root = not steps or is_language or (len(steps) == 1 and plain[0] in ("index", "home", "default", "main"))
    return UrlShape(
        root=is_root and not named,
        depth=len(steps),
        dated=_day(parts.path) is not None,
        words=sum(1 for each in words if _has_letters(each)),
        numbered=any(each.isdigit() and len(each) >= 4 for each in words) or bool(words and _identity(words[-1])),
        list_word=any(each in _LIST_WORDS for each in plain[-2:]),
        item_word=any(each in _ITEM_WORDS for each in plain[:-1]),
        list_query=any(each in _LIST_QUERIES for each in named),
        ended=last != bare,
    )


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
