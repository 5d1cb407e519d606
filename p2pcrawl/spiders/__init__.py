"""Spiders: the class that people write, the kinds of it, the response that it gets, and how all are found and run."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from p2pcrawl.model.crawl.request import Request
    from p2pcrawl.spiders.kinds.crawl_spider import CrawlSpider, Rule
    from p2pcrawl.spiders.kinds.feed_spider import FeedSpider
    from p2pcrawl.spiders.kinds.file_spiders import CSVFeedSpider, XMLFeedSpider
    from p2pcrawl.spiders.kinds.init_spider import InitSpider
    from p2pcrawl.spiders.kinds.sitemap_spider import SitemapSpider
    from p2pcrawl.spiders.spider import Spider

_HOMES = {
    "CSVFeedSpider": "p2pcrawl.spiders.kinds.file_spiders",
    "CrawlSpider": "p2pcrawl.spiders.kinds.crawl_spider",
    "FeedSpider": "p2pcrawl.spiders.kinds.feed_spider",
    "InitSpider": "p2pcrawl.spiders.kinds.init_spider",
    "Request": "p2pcrawl.model.crawl.request",
    "Rule": "p2pcrawl.spiders.kinds.crawl_spider",
    "SitemapSpider": "p2pcrawl.spiders.kinds.sitemap_spider",
    "Spider": "p2pcrawl.spiders.spider",
    "XMLFeedSpider": "p2pcrawl.spiders.kinds.file_spiders",
}

__all__ = [
    "CSVFeedSpider",
    "CrawlSpider",
    "FeedSpider",
    "InitSpider",
    "Request",
    "Rule",
    "SitemapSpider",
    "Spider",
    "XMLFeedSpider",
]


def __getattr__(name: str) -> Any:
    # When it is first used, so that a slave loads the kinds of spiders that it runs, and no others.
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'p2pcrawl.spiders' has no attribute {name!r}")
    return getattr(import_module(home), name)
