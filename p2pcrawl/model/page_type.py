"""The types of pages."""

from __future__ import annotations

from enum import StrEnum


class PageType(StrEnum):
    """The use of a page."""

    ARTICLE = "article"
    """It is read for itself: news, a post, a thread, a product, a page of a manual."""
    NAVIGATION = "navigation"
    """It leads to others: a front page, a category, a tag, the results of a search."""
    OTHER = "other"
    """Neither: an error, a login, an empty page, no page of text at all."""


def type_told(told: str) -> PageType | None:
    """Returns the type in what a record keeps of it, such as ``article:pattern``; None where it keeps none."""
    try:
        return PageType(told.partition(":")[0])
    except ValueError:
        return None
