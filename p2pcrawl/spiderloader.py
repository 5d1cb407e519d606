"""The spiders of a project, by their names."""

from p2pcrawl.spiders.loading.spider_loader import SpiderLoader

__all__ = ["SpiderLoader"]
