"""Sitemaps, at the path that Scrapy's users know."""

from p2pcrawl.spiders.formats.sitemap_entries import Sitemap, sitemap_urls_from_robots

__all__ = ["Sitemap", "sitemap_urls_from_robots"]
