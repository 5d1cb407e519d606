"""Selectors, at the path that Scrapy's users know."""

from p2pcrawl.spiders.page.selecting import Selector, SelectorList

__all__ = ["Selector", "SelectorList"]
