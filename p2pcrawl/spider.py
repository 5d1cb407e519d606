"""The spider, at the path that it had before Scrapy 1.0."""

from p2pcrawl.spiders.spider import Spider
from p2pcrawl.spiders.spider import Spider as BaseSpider

__all__ = [
    "BaseSpider",
    "Spider",
]
