"""The article of a page, as callbacks read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from selectolax.lexbor import LexborHTMLParser

from p2pcrawl.model.choosing.article_reader import ArticleReader
from p2pcrawl.spiders.articles.page_statements import stated_facts, stated_language
from p2pcrawl.spiders.articles.readers import PageFacts, reading_by
from p2pcrawl.spiders.page.limit import limited
from p2pcrawl.spiders.page.links import join_all
from p2pcrawl.spiders.page.markup import title_of


@dataclass(frozen=True)
class Article:
    """The article of a page. ``markdown`` and ``links`` are found when they are first asked for."""

    url: str
    text: str
    """The main text, without comments."""
    facts: PageFacts
    language: str | None = None
    """As the page names it, such as ``de`` or ``pt-BR``."""
    markup: str = field(default="", repr=False, compare=False)
    """The whole page."""
    reader: ArticleReader = ArticleReader.TRAFILATURA

    @property
    def title(self) -> str | None:
        return self.facts.title

    @property
    def date(self) -> str | None:
        """The day of its publication, as 2026-11-19."""
        return self.facts.date

    @property
    def author(self) -> str | None:
        return self.facts.author

    @cached_property
    @limited
    def markdown(self) -> str:
        """The main text as Markdown."""
        return reading_by(self.reader).markdown(self.markup, self.url)

    @cached_property
    @limited
    def links(self) -> list[str]:
        """The links within the main text: absolute, each once, in order."""
        return join_all(reading_by(self.reader).links(self.markup, self.url), self.url)


def article_of(markup: str, url: str, tree: LexborHTMLParser, reader: ArticleReader) -> Article | None:
    """Finds the article of a page; None when it has none. Raises ConfigurationError without the extra ``articles``."""
    found = reading_by(reader).text(markup, url)
    if found is None or not found[0].strip():
        return None
    text, facts = found
    return Article(url, text, completed(facts, tree, url), stated_language(tree), markup, reader)


def facts_of(markup: str, url: str, tree: LexborHTMLParser, reader: ArticleReader) -> PageFacts:
    """Finds the facts about a page that may have no article. Raises ConfigurationError without the extra."""
    return completed(reading_by(reader).facts(markup, url), tree, url)


def completed(facts: PageFacts, tree: LexborHTMLParser, url: str) -> PageFacts:
    """Adds to the facts that a reader found those that only the page states."""
    if not facts.complete:
        facts = facts.completed_by(stated_facts(tree, url))
    return facts if facts.title else facts._replace(title=title_of(tree) or None)
