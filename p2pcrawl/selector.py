"""Selectors, at the path that Scrapy's users know."""

from p2pcrawl.spiders.aids.old_selectors import HtmlXPathSelector, XmlXPathSelector
from p2pcrawl.spiders.page.selecting import Selector, SelectorList

__all__ = [
    "HtmlXPathSelector",
    "Selector",
    "SelectorList",
    "XmlXPathSelector",
]
