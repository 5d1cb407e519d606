"""Selectors as they were called before Scrapy 1.0, with ``select`` for ``xpath``."""

from __future__ import annotations

from typing import Any

import parsel

from p2pcrawl.spiders.page.selecting import Selector


class SelectedWithSelect(parsel.SelectorList[Any]):
    """Selectors that were selected."""

    def select(self, xpath: str) -> SelectedWithSelect:
        """Selects from each by an XPath."""
        return self.xpath(xpath)  # type: ignore[return-value]


class HtmlXPathSelector(Selector):
    """A selector over HTML: of a response, or of ``text``."""

    selectorlist_cls = SelectedWithSelect

    def select(self, xpath: str) -> Any:
        """Selects by an XPath."""
        return self.xpath(xpath)


class XmlXPathSelector(HtmlXPathSelector):
    """A selector over XML: of a response, or of ``text``."""

    def __init__(self, text: Any = None, type: str | None = None, *, response: Any = None, **options: Any) -> None:
        super().__init__(text, type or "xml", response=response, **options)
