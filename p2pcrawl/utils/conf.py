"""The file that a project is known by."""

from p2pcrawl.spiders.loading.projects import closest_scrapy_cfg

__all__ = ["closest_scrapy_cfg"]
