"""The names of a page's parts: what the words in its classes and ids say of it, and what they number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from p2pcrawl.spiders.page_types.word_sets import word_set

NAME_MAX: Final = 120

_THREADS: Final = word_set(
    "avatar avatars username usernames postbody signature quote reply replies replied poster posters upvote upvotes"
    " vote votes answer answers postid postbit threadauthor joined"
)
_GOODS: Final = word_set(
    "gallery zoom quantity qty reviews shipping sku thumbnails variation variations variant variants pdp addtocart"
    " swatch images brand availability"
)
_CHOICES: Final = word_set(
    "filter filters facet facets sort sorting sortby refine refinement refinements sorter orderby filtering facetwp"
)
_NUMBERS: Final = word_set("pagination pager pages paging pagenav paginate")
_SORTS: Final = word_set("category categories")
_CARDS: Final = word_set("card cards tile tiles")
_TEASERS: Final = word_set("excerpt teaser snippet summary")
_RELATED: Final = word_set("related")
_REMARKS: Final = word_set("comments comment respond")
_CONTENTS: Final = word_set("toc")
_AUTHORS: Final = word_set("byline author authors authored")
_CARTS: Final = word_set("cart minicart basket")
_words_of = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])").findall
_numbered_post = re.compile(r"(?:post|comment|msg|message|p|reply|answer)s?[-_]?(?:\w*[-_])?\d+\Z", re.IGNORECASE).match


@dataclass(frozen=True, slots=True)
class PartNames:
    """The words in the names of a page's parts: how many of a kind there are, or how often they come."""

    threads: int = 0
    """Different words of threads and answers."""
    posts: int = 0
    """Parts that are numbered as posts and comments are."""
    goods: int = 0
    """Different words of what one page of a shop has on one thing."""
    choices: int = 0
    """Different words of filters and orders."""
    pages: bool = False
    sorts: int = 0
    """Parts that are named for categories."""
    cards: int = 0
    teasers: int = 0
    related: bool = False
    remarks: bool = False
    contents: bool = False
    authors: int = 0
    carts: bool = False


def part_names(classes: Mapping[str, int], ids: Iterable[str]) -> PartNames:
    """Counts the words in the classes of a page's parts, each with how many have it, and in their ids."""
    said: Counter[str] = Counter()
    for name, count in classes.items():
        for word in set(_words_of(name[:NAME_MAX])):
            said[word.lower()] += count
    posts = 0
    for name in ids:
        posts += _numbered_post(name) is not None
        for word in _words_of(name[:NAME_MAX]):
            said[word.lower()] += 1
    return PartNames(
        threads=len(said.keys() & _THREADS),
        posts=posts,
        goods=len(said.keys() & _GOODS),
        choices=len(said.keys() & _CHOICES),
        pages=not said.keys().isdisjoint(_NUMBERS),
        sorts=sum(said[word] for word in _SORTS),
        cards=sum(said[word] for word in _CARDS),
        teasers=sum(said[word] for word in _TEASERS),
        related=not said.keys().isdisjoint(_RELATED),
        remarks=not said.keys().isdisjoint(_REMARKS),
        contents=not said.keys().isdisjoint(_CONTENTS),
        authors=sum(said[word] for word in _AUTHORS),
        carts=not said.keys().isdisjoint(_CARTS),
    )
