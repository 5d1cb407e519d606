"""LinkExtractor, at the path that Scrapy's users know."""

from p2pcrawl.spiders.extracting.link_extractor import LinkExtractor
from p2pcrawl.spiders.page.extensions import IGNORED_EXTENSIONS

__all__ = ["IGNORED_EXTENSIONS", "LinkExtractor"]
