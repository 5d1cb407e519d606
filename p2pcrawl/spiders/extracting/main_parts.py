"""The items that are made of pages without selectors."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.page_type import PageType
from p2pcrawl.spiders.articles.readers import PageFacts, reading_by, whole_markdown
from p2pcrawl.spiders.extracting.binary import is_binary
from p2pcrawl.spiders.page.response import Response


class Extract(StrEnum):
    """The part of a page that is taken."""

    ARTICLE = "article"
    """The main text of each page that is an article, or may be one."""
    TEXT = "text"
    """The main text of each page that has one, a front page too."""
    MARKDOWN = "markdown"
    """All that a page shows, as Markdown."""


def extract_named(named: str) -> Extract | None:
    """Returns what is to be taken of pages, nothing for "". Raises ConfigurationError for what cannot be, and without
    the extra ``articles``.
    """
    if not named:
        return None
    try:
        extract = Extract(named)
    except ValueError:
        raise ConfigurationError(f"extract is one of {', '.join(Extract)}, not {named!r}") from None
    reading_by(Response.article_reader)
    if extract is Extract.MARKDOWN:
        whole_markdown("", "")
    return extract


async def extracted(response: Response, extract: Extract) -> dict[str, Any] | None:
    """Returns the fields ``title``, ``text`` or ``markdown``, ``date`` and ``author`` of a page; None when it has
    nothing to take, or is no text though its host says so.
    """
    if response.is_text and is_binary(response.text):
        return None
    if extract is Extract.MARKDOWN:
        markdown = response.markdown
        return _fields("markdown", markdown, response.facts) if markdown else None
    if extract is Extract.ARTICLE and not may_be_article(response):
        return None
    article = await response.read_article()
    return _fields("text", article.text, article.facts) if article is not None else None


def may_be_article(response: Response) -> bool:
    """Tells whether a page is an article, or at least not surely something else."""
    verdict = response.page_verdict
    return verdict.type is PageType.ARTICLE or not verdict.is_sure


def _fields(name: str, text: str, facts: PageFacts) -> dict[str, Any]:
    return {"title": facts.title, name: text, "date": facts.date, "author": facts.author}
