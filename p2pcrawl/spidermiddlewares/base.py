"""The base of spider middlewares that look at requests and items one by one."""

from p2pcrawl.slave.middlewares.one_by_one import BaseSpiderMiddleware

__all__ = ["BaseSpiderMiddleware"]
