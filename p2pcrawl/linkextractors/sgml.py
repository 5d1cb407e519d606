"""The link extractor, by the name that it had before Scrapy 1.0."""

from p2pcrawl.spiders.extracting.link_extractor import LinkExtractor as SgmlLinkExtractor

__all__ = [
    "SgmlLinkExtractor",
]
