"""The types of pages, and how sure one of them is."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class PageType(StrEnum):
    """The use of a page."""

    ARTICLE = "article"
    """It is read for itself: news, a post, a thread, a product, a page of a manual."""
    NAVIGATION = "navigation"
    """It leads to others: a front page, a category, a tag, the results of a search."""
    OTHER = "other"
    """Neither: an error, a login, an empty page, no page of text at all."""


class PageVerdict(NamedTuple):
    """What a page was found to be."""

    type: PageType
    sureness: float
    """From 0.5, a toss of a coin, to 1."""
    why: tuple[str, ...]
    """What spoke for it, the weightiest first."""
