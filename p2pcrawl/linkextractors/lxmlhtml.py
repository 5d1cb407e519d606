"""LxmlLinkExtractor, at the path that Scrapy's users know."""

from p2pcrawl.spiders.extracting.link_extractor import LinkExtractor as LxmlLinkExtractor

__all__ = ["LxmlLinkExtractor"]
