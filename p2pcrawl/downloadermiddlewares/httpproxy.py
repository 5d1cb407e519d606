"""The proxies of requests."""

from p2pcrawl.slave.middlewares.standing_in import HttpProxyMiddleware

__all__ = ["HttpProxyMiddleware"]
