"""A board: a crawl as data. Its parts, as they stand in the file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from p2pcrawl.model.choosing.duplicate_pages import NEAR_BITS_MAX

Count = Annotated[int, Meta(ge=0)]
Seconds = Annotated[float, Meta(ge=0)]
Patterns = list[str]


class LinkChoice(Struct, forbid_unknown_fields=True, frozen=True):
    """A choice among the links of pages."""

    allow: Patterns = []
    """Regular expressions, of which one is found in the URL; none: any link."""
    deny: Patterns = []
    css: list[str] = []
    """The regions of a page in which the links stand; none: all of it."""
    xpath: list[str] = []


class ArticleChoice(LinkChoice, forbid_unknown_fields=True, frozen=True):
    """A choice of the pages that make items."""

    follow: bool = False
    """Whether their own links are followed, too."""


class BoardField(Struct, forbid_unknown_fields=True, frozen=True):
    """A field of the items: where its value stands on a page, and what is made of it."""

    css: str = ""
    xpath: str = ""
    jmespath: str = ""
    """A query of the page's JSON, or of what the page states of itself: see ``of``."""
    of: Literal["page", "json-ld", "opengraph", "microdata"] = "page"
    value: Any = None
    """A value that is the same for all pages."""
    re: str = ""
    """What of the text is taken: the group, or the whole match."""
    process: list[str] = []
    many: bool = False
    """A list of all that is found, in place of the first."""
    join: str | None = None
    """Puts between all that is found, which becomes one text."""
    default: Any = None
    required: bool = False
    """A page without it makes no item."""


class Limits(Struct, forbid_unknown_fields=True, frozen=True):
    """The bounds of the crawl; 0: none."""

    pages: Count = 0
    items: Count = 0
    seconds: Seconds = 0.0
    errors: Count = 0


class Speed(Struct, forbid_unknown_fields=True, frozen=True):
    """The pace of the crawl; what is not said is as the settings have it."""

    delay: Seconds | None = None
    """Seconds between two requests to a host."""
    per_host: Annotated[int, Meta(ge=1)] | None = None
    requests: Annotated[int, Meta(ge=1)] | None = None
    """Requests open at once."""
    autothrottle: bool = False


class Revisit(Struct, forbid_unknown_fields=True, frozen=True):
    """The periods after which pages are asked again: seconds, ``adaptive``, or 0 for never."""

    navigation: Seconds | Literal["adaptive"] = 0.0
    articles: Seconds | Literal["adaptive"] = 0.0
    min: Annotated[float, Meta(gt=0)] | None = None
    """The shortest adaptive period; what is not said is as the settings have it."""
    max: Annotated[float, Meta(gt=0)] | None = None
    host_budget: Count = 0
    """Visits of known pages per host and hour; 0: any."""
    rounds: Count = 0
    """How often each page is visited at all; 0: for ever."""


class Duplicates(Struct, forbid_unknown_fields=True, frozen=True):
    """The treatment of articles that say what another page said before; what is not said is as the settings have it."""

    then: Literal["", "mark", "drop"] = ""
    near: Annotated[int, Meta(ge=0, le=NEAR_BITS_MAX)] = 0
    """Bits of 64 that may differ; 0: the texts are equal."""
    field: str = ""
    """Of the items, which says of which page they are duplicates."""


class Board(Struct, forbid_unknown_fields=True, frozen=True):
    """A whole board."""

    entries: list[str]
    """The URLs where the crawl begins."""
    name: str = ""
    """Of the job; the file's, if none is given."""
    domains: list[str] = []
    """The hosts to stay within, with all that is below them; none: those of the entries."""
    depth: Count = 0
    """How many links away from the entries; 0: any."""
    jumps: list[str] = []
    """Links that lead to their target by way of somebody who counts them; see :mod:`.jumps`."""
    extract: Literal["", "article", "markdown"] = ""
    """The fields ``title``, ``date``, ``author`` and ``text`` or ``markdown``, without selectors."""
    types: Literal["", "content", "pattern"] = ""
    """What tells articles from navigation where no pattern does: ``content``, what a page is; ``pattern``, nothing.
    Unless said, content where ``articles.allow`` has no pattern.
    """
    output: list[str] = []
    """Where items go, besides what is typed."""
    follow: LinkChoice = LinkChoice()
    articles: ArticleChoice = ArticleChoice()
    fields: dict[str, str | BoardField] = {}
    """By name; a text is a CSS selector, or an XPath where it begins with ``/``, ``./`` or ``(``."""
    duplicates: Duplicates = Duplicates()
    limits: Limits = Limits()
    speed: Speed = Speed()
    revisit: Revisit = Revisit()
    settings: dict[str, Any] = field(default_factory=dict)
    """Any others, by their names."""

    @property
    def by_content(self) -> bool:
        """True if pages that no pattern names are looked at for what they are."""
        return self.types == "content" or (not self.types and not self.articles.allow)
