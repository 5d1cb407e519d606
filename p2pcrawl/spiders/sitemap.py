"""SitemapSpider, at the path that Scrapy's users know."""

from p2pcrawl.spiders.kinds.sitemap_spider import SitemapSpider

__all__ = ["SitemapSpider"]
