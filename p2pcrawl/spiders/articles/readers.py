"""The ways to read a page without selectors, each a module. The packages that they need come with an extra."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import NamedTuple, Protocol, cast

from p2pcrawl.model.choosing.article_reader import ArticleReader
from p2pcrawl.model.errors import ConfigurationError


class PageFacts(NamedTuple):
    """The facts about a page that are told besides its text."""

    title: str | None = None
    date: str | None = None
    """The day of its publication, as 2026-11-19."""
    author: str | None = None

    @property
    def complete(self) -> bool:
        return None not in self

    def completed_by(self, others: PageFacts) -> PageFacts:
        """Returns these facts, and others where one is missing."""
        return PageFacts(*(own or other for own, other in zip(self, others, strict=True)))


class Reading(Protocol):
    """A way to read the article of a page."""

    def text(self, markup: str, url: str) -> tuple[str, PageFacts] | None:
        """Finds the main text, with the facts about the page."""
        ...

    def facts(self, markup: str, url: str) -> PageFacts:
        """Finds the facts alone, of any page."""
        ...

    def markdown(self, markup: str, url: str) -> str:
        """Finds the main text as Markdown."""
        ...

    def links(self, markup: str, url: str) -> list[str]:
        """Finds the links within the main text, as they stand."""
        ...


def reading_by(reader: ArticleReader) -> Reading:
    """Returns what reads articles. Raises ConfigurationError without the extra ``articles``."""
    if reader is ArticleReader.TRAFILATURA:
        return cast(Reading, _needed("p2pcrawl.spiders.articles.by_trafilatura").ByTrafilatura())
    return cast(Reading, _needed("p2pcrawl.spiders.articles.by_resiliparse").ByResiliparse())


def whole_markdown(markup: str, url: str) -> str:
    """Writes a whole page as Markdown. Raises ConfigurationError without the extra ``articles``."""
    written: str = _needed("p2pcrawl.spiders.articles.whole_page").as_markdown(markup, url)
    return written


def _needed(module: str) -> ModuleType:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ConfigurationError(f"articles need the package {error.name}: pip install 'p2pcrawl[articles]'") from None
