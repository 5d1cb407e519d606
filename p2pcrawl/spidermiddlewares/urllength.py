"""The length of URLs."""

from p2pcrawl.slave.middlewares.spider_stand_ins import UrlLengthMiddleware

__all__ = ["UrlLengthMiddleware"]
