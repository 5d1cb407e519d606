"""The shape of a page: the counts of its blocks of text, its links, its headings and its parts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from p2pcrawl.spiders.page_types.part_names import PartNames


@dataclass(slots=True)
class PageShape:
    """The counts of what is on a page. Sizes are those of :func:`letters_in`."""

    text: int = 0
    """All text outside of scripts."""
    chrome: int = 0
    """The text in menus and footers."""
    prose: list[int] = field(default_factory=list)
    """The size of each block of prose, in order."""
    run: int = 0
    """The prose of the longest stretch without a title of another page in it."""
    before: int = 0
    """The titles that stand before that stretch."""
    gathered: int = 0
    """The most prose that has one element right around it."""
    links: int = 0
    """Those outside of menus."""
    titles: set[str] = field(default_factory=set)
    """Where links lead that have a title's text, outside of menus."""
    open_ends: int = 0
    """Texts that break off with dots."""
    prices: int = 0
    repeated: int = 0
    """Links of the one text that most links have, and lead to different pages: "Read more"."""
    numbered: int = 0
    """Links that are a number: pages of a list."""
    cards: int = 0
    """The children of one element that look alike, and have a link each."""
    card_text: float = 0.0
    """The text of one of them."""
    pictures: int = 0
    articles: int = 0
    times: int = 0
    passwords: int = 0
    headline: str = ""
    """The first heading of the first order that is no link."""
    counted_headings: int = 0
    """Headings of lower orders that are no links and begin with a number."""
    anchors: int = 0
    """Links within the page."""
    page_links: int = 0
    """Links to pages of a list by their addresses."""
    tags: Counter[str] = field(default_factory=Counter)
    """How many elements outside of menus are code, quotations, legends and terms, by their names in HTML."""
    names: PartNames = field(default_factory=PartNames)

    @property
    def prose_size(self) -> int:
        return sum(self.prose)
