"""Link, at the path that Scrapy's users know."""

from p2pcrawl.spiders.extracting.found_link import FoundLink as Link

__all__ = ["Link"]
