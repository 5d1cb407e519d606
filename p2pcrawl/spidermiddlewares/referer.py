"""The Referer of requests."""

from p2pcrawl.slave.middlewares.spider_stand_ins import RefererMiddleware

__all__ = ["RefererMiddleware"]
