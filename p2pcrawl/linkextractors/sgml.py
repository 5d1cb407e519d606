"""SgmlLinkExtractor, at the path that Scrapy's users knew before 1.0: the one that there is, under that name."""

from p2pcrawl.spiders.extracting.link_extractor import LinkExtractor as SgmlLinkExtractor

__all__ = ["SgmlLinkExtractor"]
