"""SitemapSpider and what it reads sitemaps with, at the path that Scrapy's users know."""

from p2pcrawl.spiders.formats.sitemap_entries import Sitemap, iterloc, sitemap_urls_from_robots
from p2pcrawl.spiders.kinds.sitemap_spider import SitemapSpider

__all__ = ["Sitemap", "SitemapSpider", "iterloc", "sitemap_urls_from_robots"]
