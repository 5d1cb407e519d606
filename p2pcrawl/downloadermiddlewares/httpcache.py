"""The HTTP cache."""

from p2pcrawl.slave.middlewares.policy_cache import HttpCacheMiddleware

__all__ = ["HttpCacheMiddleware"]
