"""The stats of a crawl."""

from p2pcrawl.spiders.hooks.crawl_stats import CrawlStats as MemoryStatsCollector
from p2pcrawl.spiders.hooks.crawl_stats import CrawlStats as StatsCollector

__all__ = ["MemoryStatsCollector", "StatsCollector"]
