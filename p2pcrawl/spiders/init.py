"""InitSpider, at the path that Scrapy's users know."""

from p2pcrawl.spiders.kinds.init_spider import InitSpider

__all__ = ["InitSpider"]
