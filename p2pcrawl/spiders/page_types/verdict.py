"""The type of a page: how sure it is, and by which rule the page was taken for it."""

from __future__ import annotations

from typing import Final, NamedTuple

from p2pcrawl.model.crawl.record import PAGE_TYPE_MAX
from p2pcrawl.model.crawl.request import Kind
from p2pcrawl.model.page_type import PageType


class PageVerdict(NamedTuple):
    """The type that a page was found to be of."""

    type: PageType
    sureness: float
    """From 0.5, a toss of a coin, to 1."""
    why: tuple[str, ...]
    """What spoke for it, the weightiest first."""

    @property
    def is_sure(self) -> bool:
        return self.sureness >= SURE


SURE: Final = 0.8
"""From here on a verdict stands against what other pages were found to be."""


class TypedBy(NamedTuple):
    """The type that a page is taken for, and the rule that says so."""

    type: PageType
    by: str
    """``pattern``, ``entry``, ``content``, ``cached`` (by pages of the same shape of URL), ``url`` or ``domain``."""
    rule: str = ""
    """In words."""

    @property
    def told(self) -> str:
        """The type and the rule as a record keeps them: ``article:pattern articles.allow = '/2026/'``."""
        told = f"{self.type}:{self.by} {self.rule}".rstrip()[:PAGE_TYPE_MAX]
        return told if told.isascii() else told.encode("utf-8", "replace").decode()


def by_content(verdict: PageVerdict) -> TypedBy:
    """Returns the type of a page that was found by looking at it."""
    return TypedBy(verdict.type, "content", f"{verdict.sureness:.0%} sure: {', '.join(verdict.why)}")


def kind_for(page_type: PageType) -> Kind:
    """Returns the queue of its host that a page of a type waits in."""
    return Kind.DETAIL if page_type is PageType.ARTICLE else Kind.INDEX
