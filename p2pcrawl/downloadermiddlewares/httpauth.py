"""Credentials of requests."""

from p2pcrawl.slave.middlewares.fetch_stand_ins import HttpAuthMiddleware

__all__ = ["HttpAuthMiddleware"]
