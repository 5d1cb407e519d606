"""Articles by trafilatura, in its fast mode: without second opinions, which cost half as much again and find less."""

from __future__ import annotations

import logging
from typing import Any, Final

from trafilatura import bare_extraction, extract, extract_metadata
from trafilatura.settings import Document

from p2pcrawl.spiders.articles.readers import PageFacts

_CHOSEN: Final[dict[str, Any]] = {"fast": True, "include_comments": False}

# They log each page that is no good HTML as an error.
for _name in ("trafilatura", "htmldate", "courlan"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class ByTrafilatura:
    """Reads articles as trafilatura finds them."""

    def text(self, markup: str, url: str) -> tuple[str, PageFacts] | None:
        found = bare_extraction(markup, url, with_metadata=True, **_CHOSEN)
        if not isinstance(found, Document) or not found.text:
            return None
        return found.text, PageFacts(found.title, found.date, found.author)

    def facts(self, markup: str, url: str) -> PageFacts:
        found = extract_metadata(markup, default_url=url)
        return PageFacts(found.title, found.date, found.author)

    def markdown(self, markup: str, url: str) -> str:
        return extract(markup, url, output_format="markdown", include_links=True, **_CHOSEN) or ""

    def links(self, markup: str, url: str) -> list[str]:
        found = bare_extraction(markup, url, include_links=True, **_CHOSEN)
        if not isinstance(found, Document) or found.body is None:
            return []
        return [target for link in found.body.iter("ref") if (target := link.get("target"))]
