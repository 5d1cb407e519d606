"""The types of pages by the shapes of their URLs, so that the next of them is guessed before it is fetched.

A guess decides nothing but the queue that a link waits in: each page is looked at when it is there, and is what it is.
What pages prove is counted, so that a guess that was wrong is put right by the pages that show it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from p2pcrawl.model.page_type import PageType
from p2pcrawl.spiders.page_types.url_shape import pattern_of, url_shape
from p2pcrawl.spiders.page_types.verdict import PageVerdict, TypedBy, by_content

PATTERNS_MAX: Final = 20_000
"""Shapes of URLs that are known at once; those that were longest out of use are forgotten."""
PROOFS_MIN: Final = 2
PROOFS_FOR_DOUBT: Final = 5
"""So many pages of the same shape decide what one is that is not sure by itself."""
AGREEING: Final = 0.8
"""So great a part of them has to be of one type."""
PROOFS_MAX: Final = 64
"""More of them are halved: what a site was long ago counts less than what it is."""
LEAST_SURENESS: Final = 0.65
"""A verdict that is less sure proves nothing."""
_TYPES: Final = tuple(PageType)


class KnownTypes:
    """The types of pages by the shapes of their URLs; one per job and slave."""

    def __init__(self, patterns_max: int = PATTERNS_MAX) -> None:
        self._max = patterns_max
        self._proofs: OrderedDict[str, list[int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._proofs)

    def learn(self, url: str, verdict: PageVerdict) -> None:
        """Counts what a page was found to be."""
        if verdict.sureness < LEAST_SURENESS:
            return
        pattern = pattern_of(url)
        proofs = self._proofs.setdefault(pattern, [0] * len(_TYPES))
        self._proofs.move_to_end(pattern)
        proofs[_TYPES.index(verdict.type)] += 1
        if sum(proofs) > PROOFS_MAX:
            proofs[:] = [count // 2 for count in proofs]
        if len(self._proofs) > self._max:
            self._proofs.popitem(last=False)

    def guess(self, url: str) -> TypedBy:
        """Returns what the page of a URL that has not been fetched may be."""
        return self._of_its_like(url, PROOFS_MIN) or _by_url(url)

    def settle(self, url: str, verdict: PageVerdict) -> TypedBy:
        """Returns what a page is taken for that was found to be something: where that is not sure, what those like it
        are.
        """
        like = None if verdict.is_sure else self._of_its_like(url, PROOFS_FOR_DOUBT)
        return by_content(verdict) if like is None or like.type is verdict.type else like

    def _of_its_like(self, url: str, least: int) -> TypedBy | None:
        pattern = pattern_of(url)
        proofs = self._proofs.get(pattern)
        if proofs is None or (whole := sum(proofs)) < least:
            return None
        most = max(proofs)
        if most < AGREEING * whole:
            return None
        return TypedBy(_TYPES[proofs.index(most)], "cached", f"{most} of {whole} pages like {pattern}")


def _by_url(url: str) -> TypedBy:
    shape = url_shape(url)
    if shape.root or shape.list_query:
        return TypedBy(PageType.NAVIGATION, "url", "a front page or a list by its URL")
    if shape.dated and (shape.words >= 2 or shape.numbered):
        return TypedBy(PageType.ARTICLE, "url", "a day and a title in the URL")
    if shape.words >= 4 or (shape.numbered and (shape.item_word or shape.words >= 2)):
        return TypedBy(PageType.ARTICLE, "url", "a title or a number in the URL")
    return TypedBy(PageType.NAVIGATION, "url", "nothing in the URL says more")
