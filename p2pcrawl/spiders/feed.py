"""XMLFeedSpider and CSVFeedSpider, at the path that Scrapy's users know."""

from p2pcrawl.spiders.kinds.file_spiders import CSVFeedSpider, XMLFeedSpider

__all__ = ["CSVFeedSpider", "XMLFeedSpider"]
