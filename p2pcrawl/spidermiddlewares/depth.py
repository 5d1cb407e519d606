"""The depth of requests."""

from p2pcrawl.slave.middlewares.spider_stand_ins import DepthMiddleware

__all__ = ["DepthMiddleware"]
