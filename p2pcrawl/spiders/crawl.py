"""CrawlSpider and Rule, at the path that Scrapy's users know."""

from p2pcrawl.spiders.kinds.crawl_spider import CrawlSpider, Rule

__all__ = ["CrawlSpider", "Rule"]
